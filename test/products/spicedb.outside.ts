// SpiceDB behind Portico: clients of its HTTP API show a token of Portico instead of SpiceDB's own,
// which Portico shows it. They find no other difference, except the reasons below.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { goProgram } from "../outside/tools.js";
import { FULL } from "../support/full.js";
import { freePort } from "../support/ports.js";
import { administrator } from "../support/process.js";
import { type Case, compare, type Difference, porticoFor, ROUTING, type Side, serve, WORDS } from "./compare.js";

/** SpiceDB needs many minutes to build. */
t.setTimeout(1_800_000);

const TOKEN = "the-token-of-spicedb";
const spicedb = FULL ? goProgram("github.com/authzed/spicedb/cmd/spicedb", "v1.56.2") : undefined;
const grpcurl = FULL ? goProgram("github.com/fullstorydev/grpcurl/cmd/grpcurl", "v1.9.4") : undefined;

const SCHEMA = `definition user {}
definition document {
  relation owner: user
  relation viewer: user | user:*
  permission view = viewer + owner
}`;

const post = (path: string, body: unknown = {}, more: Partial<Case> = {}): Case => ({
  http: `POST /v1/${path}`,
  body,
  ...more,
});
const object = (objectType: string, objectId: string) => ({ objectType, objectId });
const relationship = (id: string, relation: string, user: string) => ({
  resource: object("document", id),
  relation,
  subject: { object: object("user", user) },
});
const write = (operation: string, ...relationships: object[]) => ({
  updates: relationships.map((each) => ({ operation: `OPERATION_${operation}`, relationship: each })),
});
const check = (user: string, permission = "view", id = "plans") => ({
  consistency: { fullyConsistent: true },
  resource: object("document", id),
  permission,
  subject: { object: object("user", user) },
});
const consistency = { fullyConsistent: true };

const NO_MESSAGE: Difference = {
  reason: "its HTTP server sends no content type with a stream that has no messages",
  members: ["type"],
};

const REST: readonly Case[] = [
  post("schema/read"),
  post("schema/write", { schema: "definition {" }),
  post("schema/write", { schema: SCHEMA }),
  post("schema/read"),
  post("schema/write", "{", { differs: WORDS }),
  post("schema/write", { schema: 1 }, { differs: WORDS }),
  post("schema/write", { unknown: 1 }),
  post("schema/reflectschema", { consistency }),
  post("schema/diffschema", { consistency, comparisonSchema: "definition user {}" }),
  post("schema/permissions/computable", { consistency, definitionName: "document", relationName: "owner" }),
  post("schema/permissions/dependent", { consistency, definitionName: "document", permissionName: "view" }),
  post("relationships/write", write("CREATE", relationship("plans", "owner", "ada")), {
    save: { start: "writtenAt.token" },
  }),
  post("relationships/write", write("CREATE", relationship("plans", "owner", "ada"))),
  post("relationships/write", write("TOUCH", relationship("plans", "viewer", "eve"), relationship("a", "viewer", "*"))),
  post("relationships/write", write("CREATE", relationship("plans", "absent", "ada"))),
  post("relationships/write", write("CREATE", relationship("", "owner", "ada"))),
  post("relationships/write", write("SIDEWAYS", relationship("plans", "owner", "ada"))),
  post("relationships/write", {
    ...write("TOUCH", relationship("plans", "owner", "bob")),
    optional_preconditions: [{ operation: "OPERATION_MUST_MATCH", filter: { resource_type: "document" } }],
  }),
  post("relationships/read", { consistency, relationshipFilter: { resourceType: "document" } }),
  post("relationships/read", { consistency, relationshipFilter: { resourceType: "absent" } }),
  post("relationships/read", { consistency, relationshipFilter: { resourceType: "document" }, optionalLimit: 1 }),
  post("relationships/exportbulk", { consistency }, { differs: NO_MESSAGE }),
  post("permissions/check", check("ada")),
  post("permissions/check", check("nobody")),
  post("permissions/check", check("ada", "absent")),
  post("permissions/check", check("ada", "")),
  post("permissions/check", { ...check("ada"), consistency: { atLeastAsFresh: { token: "none" } } }),
  post("permissions/check?permission=view", check("ada")),
  post("permissions/checkbulk", { consistency, items: [check("ada"), check("eve"), check("ada", "absent")] }),
  post("permissions/checkbulk", {
    consistency,
    items: [check("ada"), check("ada", "absent")].map(({ consistency: _, ...item }) => item),
  }),
  post("permissions/expand", { consistency, resource: object("document", "plans"), permission: "view" }),
  post("permissions/resources", {
    ...{ consistency, resourceObjectType: "document", permission: "view" },
    subject: { object: object("user", "ada") },
  }),
  post("permissions/subjects", {
    ...{ consistency, resource: object("document", "plans"), permission: "view", subjectObjectType: "user" },
  }),
  post("watch", { optionalStartCursor: { token: "{start}" } }, { lines: 1 }),
  post("watch", { optionalStartCursor: { token: "none" } }),
  post("relationships/delete", { relationshipFilter: { resourceType: "document", optionalResourceId: "a" } }),
  post("relationships/delete", { relationshipFilter: { resourceType: "absent" } }),
  post("relationships/delete", { relationshipFilter: {} }),
  post("permissions/absent", {}, { differs: ROUTING }),
  { http: "GET /v1/permissions/check", differs: ROUTING },
];

const call = (method: string, body: object): Case => ({
  command: ["-d", JSON.stringify(body), "{address}", `authzed.api.v1.${method}`],
});
const GRPC: readonly Case[] = [
  call("SchemaService/ReadSchema", {}),
  call("PermissionsService/CheckPermission", check("ada")),
  call("PermissionsService/CheckPermission", check("ada", "absent")),
  call("PermissionsService/ReadRelationships", { consistency, relationshipFilter: { resourceType: "document" } }),
  call("PermissionsService/LookupSubjects", {
    ...{ consistency, resource: object("document", "plans"), permission: "view", subjectObjectType: "user" },
  }),
  call("PermissionsService/WriteRelationships", write("CREATE", relationship("plans", "owner", "ada"))),
];

/** Tokens of a revision, and times, which each process generates. */
const normalize = (output: string): string =>
  output.replaceAll(/"token":\s*"[^"]*"/g, '"token":"<token>"').replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");

t.test("SpiceDB", { skip: skipped() }, async (t) => {
  const [own, behind] = [await serveSpiceDb(t), await serveSpiceDb(t)];
  const folder = t.testdir();
  showTo(join(folder, "portico", "credentials"), behind.grpc);
  const { url, data } = await porticoFor(t, folder, {
    ...{ name: "spicedb", target: behind.grpc, credential: "spicedb" },
    ...{ unknown: "ignore", rest: "grpc-gateway" },
  });
  const side = (url: string, address: string, authorization: string): Side => {
    const client = [grpcurl!, "-plaintext", "-H", `authorization: ${authorization}`];
    return { url, headers: { authorization }, client, address };
  };
  const { authorization } = await administrator(url, data);
  const sides = {
    own: side(own.http, own.grpc, `Bearer ${TOKEN}`),
    portico: side(url, new URL(url).host, authorization),
  };
  await t.test("its HTTP API", (t) => compare(t, REST, sides, normalize));
  await t.test("its gRPC API", (t) => compare(t, GRPC, sides, normalize));
});

/** Puts the token into Portico's folder of credentials, for one target. */
function showTo(folder: string, target: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "spicedb"), TOKEN, { mode: 0o600 });
  writeFileSync(join(folder, "spicedb.targets"), `${target}\n`, { mode: 0o600 });
}

async function serveSpiceDb(t: Test): Promise<{ readonly http: string; readonly grpc: string }> {
  const [http, grpc] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const args = ["serve", "--grpc-preshared-key", TOKEN, "--grpc-addr", grpc, "--http-enabled", "--http-addr", http];
  const off = ["--telemetry-endpoint=", "--metrics-enabled=false", "--dispatch-cluster-enabled=false"];
  const program = [...args, ...off, "--skip-release-check", "--log-level=error"];
  await serve(t, spicedb!, program, `http://${http}/healthz`);
  return { http: `http://${http}`, grpc };
}

function skipped(): string | false {
  if (!FULL) return "TEST_FULL is not set";
  return (spicedb === undefined || grpcurl === undefined) && "there is no Go here";
}
