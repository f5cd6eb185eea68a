// The files in deploy/ are valid by the schemas of Kubernetes and of Compose, Helm and kustomize
// build them, and haproxy accepts its configuration. The validators are third-party programs:
// kubernetes-validate, which contains the schemas, and the reference implementation of Compose.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig } from "../../src/config/config.js";
import { goProgram, pythonPrograms, run } from "../outside/tools.js";

const KUSTOMIZE = "deploy/kubernetes/kustomize";
/** The oldest version that is likely in use, and the newest that the validator knows. */
const VERSIONS = ["1.30", "1.37"];
/** Kinds of cert-manager and of the Prometheus operator, for which Kubernetes has no schemas. */
const EXTENSIONS = /^apiVersion: (?:cert-manager\.io|monitoring\.coreos\.com)\//m;
/** Helm's own code, as a library. */
const HELM = "helm-python-sdk==0.2.2";

/** Renders the chart with values that replace the chart's own. */
function rendered(programs: string, values: object): { status: number | null; stdout: string; stderr: string } {
  const command = ["scripts/kustomize.py", "--render"];
  return spawnSync(join(programs, "python"), command, { input: JSON.stringify(values), encoding: "utf8" });
}

/** Values of the chart that the files of kustomize do not have. */
const VALUES: readonly object[] = [
  { httpTlsSecret: "portico-http", publicUrl: "https://api.example.com", trustedProxies: ["10.0.0.7", "fd00::7"] },
  { services: [{ name: "db", replicas: 3, secret: "portico-services" }], environment: { PORTICO_LOG_LEVEL: "warn" } },
  {
    services: [],
    image: { repository: "registry.example/portico", tag: "1.2.3" },
    imagePullSecrets: [{ name: "pull" }],
  },
  { tls: { enabled: true }, httpTlsSecret: "portico-http", monitoring: { podMonitor: true }, drain: 60 },
  {
    tracing: { otlp: "http://collector.monitoring.svc:4318", sample: 0.0001 },
    accessLog: { lines: "off", sample: 0.5 },
    authority: { auditLog: true },
    monitoring: { prometheusRule: true, dashboard: true, labels: { release: "prometheus" } },
  },
];

// biome-ignore lint/suspicious/noExplicitAny: manifests of several kinds, checked on use
type Manifest = any;

/** What each role of the rendered chart has as its variables, by the name of the deployment. */
function environmentsIn(text: string): Map<string, Record<string, string>> {
  const deployments: Manifest[] = manifestsIn(text).filter(({ kind }) => kind === "Deployment");
  return new Map(
    deployments.map(({ metadata, spec }) => {
      const { env } = spec.template.spec.containers[0];
      return [metadata.name, Object.fromEntries(env.map(({ name, value }: Manifest) => [name, value]))];
    }),
  );
}

const manifestsIn = (text: string): Manifest[] => parseAllDocuments(text, { version: "1.1" }).map((one) => one.toJS());

t.test("the files of kustomize are what Helm makes of the chart", async (t) => {
  const programs = pythonPrograms(HELM);
  if (programs === undefined) return;
  const { status, output } = await run(join(programs, "python"), ["scripts/kustomize.py", "--check"]);
  t.equal(status, 0, output);
});

t.test("the manifests are valid in the oldest and the newest Kubernetes", async (t) => {
  const [validator, helm] = [pythonPrograms("kubernetes-validate==1.37.0"), pythonPrograms(HELM)];
  if (validator === undefined || helm === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const texts = ["base", "tls"].map((base) => readFileSync(join(KUSTOMIZE, base, "portico.yaml"), "utf8"));
  texts.push(readFileSync(join(KUSTOMIZE, "base/namespace.yaml"), "utf8"));
  for (const values of VALUES) {
    const { status, stdout, stderr } = rendered(helm, values);
    t.equal(status, 0, `${JSON.stringify(values)}: ${stdout}${stderr}`);
    texts.push(stdout);
  }
  const files = texts.map((text, index) => {
    const own = text.split(/^---$/m).filter((one) => !EXTENSIONS.test(one));
    writeFileSync(join(folder, `${index}.yaml`), own.join("---"));
    return join(folder, `${index}.yaml`);
  });
  const validate = join(validator, "kubernetes-validate");
  for (const version of VERSIONS) {
    const { status, output } = await run(validate, ["--strict", "--kubernetes-version", version, ...files]);
    t.equal(status, 0, output);
    t.match(output, /deployment\/portico-gateway against version/);
  }
  const wrong = join(folder, "wrong.yaml");
  writeFileSync(wrong, texts[0]?.replace("readinessProbe", "readyProbe") ?? "");
  t.equal((await run(validate, ["--strict", wrong])).status, 1, "the validator finds a wrong field");
});

t.test("the chart refuses values that it does not have", async (t) => {
  const programs = pythonPrograms(HELM);
  if (programs === undefined) return;
  for (const values of [
    { httpHost: "api.example.com" },
    { httpHosts: [] },
    { gateway: { replicas: 3 } },
    { services: [{ name: "Shop", replicas: 1 }] },
    // It is set by `drain`, together with the time until a pod is killed.
    { environment: { PORTICO_DRAIN: "60s" } },
    // Other values set these. A variable that is set twice is refused by the server.
    { environment: { PORTICO_OTLP: "http://127.0.0.1:4318" } },
    { environment: { PORTICO_HTTP_HOSTS: "*" } },
    // What YAML makes of `off` without quotes.
    { accessLog: { lines: false } },
    { accessLog: { sample: 0 } },
    // Templates write it as 1e-05, which is no setting.
    { tracing: { sample: 0.00001 } },
  ]) {
    t.not(rendered(programs, values).status, 0, JSON.stringify(values));
  }
});

t.test("the chart sets tracing, the access log and the audit log where they have an effect", async (t) => {
  const programs = pythonPrograms(HELM);
  if (programs === undefined) return;
  const otlp = "http://collector.monitoring.svc:4318";
  const values = {
    tracing: { otlp, sample: 0.0001 },
    accessLog: { lines: "off", sample: 0.5 },
    authority: { auditLog: true },
  };
  const everyRole = { PORTICO_OTLP: otlp, PORTICO_ACCESS_LOG: "off", PORTICO_ACCESS_LOG_SAMPLE: "0.5" };
  const own: Record<string, Record<string, string>> = {
    "portico-authority": { PORTICO_AUDIT_LOG: "-" },
    "portico-gateway": { PORTICO_TRACE_SAMPLE: "0.0001" },
    helloworld: {},
    id: {},
  };
  const environments = environmentsIn(rendered(programs, values).stdout);
  t.same([...environments.keys()], Object.keys(own));
  const names = /^PORTICO_(?:OTLP|TRACE_SAMPLE|ACCESS_LOG|ACCESS_LOG_SAMPLE|AUDIT_LOG)$/;
  for (const [name, environment] of environments) {
    const set = Object.entries(environment).filter(([variable]) => names.test(variable));
    t.same(Object.fromEntries(set), { ...everyRole, ...own[name] }, name);
    t.doesNotThrow(() => loadConfig({}, Object.fromEntries(set)), "each is a setting with this value");
  }
});

t.test("what the Prometheus operator reads has the labels by which it selects", async (t) => {
  const programs = pythonPrograms(HELM);
  if (programs === undefined) return;
  const monitoring = { podMonitor: true, prometheusRule: true, labels: { release: "prometheus" } };
  const manifests = manifestsIn(rendered(programs, { monitoring }).stdout);
  const read = manifests.filter(({ apiVersion }) => apiVersion.startsWith("monitoring.coreos.com/"));
  t.same(read.map(({ kind }) => kind).sort(), ["PodMonitor", "PrometheusRule"]);
  for (const { kind, metadata } of read) t.match(metadata.labels, { release: "prometheus" }, kind);
});

t.test("kustomize builds each folder, also with the components and another image", async (t) => {
  if (spawnSync("kubectl", ["version", "--client"]).status !== 0) return void t.comment("there is no kubectl here");
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(KUSTOMIZE, folder, { recursive: true });
  for (const base of ["base", "tls"]) {
    const overlay = join(folder, `own-${base}`);
    mkdirSync(overlay);
    const lines = [
      `resources: [../${base}]`,
      "components: [../pod-monitor, ../prometheus-rule, ../dashboard]",
      "images: [{ name: portico, newName: registry.example/portico, newTag: 1.2.3 }]",
    ];
    writeFileSync(join(overlay, "kustomization.yaml"), `${lines.join("\n")}\n`);
    const { status, output } = await run("kubectl", ["kustomize", overlay]);
    t.equal(status, 0, output);
    t.equal(output.match(/image: registry\.example\/portico:1\.2\.3/g)?.length, 4);
    for (const kind of ["PodMonitor", "PrometheusRule", "ConfigMap"]) t.match(output, `kind: ${kind}\n`);
  }
});

/** The blocks of YAML in the page, also in lists, whose blocks are indented. */
function blocksOf(page: string): string[] {
  const blocks = [...page.matchAll(/^( *)```yaml\n(.*?)^\1```/gms)];
  return blocks.map(([, indent = "", text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

t.test("the values and the overlay of the page are accepted, and change what they say", async (t) => {
  const [values = "", overlay = "", telemetry = ""] = blocksOf(readFileSync("deploy/kubernetes/README.md", "utf8"));
  const programs = pythonPrograms(HELM);
  if (programs === undefined) return;
  const { status, stdout, stderr } = rendered(programs, parse(values));
  t.equal(status, 0, stderr);
  t.equal(rendered(programs, parse(telemetry)).status, 0, "the values for traces and logs");
  const built: string[] = [stdout];
  if (spawnSync("kubectl", ["version", "--client"]).status === 0) {
    const folder = mkdtempSync(join(tmpdir(), "portico-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(KUSTOMIZE, join(folder, "kustomize"), { recursive: true });
    mkdirSync(join(folder, "own"));
    writeFileSync(join(folder, "own/kustomization.yaml"), overlay);
    const own = await run("kubectl", ["kustomize", join(folder, "own")]);
    t.equal(own.status, 0, own.output);
    built.push(own.output);
  }
  for (const text of built) {
    const gateway = manifestsIn(text).find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "portico-gateway",
    );
    const [{ image, env }] = gateway.spec.template.spec.containers;
    const settingOf = (name: string) => env.find((one: { name: string }) => one.name === name)?.value;
    t.equal(image, "registry.example.com/portico:0.1.0");
    t.match(settingOf("PORTICO_HTTP_HOSTS"), /^api\.example\.com(,|$)/);
    t.equal(settingOf("PORTICO_TRUSTED_PROXIES"), "10.42.0.7,10.42.1.9");
    t.equal(settingOf("PORTICO_AUTHORITY"), "portico-authority:8081", "what is not named stays");
  }
});

t.test("the Compose file is valid", async (t) => {
  const compose = goProgram("github.com/compose-spec/compose-go/v2/cmd", "v2.16.2");
  if (compose === undefined) return;
  const { status, output } = await run(compose, ["-no-interpolation", "deploy/compose.yaml"]);
  t.equal(status, 0, output);
});

t.test("haproxy accepts the configuration of the Compose file's balancer", async (t) => {
  if (spawnSync("haproxy", ["-v"]).status !== 0) return void t.comment("there is no haproxy here");
  const { status, output } = await run("haproxy", ["-c", "-f", "deploy/haproxy.cfg"]);
  t.equal(status, 0, output);
});
