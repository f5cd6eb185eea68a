// gRPC reflection at the HTTP port shows each caller what it may call, by the rules at the time of
// each request.
import { create, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t, { type Test } from "tap";
import type { Metadata } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { until } from "../../support/until.js";
import { ADMIN_PASSWORD, login, post } from "../deployment.js";
import { createRule, deleteRule, logLine, scene } from "../dialects/json/streams/client.js";
import { bearer, channelOf, file, Reflection, symbol } from "./grpc-client.js";

const OWN = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];
/** The gRPC services with an endpoint that everyone may call, whatever the rules are. */
const SELF_GOVERNED = ["portico.auth.v1.Auth", "portico.registry.v1.Registry"];

const it = await scene(t);
const channel = channelOf(t, it);

function reflection(t: Test, metadata: Metadata = []): Reflection {
  const opened = new Reflection(channel, metadata);
  t.teardown(() => opened.close());
  return opened;
}

/** Denies a resource to everyone, until the test ends. */
async function deny(t: Test, id: string, resource: string, scope = "<public>"): Promise<void> {
  await createRule(it, { id, scope, access: "DENIED", priority: 20, resource });
  t.teardown(() => deleteRule(it, id));
}

async function account(name: string, ...scopes: string[]): Promise<string> {
  await post(it.handler, "/v1/auth/Accounts/Create", { name, password: ADMIN_PASSWORD, scopes }, it.admin);
  return login(it.handler, name);
}

t.test("a caller without a token sees what everyone may call", async (t) => {
  t.same(await reflection(t).services(), [
    "feed.Feed",
    ...OWN,
    "helloworld.Helloworld",
    ...SELF_GOVERNED,
    ...["probe.Closed", "probe.Members", "probe.Probe"],
  ]);
});

t.test("error details have types, whatever the contracts import", async (t) => {
  t.same(await reflection(t).files(symbol("google.rpc.ErrorInfo")), [
    "google/rpc/error_details.proto",
    "google/protobuf/duration.proto",
  ]);
});

t.test("a service without an endpoint that the caller may call is not shown", async (t) => {
  await deny(t, "no-feed", "service:feed:*");
  await deny(t, "no-closed", "service:probe:Closed.*");
  const asked = reflection(t);
  const listed = await asked.services();
  t.notOk(listed.includes("feed.Feed"));
  t.notOk(listed.includes("probe.Closed"));
  t.ok(listed.includes("probe.Probe"), "another gRPC service of the same file");
  const hidden = [
    symbol("feed.Feed"),
    symbol("feed.Tick"),
    file("test/gateway/dialects/json/streams/feed.proto"),
    file("feed.proto"),
    { $case: "allExtensionNumbersOfType", value: "feed.Tick" } as const,
    { $case: "fileContainingExtension", value: { containingType: "feed.Tick", extensionNumber: 1 } } as const,
  ];
  for (const question of hidden) t.equal(await asked.files(question), Code.NOT_FOUND, JSON.stringify(question));
  t.match(await asked.files(symbol("probe.Fields")), [/probe\.proto$/, "google/protobuf/timestamp.proto"]);
});

t.test("one endpoint that the caller may call shows its gRPC service", async (t) => {
  await deny(t, "no-count", "service:feed:Feed.Count");
  t.ok((await reflection(t).services()).includes("feed.Feed"));
});

t.test("an administrator sees every endpoint that has a path", async (t) => {
  await deny(t, "no-feed", "service:feed:*");
  const listed = await reflection(t, bearer(it.admin)).services();
  t.ok(listed.includes("feed.Feed"));
  t.ok(listed.includes("portico.auth.v1.Rules"));
  t.notOk(listed.includes("portico.auth.v1.Policy"), "which only gateways and services may call");
});

t.test("the rules of the namespace decide", async (t) => {
  const elsewhere = reflection(t, [["platform-namespace", "elsewhere"]]);
  t.same(await elsewhere.services(), [...OWN, ...SELF_GOVERNED], "no rule grants anything there");
});

t.test("a change of rules applies to an open stream", async (t) => {
  const asked = reflection(t);
  t.ok((await asked.services()).includes("feed.Feed"));
  await createRule(it, { id: "late", scope: "<public>", access: "DENIED", priority: 20, resource: "service:feed:*" });
  t.notOk((await asked.services()).includes("feed.Feed"));
  await deleteRule(it, "late");
  t.ok((await asked.services()).includes("feed.Feed"));
});

t.test("a scope that the caller loses no longer counts in an open stream", async (t) => {
  const token = await account("ann", "staff");
  await deny(t, "staff-only", "service:feed:*");
  const rule = { id: "staff", scope: "staff", access: "GRANTED", priority: 30, resource: "service:feed:*" };
  await createRule(it, rule);
  t.teardown(() => deleteRule(it, "staff"));
  const asked = reflection(t, bearer(token));
  t.ok((await asked.services()).includes("feed.Feed"));
  await post(it.handler, "/v1/auth/Accounts/SetScopes", { name: "ann", scopes: [] }, it.admin);
  t.notOk((await asked.services()).includes("feed.Feed"));
});

t.test("a stream ends with its token", async (t) => {
  const asked = reflection(t, bearer(await account("bob")));
  t.ok((await asked.services()).length > 0);
  await post(it.handler, "/v1/auth/Accounts/Delete", { name: "bob" }, it.admin);
  t.match(await asked.ended(), { code: Code.UNAUTHENTICATED });
});

t.test("a stream is logged like every stream", async (t) => {
  const asked = reflection(t);
  await asked.services();
  asked.close();
  const endpoint = "gateway:grpc.reflection.v1.ServerReflection.ServerReflectionInfo";
  t.match(await logLine(it, endpoint), { dialect: "grpc", method: "POST", namespace: "default" });
});

t.test("a name that is too long is not looked up, and not repeated", async (t) => {
  const asked = reflection(t);
  const long = "a.".repeat(10_000);
  for (const question of [symbol(long), file(long)]) {
    const response = await asked.ask(question);
    const error = response.$case === "errorResponse" ? response.value : undefined;
    t.equal(error?.errorCode, Code.NOT_FOUND);
    t.ok((error?.errorMessage.length ?? 0) < 2_000);
  }
});

/** A service whose file imports a file that another service has, too, with other contents. */
function withCommonFile(name: string): { service: string; descriptors: Buffer; grpcServices: string[] } {
  const type = { name: `Of${name}` };
  const method = { name: "Call", inputType: `.common.${type.name}`, outputType: `.common.${type.name}` };
  const set = create(FileDescriptorSetSchema, {
    file: [
      { name: "common.proto", package: "common", syntax: "proto3", messageType: [type] },
      {
        ...{ name: `${name}.proto`, package: name, syntax: "proto3", dependency: ["common.proto"] },
        service: [{ name: "Main", method: [method] }],
      },
    ],
  });
  return {
    service: name,
    descriptors: Buffer.from(toBinary(FileDescriptorSetSchema, set)),
    grpcServices: [`${name}.Main`],
  };
}

t.test("two services may have different files of the same name", async (t) => {
  const leave = ["shop", "crm"].map((name) => it.add(withCommonFile(name)));
  for (const each of leave) t.teardown(each);
  await until(() => ["shop", "crm"].every((name) => it.catalog.routes.targetsOf(name) !== undefined));
  const typesOf = async (...metadata: Metadata): Promise<string[]> => {
    const asked = reflection(t, metadata);
    const found = await Promise.all([symbol("common.Ofcrm"), symbol("common.Ofshop")].map((one) => asked.files(one)));
    return found.map((files) => `${files}`);
  };
  t.same(await typesOf(), ["common.proto", "common.proto"], "a type is found in the file that declares it");
  t.same(await typesOf(["portico-service", "crm"]), ["common.proto", `${Code.NOT_FOUND}`]);
  t.same(await typesOf(["portico-service", "shop"]), [`${Code.NOT_FOUND}`, "common.proto"]);

  const asked = reflection(t, [["portico-service", "shop"]]);
  t.same(await asked.services(), [...OWN, "shop.Main"]);
  const { messageTypes } = await asked.fileNamed("common.proto");
  t.same(messageTypes, ["Ofshop"], "the header says whose file is meant");
  t.same((await reflection(t).fileNamed("common.proto")).messageTypes, ["Ofcrm"], "else the first in the alphabet is");
  t.same(await reflection(t).files(symbol("shop.Main")), ["shop.proto", "common.proto"]);
});

/** A service that declares the gRPC service `pets.Pets` in a file of its own. */
function withPets(service: string): { service: string; descriptors: Buffer; grpcServices: string[] } {
  const type = { name: `Of${service}` };
  const method = { name: "Call", inputType: `.pets.${type.name}`, outputType: `.pets.${type.name}` };
  const declared = { messageType: [type], service: [{ name: "Pets", method: [method] }] };
  const file = { name: `${service}.proto`, package: "pets", syntax: "proto3", ...declared };
  const set = create(FileDescriptorSetSchema, { file: [file] });
  return { service, descriptors: Buffer.from(toBinary(FileDescriptorSetSchema, set)), grpcServices: ["pets.Pets"] };
}

t.test("a name that two services have leads to its owner's contract, even while the owner is away", async (t) => {
  const has = (service: string): boolean => it.catalog.routes.targetsOf(service) !== undefined;
  const leave = it.add(withPets("zoo"));
  await until(() => has("zoo"));
  // First in the alphabet, and second to join.
  t.teardown(it.add(withPets("ark")));
  await until(() => has("ark"));
  const filesOf = async (...metadata: Metadata) => `${await reflection(t, metadata).files(symbol("pets.Pets"))}`;
  t.equal(await filesOf(), "zoo.proto");
  t.equal(await filesOf(["portico-service", "ark"]), "ark.proto");
  t.equal(await reflection(t).files(symbol("pets.Ofark")), Code.NOT_FOUND);
  leave();
  await until(() => !has("zoo"));
  t.equal(await filesOf(), `${Code.NOT_FOUND}`);
  t.notOk((await reflection(t).services()).includes("pets.Pets"));
  t.equal(await filesOf(["portico-service", "ark"]), "ark.proto");
});
