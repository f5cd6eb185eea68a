// What the files of deploy/ give to each role, and who can reach it: one enrolment token, named
// hosts, named proxies, and open ports only for those who need them.
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { join } from "node:path";
import t from "tap";
import { parse, parseAllDocuments } from "yaml";
import { TrustedProxies } from "../../src/address/client-address.js";

interface ComposeService {
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address?: string }>>;
  readonly ports?: readonly string[];
  readonly image?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: manifests of several kinds, checked on use
  readonly spec: any;
}

const compose = parse(readFileSync("deploy/compose.yaml", "utf8"), { merge: true });
const services: Readonly<Record<string, ComposeService>> = compose.services;
const ROLES = ["gateway", "helloworld", "id"];
const KUBERNETES = "deploy/kubernetes";
const manifests: Manifest[] = parseAllDocuments(
  readFileSync(join(KUBERNETES, "kustomize/base/portico.yaml"), "utf8"),
).map((one) => one.toJS());
const deployments = manifests.filter(({ kind }) => kind === "Deployment");
const policies = manifests.filter(({ kind }) => kind === "NetworkPolicy");
const PART = { "app.kubernetes.io/part-of": "portico" };

t.test("in Compose each role has a volume with its enrolment token, which no other role mounts", async (t) => {
  for (const role of ROLES) {
    t.same(services[role]?.volumes, [`${role}:/data:ro`]);
    t.same(services[`enrol-${role}`]?.volumes, [`${role}:/data`]);
    t.match(services[`enrol-${role}`]?.entrypoint?.join(" "), `portico enrol ${role} >`);
    const holders = Object.keys(services).filter((name) =>
      services[name]?.volumes?.some((volume) => volume.startsWith(`${role}:`)),
    );
    t.same(holders.sort(), [`enrol-${role}`, role]);
  }
});

t.test("in Compose only the services that need the database or the first password receive them", async (t) => {
  const given = (variable: string) =>
    Object.keys(services).filter((name) => services[name]?.environment?.[variable] !== undefined);
  t.same(given("PORTICO_STORE").sort(), ["authority", ...ROLES.map((role) => `enrol-${role}`)]);
  t.same(given("PORTICO_ADMIN_PASSWORD"), ["authority"]);
  t.same(given("POSTGRES_PASSWORD"), ["postgres"]);
});

t.test("in Compose only authorities and enrolments reach the database", async (t) => {
  const inside = Object.keys(services).filter((name) => (services[name]?.networks as string[])?.includes?.("store"));
  t.same(inside.sort(), ["authority", ...ROLES.map((role) => `enrol-${role}`), "postgres"]);
  t.same(services.postgres?.networks, ["store"]);
  t.same(compose.networks.store, { internal: true });
});

t.test("in Compose Portico has no privileges, and writes to its volume only", async (t) => {
  const own = Object.values(services).filter(({ image }) => image === "portico");
  t.equal(own.length, 1 + 2 * ROLES.length);
  for (const { read_only, cap_drop, security_opt } of own)
    t.same(
      { read_only, cap_drop, security_opt },
      { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] },
    );
});

t.test("in Compose the gateway accepts named hosts, and trusts only the balancer's address", async (t) => {
  const { PORTICO_HTTP_HOSTS, PORTICO_TRUSTED_PROXIES = "" } = services.gateway?.environment ?? {};
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Compose replaces it
  t.equal(PORTICO_HTTP_HOSTS, "${PORTICO_HTTP_HOSTS:-localhost}");
  const { door: gateway } = (services.front?.networks ?? {}) as Readonly<
    Record<string, { readonly ipv4_address?: string }>
  >;
  t.equal(PORTICO_TRUSTED_PROXIES, gateway?.ipv4_address);
  const network = new BlockList();
  const [address = "", prefix] = compose.networks.door.ipam.config[0].subnet.split("/");
  network.addSubnet(address, Number(prefix));
  t.ok(network.check(PORTICO_TRUSTED_PROXIES), "it is an address of the network");
  const others = Object.keys(services).filter((name) => (services[name]?.networks as string[])?.includes?.("door"));
  t.same(others, ["gateway"], "which the gateways share with it");
});

t.test("in Compose only the balancer has a port on the host, on loopback", async (t) => {
  const published = Object.keys(services).filter((name) => services[name]?.ports !== undefined);
  t.same(published, ["front"]);
  for (const port of services.front?.ports ?? []) t.match(port, /^127\.0\.0\.1:/);
});

t.test("the balancer of Compose sends the client's address, and drops the clients' own headers", async (t) => {
  const text = readFileSync("deploy/haproxy.cfg", "utf8");
  const frontend = text.slice(text.indexOf("frontend callers"), text.indexOf("backend gateways"));
  for (const line of [
    "http-request del-header Forwarded",
    "http-request del-header X-Forwarded-For",
    "option forwardfor",
  ]) {
    t.match(frontend, `\n  ${line}\n`);
  }
});

t.test("no file trusts a range of private addresses as proxies", async (t) => {
  const gateway = deployments.find(({ metadata }) => metadata.name === "portico-gateway");
  const variables: { name: string; value?: string }[] = gateway?.spec.template.spec.containers[0].env;
  const settingOf = (name: string) => variables.find((one) => one.name === name)?.value ?? "";
  t.ok(settingOf("PORTICO_HTTP_HOSTS"));
  for (const trusted of [
    settingOf("PORTICO_TRUSTED_PROXIES"),
    services.gateway?.environment?.PORTICO_TRUSTED_PROXIES,
  ]) {
    t.ok(TrustedProxies.parse(trusted ?? ""));
    t.ok(trusted === "none" || trusted?.split(",").every((one) => isIP(one) !== 0), `${trusted} names addresses`);
  }
});

t.test("on Kubernetes each deployment receives only the secrets of its role", async (t) => {
  const secrets = Object.fromEntries(
    deployments.map(({ metadata, spec }) => {
      const variables: { valueFrom?: { secretKeyRef?: { name: string; key: string } } }[] =
        spec.template.spec.containers.flatMap(({ env }: { env: unknown[] }) => env);
      const refs = variables.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
      return [metadata.name, refs.map(({ name, key }) => `${name}/${key}`).sort()];
    }),
  );
  t.same(secrets, {
    "portico-authority": ["portico-store/admin-password", "portico-store/url"],
    "portico-gateway": ["portico-enrolment-gateway/token"],
    helloworld: ["portico-enrolment-helloworld/token"],
    id: ["portico-enrolment-id/token"],
  });
  const steps = readFileSync(join(KUBERNETES, "README.md"), "utf8");
  t.match(steps, "for name in gateway helloworld id; do");
  t.match(steps, 'create secret generic portico-enrolment-$name --from-literal=token="$token"');
});

/**
 * The rules of the policies for a port: the pods (`of`), and the sources that may reach it
 * (`from`).
 */
function rulesFor(port: number) {
  return policies.flatMap(({ spec }) =>
    (spec.ingress ?? [])
      .filter(
        ({ ports }: { ports?: { port: number }[] }) => ports === undefined || ports.some((one) => one.port === port),
      )
      .map(({ from }: { from?: unknown }) => ({ of: spec.podSelector.matchLabels, from })),
  );
}

t.test("on Kubernetes a pod can be reached only if a policy allows it", async (t) => {
  const closed = policies.filter(({ spec }) => spec.ingress === undefined);
  t.same(
    closed.map(({ spec }) => spec),
    [{ podSelector: { matchLabels: PART }, policyTypes: ["Ingress"] }],
  );
  for (const { metadata, spec } of deployments) t.match(spec.template.metadata.labels, PART, metadata.name);
  for (const { metadata, spec } of policies) {
    t.same(spec.policyTypes, ["Ingress"], metadata.name);
    for (const rule of spec.ingress ?? []) t.ok(rule.ports?.length > 0, `${metadata.name} names ports`);
  }
});

t.test("on Kubernetes HTTP is open to callers, gRPC to Portico's pods, and metrics to monitoring", async (t) => {
  t.same(rulesFor(8080), [{ of: { "app.kubernetes.io/name": "portico-gateway" }, from: undefined }]);
  t.same(rulesFor(8081), [{ of: PART, from: [{ podSelector: { matchLabels: PART } }] }]);
  const monitoring = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } },
    podSelector: { matchLabels: { "app.kubernetes.io/name": "prometheus" } },
  };
  t.same(rulesFor(8082), [{ of: PART, from: [monitoring] }]);
});
