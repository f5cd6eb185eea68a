// SpiceDB behind Portico, which shows it the key: clients of its HTTP and gRPC API change their key only.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { goProgram, goPrograms } from "../outside/tools.js";
import { FULL } from "../support/full.js";
import { freePort } from "../support/ports.js";
import { administrator } from "../support/process.js";
import { type Case, compare, porticoFor, ROUTING, type Side, serve } from "./compare.js";

/** SpiceDB needs minutes to build. */
t.setTimeout(1_500_000);

const programs = FULL ? goPrograms({ spicedb: "github.com/authzed/spicedb/cmd/spicedb@v1.56.2" }) : undefined;
const grpcurl = FULL ? goProgram("github.com/fullstorydev/grpcurl/cmd/grpcurl", "v1.9.4") : undefined;

/** SpiceDB's own key. Clients of Portico never have it. */
const KEY = "spicedb-preshared-key";

const SCHEMA = `
  definition user {}
  definition document {
    relation owner: user
    relation viewer: user
    permission view = viewer + owner
  }`;
const object = (text: string) => {
  const [objectType = "", objectId = ""] = text.split(":");
  return { objectType, objectId };
};
const relationship = (resource: string, relation: string, subject: string) => ({
  resource: object(resource),
  relation,
  subject: { object: object(subject) },
});
const write = (operation: string, ...triple: Parameters<typeof relationship>) => ({
  updates: [{ operation: `OPERATION_${operation}`, relationship: relationship(...triple) }],
});
const check = (resource: string, permission: string, subject: string) => ({
  resource: object(resource),
  permission,
  subject: { object: object(subject) },
});
const consistency = { fullyConsistent: true };
const [ada, eve, plans] = ["user:ada", "user:eve", "document:plans"];
const post = (path: string, body: unknown = {}, more: Partial<Case> = {}): Case => ({
  http: `POST /v1/${path}`,
  body,
  ...more,
});

const REST: readonly Case[] = [
  post("schema/read"),
  post("schema/write", { schema: "definition {" }),
  post("schema/write", {}),
  post("schema/write", { schema: SCHEMA }),
  post("schema/read"),
  post("schema/reflectschema"),
  post("schema/diffschema", { comparisonSchema: "definition user {}" }),
  post("schema/permissions/computable", { definitionName: "document", relationName: "owner" }),
  post("relationships/write", write("CREATE", plans, "owner", ada), { save: { written: "writtenAt.token" } }),
  post("relationships/write", write("CREATE", plans, "owner", ada)),
  post("relationships/write", write("TOUCH", plans, "viewer", eve)),
  post("relationships/write", write("TOUCH", plans, "absent", eve)),
  post("relationships/write", write("SIDEWAYS", plans, "viewer", eve)),
  post("relationships/write", { updates: [{ operation: 2, relationship: relationship(plans, "viewer", "user:bob") }] }),
  post("relationships/write", { updates: [] }),
  post("relationships/write", "{"),
  post("permissions/check", { consistency, ...check(plans, "view", ada) }),
  post("permissions/check", { consistency, ...check(plans, "view", "user:absent") }),
  post("permissions/check", { consistency, ...check(plans, "absent", ada) }),
  post("permissions/check", { consistency, ...check("absent:x", "view", ada) }),
  post(
    "permissions/check",
    { consistency, ...check(plans, "view", ada), withTracing: true },
    {
      differs: { reason: "traces name processes and times", members: ["body.debugTrace"] },
    },
  ),
  post("permissions/check", { consistency: { atLeastAsFresh: { token: "{written}" } }, ...check(plans, "view", ada) }),
  post("permissions/check", { consistency: { atLeastAsFresh: { token: "nonsense" } }, ...check(plans, "view", ada) }),
  post("permissions/check", { absent: 1, consistency, ...check(plans, "view", ada) }),
  post("permissions/check"),
  post("permissions/checkbulk", {
    consistency,
    items: [check(plans, "view", ada), check(plans, "absent", ada)],
  }),
  post("permissions/expand", { consistency, resource: object(plans), permission: "view" }),
  post("permissions/resources", {
    ...{ consistency, resourceObjectType: "document", permission: "view", subject: { object: object(ada) } },
  }),
  post("permissions/resources", {
    ...{ consistency, resourceObjectType: "absent", permission: "view", subject: { object: object(ada) } },
  }),
  post("permissions/subjects", {
    ...{ consistency, resource: object(plans), permission: "owner", subjectObjectType: "user" },
  }),
  post("relationships/read", {
    consistency,
    relationshipFilter: { resourceType: "document", optionalRelation: "owner" },
  }),
  post("relationships/read", { consistency, relationshipFilter: { resourceType: "absent" } }),
  post("relationships/exportbulk", { consistency, optionalLimit: 1 }, { lines: 1 }),
  post("relationships/importbulk", { relationships: [relationship("document:bulk", "owner", ada)] }),
  post("watch", { optionalStartCursor: { token: "{written}" } }, { lines: 1 }),
  post("watch", { optionalStartCursor: { token: "nonsense" } }),
  post("relationships/delete", { relationshipFilter: { resourceType: "document", optionalResourceId: "bulk" } }),
  post("relationships/delete", {}),
  { http: "GET /v1/schema/read", differs: ROUTING },
  post("schema/absent", {}, { differs: ROUTING }),
];

const call = (method: string, body: object): Case => ({
  command: ["-d", JSON.stringify(body), "{address}", `authzed.api.v1.${method}`],
});
const GRPC: readonly Case[] = [
  call("SchemaService/ReadSchema", {}),
  call("SchemaService/WriteSchema", { schema: "definition {" }),
  call("PermissionsService/WriteRelationships", write("CREATE", plans, "owner", ada)),
  call("PermissionsService/WriteRelationships", write("TOUCH", plans, "viewer", "user:grpc")),
  call("PermissionsService/CheckPermission", { consistency, ...check(plans, "view", "user:grpc") }),
  call("PermissionsService/LookupSubjects", {
    ...{ consistency, resource: object(plans), permission: "owner", subjectObjectType: "user" },
  }),
  call("PermissionsService/ReadRelationships", { consistency, relationshipFilter: { resourceType: "absent" } }),
  call("PermissionsService/ImportBulkRelationships", { relationships: [relationship("document:b", "owner", ada)] }),
  { command: ["{address}", "list", "authzed.api.v1.PermissionsService"] },
];

/** Tokens, which contain a process's revisions and hashes, and times. */
const normalize = (output: string): string =>
  output
    .replaceAll(/"(token|cursor|requestId)":(\s*)"[^"]+"/g, '"$1":$2"<token>"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");

t.test("SpiceDB", { skip: skipped() }, async (t) => {
  const [own, behind] = [await serveSpiceDb(t), await serveSpiceDb(t)];
  const folder = t.testdir();
  const credentials = join(folder, "portico", "credentials");
  mkdirSync(credentials, { recursive: true });
  writeFileSync(join(credentials, "spicedb"), KEY, { mode: 0o600 });
  writeFileSync(join(credentials, "spicedb.targets"), "127.0.0.1\n");
  const service = { name: "spicedb", target: behind.grpc, credential: "spicedb" };
  const { url, data } = await porticoFor(t, folder, { ...service, rest: "grpc-gateway", unknown: "ignore" });
  const side = (url: string, address: string, authorization: string): Side => ({
    ...{ url, address, headers: { authorization } },
    client: [grpcurl!, "-plaintext", "-H", `authorization: ${authorization}`],
  });
  const { authorization } = await administrator(url, data);
  const sides = {
    own: side(own.http, own.grpc, `Bearer ${KEY}`),
    portico: side(url, new URL(url).host, authorization),
  };
  await t.test("its HTTP API", (t) => compare(t, REST, sides, normalize));
  await t.test("its gRPC API", (t) => compare(t, GRPC, sides, normalize));
});

async function serveSpiceDb(t: Test): Promise<{ readonly http: string; readonly grpc: string }> {
  const [http, grpc] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const ports = ["--http-enabled", `--http-addr=${http}`, `--grpc-addr=${grpc}`, "--metrics-enabled=false"];
  const options = [
    `--grpc-preshared-key=${KEY}`,
    "--datastore-engine=memory",
    "--telemetry-endpoint=",
    "--log-level=error",
  ];
  await serve(t, join(programs!, "spicedb"), ["serve", ...ports, ...options], `http://${http}/healthz`);
  return { http: `http://${http}`, grpc };
}

function skipped(): string | false {
  if (!FULL) return "TEST_FULL is not set";
  return (programs === undefined || grpcurl === undefined) && "there is no Go here";
}
