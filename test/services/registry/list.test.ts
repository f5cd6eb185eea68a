/** The services and contracts that each caller can see. */
import t from "tap";
import { type Metadata, NO_METADATA } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { unary } from "../../../src/rpc/client.js";
import { greeter, LARGE } from "./instances.js";
import { bearer, openMesh, PASSWORD } from "./mesh.js";

const mesh = await openMesh(t);
const channel = mesh.connect();
const asAdmin = { metadata: mesh.admin };

/**
 * The endpoints in the test cases. An endpoint of the authority or the registry represents all
 * its endpoints with the same callers.
 */
const SAMPLE = [
  "auth:Auth.Login",
  "auth:Auth.WhoAmI",
  "auth:Rules.List",
  "auth:Policy.Watch",
  "registry:Registry.List",
  "registry:Registry.Register",
  "greeter:Helloworld.Call",
  "greeter:Helloworld.Stream",
  "helloworld:Helloworld.Call",
  "helloworld:Helloworld.Stream",
];

async function shown(metadata: Metadata): Promise<string[]> {
  const { services } = await unary(channel, RegistryService.list, {}, { metadata });
  const all = new Set(services.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource)));
  return SAMPLE.filter((name) => all.has(`service:${name}`));
}

async function createRule(id: string, scope: string, resource: string): Promise<void> {
  const rule = { id, scope, resource, access: Access.GRANTED, priority: 0, disabled: false };
  await unary(channel, RulesService.create, { rule }, asAdmin);
}

// helloworld has 2 endpoints. greeter has the same ones, registered as another service.
await mesh.registry.add(greeter());
await unary(channel, AccountsService.create, { name: "bob", password: PASSWORD, scopes: ["staff"] }, asAdmin);
await createRule("callers-see-one", "*", "service:helloworld:helloworld.call");
await createRule("staff-see-greeter", "staff", "service:greeter:*");
const bob = await mesh.login("bob");
const key = {
  name: "limited",
  lifetime: undefined,
  resources: ["service:helloworld:helloworld.call", "service:registry:*"],
  from: [],
};
const limited = bearer((await unary(channel, KeysService.create, key, { metadata: mesh.admin })).secret);
const { adminPassword } = await unary(channel, NamespacesService.create, { name: "elsewhere" }, asAdmin);
const elsewhere = await mesh.login("admin", "elsewhere", adminPassword);

const PUBLIC = ["auth:Auth.Login", "registry:Registry.List"];
const ACCOUNT = ["auth:Auth.Login", "auth:Auth.WhoAmI", "registry:Registry.List"];
const ADMIN = ["auth:Auth.Login", "auth:Auth.WhoAmI", "auth:Rules.List", "registry:Registry.List"];
const GREETER = ["greeter:Helloworld.Call", "greeter:Helloworld.Stream"];
const HELLOWORLD = ["helloworld:Helloworld.Call", "helloworld:Helloworld.Stream"];

t.test("an administrator is told which endpoints only read", async (t) => {
  const { services } = await unary(channel, RegistryService.list, {}, asAdmin);
  const endpoints = services.flatMap((service) => service.endpoints);
  const reads = (name: string) => endpoints.find(({ resource }) => resource === `service:${name}`)?.reads;
  t.same([reads("auth:Keys.List"), reads("auth:Keys.Create"), reads("greeter:Helloworld.Call")], [true, false, false]);
});

t.test(
  "under the default rule every caller sees all services, and the public endpoints of auth and registry",
  async (t) => {
    t.same(await shown(NO_METADATA), [...PUBLIC, ...GREETER, ...HELLOWORLD]);
    await unary(channel, RulesService.delete, { id: "default" }, asAdmin);
  },
);

const cases: readonly (readonly [name: string, metadata: Metadata, shown: readonly string[]])[] = [
  ["an unauthenticated caller", NO_METADATA, PUBLIC],
  ["a bad token", bearer("pta_nonsense"), PUBLIC],
  ["an account, by its scopes", bob, [...ACCOUNT, ...GREETER, "helloworld:Helloworld.Call"]],
  ["an administrator, whatever the rules", mesh.admin, [...ADMIN, ...GREETER, ...HELLOWORLD]],
  ["an administrator of another namespace, by the rules there", elsewhere, ADMIN],
  ["a token in another namespace", [...bob, ["platform-namespace", "elsewhere"]], PUBLIC],
  [
    "an administrator's limited key: its part and the public endpoints only",
    limited,
    [...PUBLIC, "helloworld:Helloworld.Call"],
  ],
  ["an enrolled gateway, like an unauthenticated caller", mesh.gateway, PUBLIC],
];

for (const [name, metadata, expected] of cases) {
  t.test(`visible to ${name}`, async (t) => t.same(await shown(metadata), expected));
}

t.test("an endpoint is listed with its resource, path, comment and shape", async (t) => {
  const { services } = await unary(channel, RegistryService.list, {}, asAdmin);
  t.match(
    services.find(({ name }) => name === "helloworld"),
    {
      summary:
        "Greets people. The smallest whole service: one endpoint that answers once, one that answers many times.",
      instances: 1,
      endpoints: [
        {
          resource: "service:helloworld:Helloworld.Call",
          path: "/v1/helloworld/Call",
          summary: "Greets a name.",
          serverStreaming: false,
        },
        {
          resource: "service:helloworld:Helloworld.Stream",
          path: "/v1/helloworld/Stream",
          serverStreaming: true,
          clientStreaming: false,
        },
      ],
    },
  );
  const rules = services.find(({ name }) => name === "auth")?.endpoints.map(({ path }) => path);
  t.match(rules?.join(" "), "/v1/auth/Rules/Create", "where names differ, with the gRPC service");
  t.match(rules?.join(" "), "/v1/auth/Login");
});

t.test("a service's description shows only what the caller may call", async (t) => {
  const describe = (service: string, metadata: Metadata) =>
    unary(channel, RegistryService.describe, { service }, { metadata });
  const forBob = await describe("HelloWorld", bob);
  t.equal(forBob.service?.name, "helloworld", "whatever the case");
  t.match(forBob.proto, "rpc Call(CallRequest) returns (CallResponse);");
  t.notMatch(forBob.proto, "Stream");
  t.match((await describe("helloworld", mesh.admin)).proto, "message StreamRequest {");
  const unseen = { code: Code.NOT_FOUND, message: 'There is no service "helloworld" to be seen' };
  await t.rejects(describe("helloworld", NO_METADATA), unseen, "what may not be called is as if it were not there");
  await t.rejects(describe("nonsense", mesh.admin), { code: Code.NOT_FOUND });
});

t.test("if instances differ, the newest one's contract is shown; when it leaves, the previous one's is", async (t) => {
  const endpoints = async () => {
    const { service } = await unary(channel, RegistryService.describe, { service: "greeter" }, asAdmin);
    return [service?.instances, ...(service?.endpoints.map(({ resource }) => resource.split(".").at(-1)) ?? [])];
  };
  const leave = await mesh.registry.add(
    greeter({
      id: "newer",
      descriptors: LARGE,
      grpcServices: ["helloworld.Helloworld", "notes.Notes"],
    }),
  );
  t.same(await endpoints(), [2, "Call", "Stream", "Create", "Read", "List", "Update", "Delete", "Events"]);
  leave();
  t.same(await endpoints(), [1, "Call", "Stream"]);
});
