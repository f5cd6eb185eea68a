// A service without annotations, whose contract is read by reflection, has the REST paths of its
// HTTP rules: at the authority, at the gateway, and on connections to a server that was replaced.
import t from "tap";
import type { EndpointTarget } from "../../../gateway/catalog/target.js";
import { readConnection } from "../../../services/registry/connection-contract.js";
import { readHttpRules } from "../../../services/registry/http-rules.js";
import { parseGrpcTarget } from "../../../src/address/address.js";
import type { ExternalService } from "../../../src/config/configured-services.js";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { dispatcherOf, listen } from "../../rpc/serve.js";
import { until } from "../../support/until.js";
import { ask, deploy, login, post } from "../deployment.js";
import { createRelay } from "../dialects/relay.js";

const RULES = `
type: google.api.Service
http:
  rules:
  - selector: relay.Relay.Call
    post: /notes/{text}
    body: "*"
  - selector: relay.Relay.Hide
    get: /secrets/{nowhere}
  - selector: relay.Relay.Gone
    get: /gone
`;

const server = await listen(t, dispatcherOf([createRelay()]));
const external = (name: string, httpRules: string): ExternalService => ({
  name,
  targets: [{ target: parseGrpcTarget(`127.0.0.1:${server.address.port}`), weight: 1 }],
  descriptors: undefined,
  options: ServiceOptions.fromPartial({ httpRules, bindingPrefix: `/${name}` }),
});
const it = await deploy(t.testdir(), {
  flags: { lease: "60s" },
  external: [external("ruled", RULES), external("bare", ""), external("broken", "http: [")],
});
t.teardown(() => it.close());
const admin = await login(it.handler, "admin");

const call = (target: string): Promise<{ status: number; body: string }> =>
  ask(it.handler, { method: "POST", target, headers: ["Content-Type", "application/json"], body: "{}" });

t.test("a path of a rule calls its method", async (t) => {
  await until(async () => (await call("/bare/Relay/Call")).status === 200);
  const { status, body } = await call("/ruled/notes/hello");
  t.equal(status, 200);
  t.match(JSON.parse(body), { text: "hello" });
  t.equal((await call("/bare/notes/hello")).status, 404, "the same server without rules");
});

t.test("the connection to the server is not taken for one with another contract", (t) => {
  const lines = it.logged.map(({ msg }) => String(msg));
  t.same(
    lines.filter((line) => /another contract/.test(line)),
    [],
  );
  t.end();
});

t.test("a server that replaces another gets the rules for its own contract", async (t) => {
  const target = it.catalog.routes.find("/ruled/Relay/Call")?.target as EndpointTarget;
  const channel = new Http2Channel(server.address);
  t.teardown(() => channel.close());
  const { json: httpRules } = await readHttpRules(RULES);
  const { schema, grpcServices } = target.contract;
  const known = { service: "ruled", descriptors: schema.descriptors.bytes, grpcServices: [...grpcServices], httpRules };
  t.equal(await readConnection(channel, known), undefined);
  // The contract of an earlier server: the same gRPC service in other files.
  const earlier = { ...known, descriptors: Buffer.alloc(0) };
  t.same((await readConnection(channel, earlier))?.descriptors, known.descriptors);
});

t.test("the problems of rules are problems of the service", async (t) => {
  const { services } = (await post(it.handler, "/v1/registry/list", {}, admin)) as {
    services: { name: string; problems: string[] }[];
  };
  t.match(services.find(({ name }) => name === "ruled")?.problems, [
    "httpRules select no method by relay.Relay.Gone",
    /^ruled:Relay.Hide: GET \/ruled\/secrets\/\{nowhere\}: relay.Note has no field nowhere; httpRules give it no path/,
  ]);
  t.notMatch(services.find(({ name }) => name === "bare")?.problems, [/httpRules/]);
});

t.test("a service with a malformed configuration does not join, and the log says why in one line", (t) => {
  const [about, ...others] = it.logged.filter(({ service }) => service === "broken");
  t.match(about, { level: "warn", reason: /^httpRules is no YAML: [^\n]+ in line 1$/ });
  t.same(others, []);
  t.end();
});

t.test("the OpenAPI document has the paths of rules", async (t) => {
  const { body } = await ask(it.handler, {
    target: "/openapi/ruled.json",
    headers: ["Authorization", `Bearer ${admin}`],
  });
  t.match(JSON.parse(body).paths["/ruled/notes/{text}"].post, {
    "x-binding": undefined,
    "x-path-template": "/ruled/notes/{text}",
  });
});
