// The manifests of deploy/kubernetes fit what Portico is: its settings and the roles that they
// have an effect in, its ports and probes, and the time that a stop takes.

import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import t from "tap";
import { parse, parseAllDocuments } from "yaml";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { loadConfig, SETTINGS } from "../../src/config/config.js";
import type { RoleName, Setting } from "../../src/config/setting.js";
import { createAuthority } from "../http2/certificates.js";
import { ALERTS, DASHBOARD } from "./monitored.js";

const FOLDER = "deploy/kubernetes";
const CHART = join(FOLDER, "chart");
const BASES = ["base", "tls"] as const;
const COMPONENTS = ["pod-monitor", "prometheus-rule", "dashboard"] as const;
/** The files that scripts/kustomize.py writes. */
const MADE = [...BASES.map((base) => `${base}/portico.yaml`), ...COMPONENTS.map((name) => `${name}/${name}.yaml`)];
/** Where each role listens, as the image sets it. */
const PORTS = { http: 8080, grpc: 8081, admin: 8082 } as const;
const LISTENING: Readonly<Record<RoleName, readonly (keyof typeof PORTS)[]>> = {
  authority: ["grpc", "admin"],
  gateway: ["http", "admin"],
  service: ["grpc", "admin"],
  server: ["http", "grpc", "admin"],
};

// biome-ignore lint/suspicious/noExplicitAny: manifests of several kinds, checked on use
type Manifest = any;

const manifestsOf = (base: string): Manifest[] =>
  parseAllDocuments(readFileSync(join(FOLDER, "kustomize", base, "portico.yaml"), "utf8"), { version: "1.1" }).map(
    (one) => one.toJS(),
  );
const componentOf = (name: (typeof COMPONENTS)[number]): Manifest =>
  parse(readFileSync(join(FOLDER, "kustomize", name, `${name}.yaml`), "utf8"), { version: "1.1" });
const namesOf = (manifests: Manifest[], kind: string): string[] =>
  manifests.filter((one) => one.kind === kind).map((one) => one.metadata.name);

/** The words of the command that a container runs after `portico`. */
function commandOf({ args, command }: Manifest): string[] {
  return args ?? /exec portico (.*)/.exec(command.at(-1))?.[1]?.split(" ");
}

t.test("the files of kustomize are made from the chart as it is", async (t) => {
  const paths = readdirSync(CHART, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash("sha256");
  for (const path of paths.sort()) hash.update(`${relative(CHART, path)}\n`).update(readFileSync(path));
  const digest = hash.digest("hex");
  for (const file of MADE) {
    const text = readFileSync(join(FOLDER, "kustomize", file), "utf8");
    t.match(text, `# SHA-256 of the chart's files: ${digest}\n`, `${file}: run scripts/kustomize.py`);
  }
});

for (const base of BASES) {
  const manifests = manifestsOf(base);
  const deployments = manifests.filter(({ kind }) => kind === "Deployment");
  const services = manifests.filter(({ kind }) => kind === "Service");

  t.test(`${base}: each role and each service exists`, async (t) => {
    const commands = deployments.map(({ spec }) => commandOf(spec.template.spec.containers[0]).join(" "));
    t.same(commands, ["authority", "gateway", "service helloworld", "service id"]);
    for (const name of ["helloworld", "id"]) t.ok(name in BUILT_IN_SERVICES, name);
  });

  for (const { metadata, spec } of deployments) {
    const pod = spec.template.spec;
    const [container] = pod.containers;
    const role = commandOf(container)[0] as RoleName;
    const variables = new Map<string, string>(
      container.env.map(({ name, value = "" }: { name: string; value?: string }) => [name, value]),
    );

    t.test(`${base}: each variable of ${metadata.name} is a setting with an effect there`, async (t) => {
      t.equal(variables.size, container.env.length, "each is set once");
      const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
      for (const name of variables.keys()) {
        if (name === "POD_IP") continue;
        const setting = settings.find(({ variable }) => variable === name);
        t.ok(setting?.roles.includes(role), `${name} at ${role}`);
      }
    });

    t.test(`${base}: ${metadata.name} has the ports of its role, and is asked at the admin port`, async (t) => {
      const ports = container.ports.map((one: Manifest) => [one.name, one.containerPort]);
      t.same(
        ports,
        LISTENING[role].map((name) => [name, PORTS[name]]),
      );
      const paths = ["startupProbe", "livenessProbe", "readinessProbe"].map((probe) => container[probe].httpGet);
      t.same(
        paths.map(({ path, port }) => [path, port]),
        [
          ["/livez", "admin"],
          ["/livez", "admin"],
          ["/readyz", "admin"],
        ],
      );
    });

    t.test(
      `${base}: ${metadata.name} stops before it is killed, and is left alone before its port closes`,
      async (t) => {
        const env = Object.fromEntries([...variables].filter(([name]) => name.startsWith("PORTICO_DRAIN")));
        const { drain, drainNotice } = loadConfig({}, env);
        t.ok(pod.terminationGracePeriodSeconds * 1000 >= drain + 5_000);
        const { periodSeconds, failureThreshold } = container.readinessProbe;
        t.ok(periodSeconds * failureThreshold * 1000 < Math.min(drainNotice, drain / 2), "seen not ready in time");
      },
    );

    t.test(`${base}: ${metadata.name} has no privileges, and writes to its data folder only`, async (t) => {
      t.same(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      t.match(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      t.equal(pod.automountServiceAccountToken, false);
      const written = container.volumeMounts.filter((one: Manifest) => one.readOnly !== true);
      t.same(written, [{ name: "data", mountPath: "/data" }]);
    });
  }

  t.test(`${base}: services lead to ports that the pods have`, async (t) => {
    for (const { metadata, spec } of services) {
      const pods = deployments.find(({ metadata }) => metadata.name === spec.selector["app.kubernetes.io/name"]);
      const names = pods?.spec.template.spec.containers[0].ports.map(({ name }: { name: string }) => name);
      for (const { targetPort } of spec.ports) t.ok(names?.includes(targetPort), `${metadata.name}: ${targetPort}`);
      // Without an address of its own, the name has each pod, and SRV records for its ports.
      if (metadata.name !== "portico") t.equal(spec.clusterIP, "None", metadata.name);
    }
  });

  t.test(`${base}: of each deployment one pod at most is away`, async (t) => {
    t.same(namesOf(manifests, "PodDisruptionBudget"), namesOf(manifests, "Deployment"));
    const scaled = deployments.filter(({ spec }) => spec.replicas === undefined).map(({ metadata }) => metadata.name);
    t.same(namesOf(manifests, "HorizontalPodAutoscaler"), scaled, "an autoscaler decides where no number is given");
  });
}

t.test("the image listens at the ports of the manifests", async (t) => {
  const image = readFileSync("deploy/Dockerfile", "utf8");
  for (const [name, port] of Object.entries(PORTS)) t.match(image, `PORTICO_${name.toUpperCase()}=0.0.0.0:${port}`);
});

t.test("the pod monitor reads the admin port of all pods", async (t) => {
  const { spec } = componentOf("pod-monitor");
  t.same(spec.podMetricsEndpoints, [{ port: "admin", path: "/metrics", interval: "15s" }]);
  for (const one of manifestsOf("base").filter(({ kind }) => kind === "Deployment")) {
    t.match(one.spec.template.metadata.labels, spec.selector.matchLabels, one.metadata.name);
  }
});

t.test("the alerts and the dashboard equal the files for Prometheus and Grafana", async (t) => {
  const rule = componentOf("prometheus-rule");
  t.equal(rule.kind, "PrometheusRule");
  t.same(rule.spec, parse(readFileSync(ALERTS, "utf8")));
  const { metadata, data } = componentOf("dashboard");
  t.equal(metadata.labels.grafana_dashboard, "1", "a text, which the sidecar asks for");
  t.same(data, { "portico.json": readFileSync(DASHBOARD, "utf8") });
});

t.test("with TLS, the certificates name the addresses at which others connect", async (t) => {
  const manifests = manifestsOf("tls");
  const authority = createAuthority("Portico");
  for (const { metadata, spec } of manifests.filter(({ kind }) => kind === "Deployment")) {
    const [container] = spec.template.spec.containers;
    const secret = spec.template.spec.volumes.find(({ name }: { name: string }) => name === "tls").secret.secretName;
    const certificate = manifests.find(({ kind, spec }) => kind === "Certificate" && spec.secretName === secret);
    t.same(certificate.spec.usages, ["digital signature", "server auth", "client auth"]);
    const isNamed = (host: string): boolean =>
      certificate.spec.dnsNames.some((name: string) => {
        const { cert } = authority.issue(name);
        return new X509Certificate(cert).checkHost(host) !== undefined;
      });
    const target = container.env.find(({ name }: { name: string }) => name === "PORTICO_AUTHORITY")?.value;
    if (target !== undefined) t.equal(target, "grpcs://portico-authority:8081");
    if (metadata.name === "portico-authority") t.ok(isNamed("portico-authority"));
    if (container.command === undefined) continue;
    for (const [address, label] of [
      ["10.1.2.3", "10-1-2-3"],
      ["fd00::1", "fd00--1"],
    ]) {
      const printed = container.command.at(-1).replace(/exec portico .*/, 'echo "$PORTICO_ADVERTISE"');
      const [host, port] = execFileSync("sh", ["-ec", printed], { env: { ...process.env, POD_IP: address } })
        .toString()
        .trim()
        .split(":") as [string, string];
      t.equal(`${host}:${port}`, `${label}.${metadata.name}-pods.portico.svc:8081`);
      t.ok(isNamed(host), host);
      t.ok(namesOf(manifests, "Service").includes(host.split(".")[1] ?? ""), "there is a service with this name");
    }
  }
});
