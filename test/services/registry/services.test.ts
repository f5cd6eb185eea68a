/**
 * The configured services in the log: what `Services` lists, adds, changes and removes, and what it
 * refuses. Every target is a real gRPC server.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SYSTEM } from "../../../src/access/guard.js";
import { type Address, formatAddress } from "../../../src/address/address.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { noServiceOptions } from "../../../src/config/service-options.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { ConfigurationsService } from "../../../src/gen/portico/auth/v1/configurations.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { type Instance, RegistryService, type WatchResponse } from "../../../src/gen/portico/registry/v1/registry.js";
import type { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import {
  type ConfiguredService,
  type PutServiceRequest,
  ServiceSource,
  ServicesService,
} from "../../../src/gen/portico/registry/v1/services.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { openStore } from "../../../src/store/open.js";
import { dispatcherOf, listen } from "../../rpc/serve.js";
import { ALL_RECORDS } from "../../support/audit.js";
import { buildAnnotated } from "../../support/descriptors.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { freePort } from "../../support/ports.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { compile } from "./compile.js";
import { declaring, greeter } from "./instances.js";
import { openMesh } from "./mesh.js";

type Mesh = Awaited<ReturnType<typeof openMesh>>;

const LIBRARY = buildAnnotated("test/gateway/dialects/http-rule", "library.proto");

/** A server that returns this contract by reflection, and implements no endpoint. */
async function reflecting(t: Test, grpcServices: readonly string[], descriptors: Uint8Array): Promise<string> {
  const parts = grpcServices.map((grpcService) => ({
    grpcService,
    load: () => Promise.reject(new Error("not called")),
  }));
  const { address } = await listen(t, dispatcherOf([{ name: "shop", descriptors, parts }]));
  return formatAddress(address as Address);
}

const shopServer = (t: Test, ...names: string[]): Promise<string> => {
  const all = names.length === 0 ? ["p.Shop"] : names;
  return reflecting(t, all, declaring(...all));
};

/** A request that puts a service, by its name and targets. */
function toPut(
  name: string,
  targets: readonly string[],
  {
    options = noServiceOptions(),
    descriptors = Buffer.alloc(0),
    ...more
  }: Partial<PutServiceRequest> & Partial<ConfiguredService> = {},
): PutServiceRequest {
  const service = { name, targets: targets.map((address) => ({ address, weight: 0 })), options, descriptors };
  return { service, dryRun: false, create: false, keepDescriptors: false, ...more };
}

function client({ inProcess, admin }: Mesh, metadata: Metadata = admin) {
  return {
    put: (request: PutServiceRequest) => unary(inProcess, ServicesService.put, request, { metadata }),
    delete: (name: string) => unary(inProcess, ServicesService.delete, { name }, { metadata }),
    list: async () => (await unary(inProcess, ServicesService.list, {}, { metadata })).services,
    listed: () => unary(inProcess, RegistryService.list, {}, { metadata }),
  };
}

t.test("a service that was put is found and served when the call returns", async (t) => {
  const mesh = await openMesh(t);
  const target = await reflecting(t, ["library.Library"], LIBRARY);
  const { put, list, listed } = client(mesh);
  const found = await put(toPut("library", [target], { options: { ...noServiceOptions(), bindingPrefix: "/api" } }));
  t.equal(found.error, "");
  const rest = found.endpoints.flatMap((endpoint) => endpoint.rest);
  t.ok(rest.length > 0 && rest.every((path) => / \/api\//.test(path)), `${rest}`);
  t.match(found.endpoints[0], { resource: /^service:library:Library\./, path: /^\/v1\/library\// });
  t.ok(found.problems.length > 0, "paths that are not served are told");
  t.ok((await listed()).services.some(({ name, source }) => name === "library" && source === ServiceSource.LOG));
  const [listing] = await list();
  t.match(listing, { source: ServiceSource.LOG, reachable: 1, error: "", endpoints: found.endpoints.length });
  t.match(listing?.service, { name: "library", targets: [{ address: target, weight: 1 }] });
  t.equal(listing?.service?.options?.bindingPrefix, "/api");
});

t.test("a dry run tells the same and changes nothing", async (t) => {
  const mesh = await openMesh(t);
  const { put, list, listed } = client(mesh);
  const request = toPut("shop", [await shopServer(t)]);
  const found = await put({ ...request, dryRun: true });
  t.same(await list(), []);
  t.notOk((await listed()).services.some(({ name }) => name === "shop"));
  t.equal(mesh.owners.ownerOf("p.Shop"), undefined);
  t.same(await put(request), found);
});

t.test(
  "a service whose server does not respond is added, and an administrator sees why it is not served",
  async (t) => {
    const mesh = await openMesh(t);
    const { put, list, listed } = client(mesh);
    const target = `127.0.0.1:${await freePort()}`;
    const { error } = await put(toPut("shop", [target]));
    t.match(error, /cannot be reached \(.*ECONNREFUSED/);
    t.match(await list(), [{ reachable: 0, endpoints: 0, error: /ECONNREFUSED/ }]);
    t.match((await listed()).unread, [{ name: "shop", source: ServiceSource.LOG, error: /ECONNREFUSED/ }]);
    const metadata = await mesh.login("admin");
    await unary(
      mesh.inProcess,
      AccountsService.create,
      { name: "bob", password: "correct horse battery", scopes: [] },
      { metadata },
    );
    const bob = await mesh.login("bob", "", "correct horse battery");
    t.same((await client(mesh, bob).listed()).unread, []);
    t.ok((await client(mesh, bob).listed()).services.every(({ source }) => source === 0));
  },
);

t.test("only administrators of the namespace default may call", async (t) => {
  const mesh = await openMesh(t);
  const { inProcess, admin } = mesh;
  const { adminPassword } = await unary(inProcess, NamespacesService.create, { name: "team" }, { metadata: admin });
  const other = await mesh.login("admin", "team", adminPassword);
  const { put, list, delete: remove } = client(mesh, [...other, ["portico-namespace", "team"]]);
  const calls: (() => Promise<unknown>)[] = [() => put(toPut("shop", ["127.0.0.1:1"])), list, () => remove("shop")];
  for (const call of calls) await t.rejects(call(), { code: Code.PERMISSION_DENIED });
  await t.rejects(client(mesh, mesh.gateway).list(), { code: Code.UNAUTHENTICATED });
  t.same(await client(mesh).list(), []);
});

/** What one watch sees of a service: `+` joined with this weight, `-` left. */
function changesOf(t: Test, { inProcess }: Mesh, service: string): string[] {
  const seen: string[] = [];
  const call = stream(inProcess, RegistryService.watch, { admission: SYSTEM });
  call.send({ confirmed: 0n });
  call.end();
  t.teardown(() => call.cancel());
  const take = ({ joined, left }: WatchResponse): void => {
    for (const one of joined)
      if (one.service === service) seen.push(`+${one.id} ${one.weight} ${one.options?.metadata}`);
    for (const one of left) if (one.service === service) seen.push(`-${one.id}`);
  };
  void (async () => {
    for await (const message of call.responses) take(message);
  })().catch(() => {});
  return seen;
}

t.test("a changed service is replaced without a gap, also if its server cannot be read now", async (t) => {
  const mesh = await openMesh(t);
  const { put } = client(mesh);
  const server = await listen(
    t,
    dispatcherOf([
      {
        name: "shop",
        descriptors: declaring("p.Shop"),
        parts: [{ grpcService: "p.Shop", load: () => Promise.reject(new Error()) }],
      },
    ]),
  );
  const target = formatAddress(server.address as Address);
  await put(toPut("shop", [target]));
  const seen = changesOf(t, mesh, "shop");
  await until(() => seen.length === 1);
  await server.close(0);
  await put(toPut("shop", [target], { options: { ...noServiceOptions(), metadata: ["x-tenant"] } }));
  await until(() => seen.length === 2);
  const moved = await shopServer(t);
  await put(toPut("shop", [moved]));
  await until(() => seen.length === 4);
  t.same(seen, [`+${target} 1 `, `+${target} 1 x-tenant`, `+${moved} 1 `, `-${target}`]);
});

/** A gateway that stays connected and confirms nothing. Returns a function that cuts it off. */
function lateGateway(t: Test, { inProcess }: Mesh): () => void {
  const call = stream(inProcess, RegistryService.watch, { admission: SYSTEM });
  call.send({ confirmed: 0n });
  t.teardown(() => call.cancel());
  return () => call.cancel();
}

t.test("a gateway that is late is counted after two seconds, and one that is cut off is not", async (t) => {
  const mesh = await openMesh(t);
  const { put, list } = client(mesh);
  const seen = changesOf(t, mesh, "shop");
  const [cutOff] = [lateGateway(t, mesh), lateGateway(t, mesh)];
  const began = performance.now();
  const putting = put(toPut("shop", [await shopServer(t)]));
  await until(() => seen.length === 1);
  cutOff!();
  const problems = ["1 of the gateways that follow this authority has not applied the change yet"];
  t.match(await putting, { error: "", endpoints: [{ resource: "service:shop:Shop.Call" }], problems });
  t.ok(performance.now() - began >= 2_000);
  t.match(await list(), [{ service: { name: "shop" }, error: "", problems: [] }]);
});

t.test("descriptors stay with keep_descriptors, and go without it", async (t) => {
  const mesh = await openMesh(t);
  const { put } = client(mesh);
  const target = `127.0.0.1:${await freePort()}`;
  const descriptors = declaring("p.Shop");
  t.equal((await put(toPut("shop", [target], { descriptors }))).endpoints.length, 1);
  const kept = await put(toPut("shop", [target], { keepDescriptors: true }));
  t.match(kept, { error: "", endpoints: [{ resource: "service:shop:Shop.Call" }] });
  t.match(await put(toPut("shop", [target])), { error: /ECONNREFUSED/, endpoints: [] });
});

t.test("a removed service is gone when the call returns, and its gRPC names stay its own", async (t) => {
  const mesh = await openMesh(t);
  const { put, delete: remove, list, listed } = client(mesh);
  await put(toPut("shop", [await shopServer(t)]));
  await remove("shop");
  t.same(await list(), []);
  t.notOk((await listed()).services.some(({ name }) => name === "shop"));
  t.equal(mesh.owners.ownerOf("p.Shop"), "shop");
  await t.rejects(remove("shop"), { code: Code.NOT_FOUND });
});

t.test("a service of the file is used again when the log's is removed", async (t) => {
  const [inFile, inLog] = [await shopServer(t), await shopServer(t)];
  const [host = "", port = ""] = inFile.split(":");
  const target = { host, port: Number(port) };
  const external = [
    { name: "shop", targets: [{ target, weight: 1 }], descriptors: undefined, options: noServiceOptions() },
  ];
  const mesh = await openMesh(t, { external });
  const { put, delete: remove, list } = client(mesh);
  const state = async () =>
    (await list()).map(({ service, source, problems }) => ({ target: service?.targets[0]?.address, source, problems }));
  t.same(await state(), [{ target: inFile, source: ServiceSource.FILE, problems: [] }]);
  await t.rejects(remove("shop"), { code: Code.NOT_FOUND, message: /in the configuration file of this authority/ });
  await put(toPut("shop", [inLog]));
  t.match(await state(), [
    { target: inLog, source: ServiceSource.LOG, problems: [/configuration file has a service of this name too/] },
  ]);
  await remove("shop");
  t.same(await state(), [{ target: inFile, source: ServiceSource.FILE, problems: [] }]);
});

t.test("a target and a gRPC name that another service has are told", async (t) => {
  const mesh = await openMesh(t);
  const { put } = client(mesh);
  const target = await shopServer(t);
  await put(toPut("shop", [target]));
  const { problems } = await put(toPut("copy", [target], { dryRun: true }));
  t.match(problems, [/is a target of shop too/, /the gRPC name p\.Shop belongs to shop/]);
});

t.test("changes are in the audit trail, with the names of what changed and no value", async (t) => {
  const mesh = await openMesh(t);
  const { put, delete: remove } = client(mesh);
  const target = await shopServer(t);
  const credential = { name: "shop-key", header: "" };
  await put(toPut("shop", [target]));
  await put(toPut("shop", [target], { options: { ...noServiceOptions(), credential, maxMessage: 9 } }));
  await remove("shop");
  const { records } = await unary(
    mesh.inProcess,
    AuditService.list,
    { ...ALL_RECORDS, limit: 20, before: 0n },
    { metadata: mesh.admin },
  );
  const own = records.filter(({ action }) => action.startsWith("service "));
  t.same(
    own.map(({ actor, action, subject }) => [actor, action, subject]),
    [
      ["admin", "service removed", "shop"],
      ["admin", "service changed", "shop: credential, maxMessage"],
      ["admin", "service added", "shop"],
    ],
  );
});

for (const [title, store] of [
  ["in memory", async () => openMemoryStore()],
  ["in SQLite", (t: Test) => openStore("sqlite:", temporaryFolder(t))],
] as const) {
  t.test(`a restart keeps the services, ${title}`, async (t) => {
    const opened = await store(t);
    t.teardown(() => opened.close());
    const target = await shopServer(t);
    const dataFolder = t.testdir({});
    const first = await openMesh(t, { store: opened, dataFolder });
    const options = { ...noServiceOptions(), metadata: ["x-tenant"], callTime: { seconds: 120n, nanos: 0 } };
    await client(first).put(toPut("shop", [target], { options }));
    const before = await client(first).list();
    await first.close();
    const second = await openMesh(t, { store: opened, dataFolder });
    await second.registry.tried();
    t.same(await client(second).list(), before);
  });
}

t.test("an address at which this process listens is refused", async (t) => {
  const mesh = await openMesh(t, { isOwn: (target) => "port" in target && target.port === 8080 });
  const { put, list } = client(mesh);
  await t.rejects(put(toPut("shop", ["127.0.0.1:8080"])), {
    code: Code.INVALID_ARGUMENT,
    message: /127\.0\.0\.1:8080 is a port of Portico itself/,
  });
  t.same(await list(), []);
});

t.test("a gRPC port of another Portico is recognized by its contract", async (t) => {
  const other = await openMesh(t);
  const mesh = await openMesh(t);
  const target = formatAddress(other.address);
  await t.rejects(client(mesh).put(toPut("shop", [target])), {
    code: Code.INVALID_ARGUMENT,
    message: `service.targets: ${target} is a port of Portico itself, so calls would go in a circle; name the service's own port`,
  });
});

t.test("a target that is no gRPC server is named in one line", async (t) => {
  const server = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await until(() => server.listening);
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const mesh = await openMesh(t);
  const { error } = await client(mesh).put(toPut("shop", [target], { dryRun: true }));
  t.match(error, new RegExp(`^${target} cannot be reached \\(.+\\); start it, or`));
  t.notMatch(error, /\n/);
});

const options = (some: Partial<ServiceOptions>): ServiceOptions => ({ ...noServiceOptions(), ...some });
const source = `syntax = "proto3"; import "other.proto"; package p; message M {} service Shop { rpc None(M) returns (other.O); }`;
const both = { "shop.proto": source, "other.proto": `syntax = "proto3"; package other; message O {}` };
const whole = compile(join(t.testdir({}), "protos"), both);
/** The set without the file that shop.proto imports. */
const lacking = Buffer.from(whole.subarray(whole.length - lastFileLength(whole)));

/** The length of the last file in a set, with its tag and length. */
function lastFileLength(set: Buffer): number {
  let at = 0;
  let last = 0;
  while (at < set.length) {
    let [length, shift, next] = [0, 0, at + 1];
    for (; set[next]! >= 128; next += 1, shift += 7) length += (set[next]! & 127) << shift;
    length += set[next]! << shift;
    last = next + 1 + length - at;
    at = next + 1 + length;
  }
  return last;
}

const REFUSED: [what: string, request: PutServiceRequest, message: RegExp][] = [
  ["no service", { ...toPut("shop", []), service: undefined }, /^service: must be given/],
  ["a name that is none", toPut("Shop!", ["a:1"]), /^service\.name: .*must be 1 to 63/],
  ["a reserved name", toPut("auth", ["a:1"]), /^service\.name: .*"auth" is reserved/],
  ["no target", toPut("shop", []), /^service\.targets: must be 1 to 100/],
  ["what is no address", toPut("shop", ["a:1", "nowhere"]), /^service\.targets\[1\]\.address: must be host:port/],
  [
    "a target that is there twice",
    toPut("shop", ["a:1", "a:1"]),
    /^service\.targets\[1\]\.address: a:1 is there twice/,
  ],
  [
    "metadata that never passes",
    toPut("shop", ["a:1"], { options: options({ metadata: ["cookie"] }) }),
    /^service\.options\.metadata: /,
  ],
  [
    "a prefix that is no path",
    toPut("shop", ["a:1"], { options: options({ bindingPrefix: "api" }) }),
    /^service\.options\.binding_prefix: must be a path/,
  ],
  [
    "a credential with a folder",
    toPut("shop", ["a:1"], { options: options({ credential: { name: "../x", header: "" } }) }),
    /^service\.options\.credential\.name: must be the name of a file/,
  ],
  [
    "a certificate without a key",
    toPut("shop", ["a:1"], { options: options({ tls: { ca: "", cert: "c.pem", key: "", serverName: "" } }) }),
    /^service\.options: cert and key belong together/,
  ],
  [
    "a time that is too long",
    toPut("shop", ["a:1"], { options: options({ callTime: { seconds: 3_601n, nanos: 0 } }) }),
    /^service\.options\.call_time: /,
  ],
  [
    "a message that is too large",
    toPut("shop", ["a:1"], { options: options({ maxMessage: 2 ** 30 }) }),
    /^service\.options\.max_message: /,
  ],
  [
    "a status that is none",
    toPut("shop", ["a:1"], { options: options({ statuses: [{ first: 1, last: 1, status: 99 }] }) }),
    /^service\.options\.statuses: /,
  ],
  [
    "an unknown form of names",
    toPut("shop", ["a:1"], { options: options({ jsonNames: 7 as never }) }),
    /^service\.options\.json_names: has a value that this version does not know/,
  ],
  [
    "HTTP rules of 300 KiB",
    toPut("shop", ["a:1"], { options: options({ httpRules: "#".repeat(300 * 1024) }) }),
    /^service\.options\.http_rules: must be at most 256 KiB/,
  ],
  [
    "files for TLS, without a target that has it",
    toPut("shop", ["a:1"], { options: options({ tls: { ca: "ca.pem", cert: "", key: "", serverName: "" } }) }),
    /^service\.options\.tls: .*no target has it/,
  ],
  [
    "descriptors of more than 1 MiB",
    toPut("shop", ["a:1"], { descriptors: Buffer.alloc(1024 ** 2 + 1) }),
    /^service\.descriptors: are 1048577 bytes; at most 1048576/,
  ],
  [
    "bytes that are no descriptors",
    toPut("shop", ["a:1"], { descriptors: Buffer.from("nonsense") }),
    /^service\.descriptors: .*no usable google\.protobuf\.FileDescriptorSet/,
  ],
  [
    "descriptors that lack an import",
    toPut("shop", ["a:1"], { descriptors: lacking }),
    /^service\.descriptors: .*descriptors lack other\.proto, which shop\.proto imports/,
  ],
];
t.test("what is wrong is refused with the field, and nothing is added", async (t) => {
  const mesh = await openMesh(t);
  const { put, list } = client(mesh);
  for (const [what, request, message] of REFUSED)
    for (const dryRun of [true, false])
      await t.rejects(put({ ...request, dryRun }), { code: Code.INVALID_ARGUMENT, message }, what);
  const weighted = toPut("shop", []);
  weighted.service!.targets = [{ address: "a:1", weight: 1_001 }];
  await t.rejects(put(weighted), {
    code: Code.INVALID_ARGUMENT,
    message: /^service\.targets\[0\]\.weight: must be 1 to 1000/,
  });
  const twice = toPut("shop", [await shopServer(t)], { create: true });
  t.same(await list(), []);
  await put(twice);
  await t.rejects(put(twice), { code: Code.ALREADY_EXISTS });
});

t.test("a configuration that is applied adds nothing that would be refused", async (t) => {
  const mesh = await openMesh(t, { isOwn: (target) => "port" in target && target.port === 8080 });
  const { list } = client(mesh);
  const apply = ({ service }: PutServiceRequest) => {
    const listed = { services: [toPut("good", ["b:1"]).service!, service!] };
    const none = { rules: undefined, limits: undefined, accounts: undefined, issuers: undefined, trusts: undefined };
    const configuration = { ...none, services: listed };
    const request = { configuration, prune: false, etag: "" };
    return unary(mesh.inProcess, ConfigurationsService.apply, request, { metadata: mesh.admin });
  };
  const alien = await shopServer(t, "grpc.health.x.Other", "portico.shop.Shop");
  const cases: typeof REFUSED = [
    ...REFUSED.filter(([, { service }]) => service !== undefined),
    ["a port of its own", toPut("shop", ["127.0.0.1:8080"]), /^service\.targets: .*is a port of Portico itself/],
    ["a contract that cannot be served", toPut("shop", [alien]), /portico\.shop\.Shop/],
  ];
  for (const [what, request, { source }] of cases) {
    const message = new RegExp(source.replace("^service", "^services\\[1\\]"));
    await t.rejects(apply(request), { code: Code.INVALID_ARGUMENT, message }, what);
  }
  t.same(await list(), []);
  await apply(toPut("shop", [await shopServer(t)]));
  t.same((await list()).map(({ service }) => service?.name).sort(), ["good", "shop"], "also if no server responds");
});

/** HTTP rules without a rule, of this many bytes. */
const rulesOf = (bytes: number): string => "http: {rules: []}\n".padEnd(bytes, "#");

t.test("HTTP rules of 256 KiB and descriptors of 1 MiB are accepted, and one byte more is not", async (t) => {
  const mesh = await openMesh(t);
  const { put, list } = client(mesh);
  const rules = (bytes: number) => toPut("rules", ["127.0.0.1:1"], { options: options({ httpRules: rulesOf(bytes) }) });
  const set = (bytes: number) => toPut("set", ["127.0.0.1:1"], { descriptors: descriptorsOf(bytes) });
  await t.rejects(put(rules(256 * 1024 + 1)), { message: /http_rules: must be at most 256 KiB/ });
  await t.rejects(put(set(1024 ** 2 + 1)), { message: /descriptors: are 1048577 bytes; at most 1048576/ });
  t.same(await list(), []);
  await put(rules(256 * 1024));
  t.match(await put(set(1024 ** 2)), { error: "", endpoints: [{ path: "/v1/set/Call" }] });
});

/** The contract of p.Shop, with a comment that fills it up to this many bytes. */
function descriptorsOf(bytes: number): Buffer {
  const shop = declaring("p.Shop");
  // Another file, which has a name only. Before each length of four bytes is a tag.
  const name = "x".repeat(bytes - shop.length - 10);
  const length = (size: number) =>
    Buffer.of((size & 127) | 128, ((size >> 7) & 127) | 128, ((size >> 14) & 127) | 128, size >> 21);
  const file = Buffer.concat([Buffer.of(0x0a), length(name.length), Buffer.from(name)]);
  return Buffer.concat([shop, Buffer.of(0x0a), length(file.length), file]);
}

t.test("a dry run is refused as the change would be if the log is full", async (t) => {
  const mesh = await openMesh(t);
  const { put, list } = client(mesh);
  const request = (name: string) =>
    toPut(name, ["127.0.0.1:1"], { options: options({ httpRules: rulesOf(256 * 1024) }), descriptors: LIBRARY });
  const names = Array.from({ length: 7 }, (_, index) => `s${index}`);
  for (const name of names) await put(request(name));
  const full = { code: Code.RESOURCE_EXHAUSTED, message: /at most 2 MiB of options and HTTP rules/ };
  for (const dryRun of [true, false]) await t.rejects(put({ ...request("more"), dryRun }), full);
  t.same((await list()).map(({ service }) => service?.name).sort(), names);
});

t.test("HTTP rules that cannot be used are refused also if the server does not respond", async (t) => {
  const mesh = await openMesh(t);
  const { put, list } = client(mesh);
  const target = `127.0.0.1:${await freePort()}`;
  const faulty = toPut("shop", [target], { options: options({ httpRules: "http: [" }) });
  await t.rejects(put(faulty), { code: Code.INVALID_ARGUMENT, message: /^service\.options\.http_rules: .*no YAML/ });
  t.same(await list(), []);
});

t.test("a contract that Portico cannot serve is refused, and nothing is added", async (t) => {
  const mesh = await openMesh(t);
  const target = await shopServer(t, "grpc.health.x.Other", "portico.shop.Shop");
  await t.rejects(client(mesh).put(toPut("shop", [target])), {
    code: Code.INVALID_ARGUMENT,
    message: /portico\.shop\.Shop/,
  });
  t.same(await client(mesh).list(), []);
});

t.test("instances that were rejected are listed until they register", async (t) => {
  const mesh = await openMesh(t);
  const listed = async () => {
    const { rejected } = await unary(mesh.inProcess, ServicesService.list, {}, { metadata: mesh.admin });
    return rejected.map(({ service, id, error }) => [service, id, error]);
  };
  const register = async (metadata: Metadata, instance: Instance) => {
    const call = stream(mesh.inProcess, RegistryService.register, { metadata });
    call.send({ instance });
    await call.responses[Symbol.asyncIterator]().next();
    t.teardown(() => call.cancel());
  };
  const enrolment = await mesh.enrol("greeter");
  const good = greeter({ id: "one" });
  await t.rejects(register(enrolment, { ...good, service: "other" }), { code: Code.PERMISSION_DENIED });
  t.same(await listed(), [], "who may not register the service is not remembered");
  await t.rejects(register(enrolment, { ...good, descriptors: Buffer.from("x") }), { code: Code.INVALID_ARGUMENT });
  t.match(await listed(), [["greeter", "one", /descriptors/]]);
  await register(enrolment, good);
  t.same(await listed(), []);
});
