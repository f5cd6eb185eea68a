// OpenFGA behind Portico: clients of its HTTP API find no difference, except the reasons below.
import t, { type Test } from "tap";
import { goProgram } from "../outside/tools.js";
import { FULL } from "../support/full.js";
import { freePort } from "../support/ports.js";
import { type Case, compare, type Difference, porticoFor, ROUTING, type Side, serve, WORDS } from "./compare.js";

/** OpenFGA needs minutes to build. */
t.setTimeout(900_000);

const openfga = FULL ? goProgram("github.com/openfga/openfga/cmd/openfga", "v1.18.0") : undefined;
const grpcurl = FULL ? goProgram("github.com/fullstorydev/grpcurl/cmd/grpcurl", "v1.9.4") : undefined;

/** OpenFGA's HTTP server replaces the error handler of grpc-gateway: it writes names of codes. */
const CODE_NAMES: Difference = {
  reason: "OpenFGA's HTTP server writes the name of its code instead of the number, and no details",
  members: ["body.code", "body.details"],
};

const NAMES_AND_WORDS: Difference = {
  reason: `${WORDS.reason}; and ${CODE_NAMES.reason}`,
  members: [...CODE_NAMES.members, ...WORDS.members],
};

/** OpenFGA's HTTP server cuts what is before `| caused by:` from messages. */
const SHORTENED: Difference = {
  reason: "OpenFGA's HTTP server shortens the message",
  members: [...CODE_NAMES.members, "body.message"],
};

const NO_TYPE: Difference = { reason: "a response 204 has no content type", members: ["type"] };

const MODEL = {
  schema_version: "1.1",
  type_definitions: [
    { type: "user" },
    {
      type: "document",
      relations: {
        owner: { this: {} },
        viewer: { union: { child: [{ this: {} }, { computedUserset: { relation: "owner" } }] } },
      },
      metadata: {
        relations: {
          owner: { directly_related_user_types: [{ type: "user" }] },
          viewer: { directly_related_user_types: [{ type: "user" }, { type: "user", wildcard: {} }] },
        },
      },
    },
  ],
};
const tuple = (user: string, relation: string, object: string) => ({ user, relation, object });
const [ada, eve, plans] = ["user:ada", "user:eve", "document:plans"];
const ABSENT = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

const REST: readonly Case[] = [
  { http: "GET /stores" },
  { http: "POST /stores", body: { name: "demo" }, save: { store: "id" } },
  { http: "POST /stores", body: { name: "demo", unknown: true } },
  { http: "POST /stores", body: { name: "x" }, differs: CODE_NAMES },
  { http: "POST /stores", body: "{", differs: NAMES_AND_WORDS },
  { http: "POST /stores", body: {}, differs: CODE_NAMES },
  { http: "GET /stores?page_size=1" },
  { http: "GET /stores?pageSize=1" },
  { http: "GET /stores?page_size=1000", differs: CODE_NAMES },
  { http: "GET /stores?page_size=a", differs: NAMES_AND_WORDS },
  { http: "GET /stores?absent=1" },
  { http: "GET /stores/{store}" },
  { http: `GET /stores/${ABSENT}`, differs: CODE_NAMES },
  { http: "GET /stores/short", differs: CODE_NAMES },
  { http: "POST /stores/{store}/check", body: { tuple_key: tuple(ada, "viewer", plans) }, differs: CODE_NAMES },
  { http: "POST /stores/{store}/authorization-models", body: MODEL, save: { model: "authorization_model_id" } },
  { http: "POST /stores/{store}/authorization-models", body: { schema_version: "1.1" }, differs: CODE_NAMES },
  {
    http: "POST /stores/{store}/authorization-models",
    body: { ...MODEL, type_definitions: [{ type: "a", relations: { b: { computedUserset: { relation: "c" } } } }] },
    differs: CODE_NAMES,
  },
  { http: "GET /stores/{store}/authorization-models" },
  { http: "GET /stores/{store}/authorization-models/{model}" },
  { http: `GET /stores/{store}/authorization-models/${ABSENT}`, differs: CODE_NAMES },
  { http: "POST /stores/{store}/write", body: { writes: { tuple_keys: [tuple(ada, "owner", plans)] } } },
  {
    http: "POST /stores/{store}/write",
    body: { writes: { tuple_keys: [tuple(ada, "owner", plans)] } },
    differs: CODE_NAMES,
  },
  {
    http: "POST /stores/{store}/write",
    body: { writes: { tuple_keys: [tuple(eve, "absent", plans)] } },
    differs: CODE_NAMES,
  },
  {
    http: "POST /stores/{store}/write",
    body: {
      authorization_model_id: "{model}",
      writes: { tuple_keys: [tuple(eve, "viewer", plans), tuple("user:*", "viewer", "document:open")] },
    },
  },
  { http: "POST /stores/{store}/check", body: { tuple_key: tuple(ada, "viewer", plans) } },
  { http: "POST /stores/{store}/check", body: { tuple_key: tuple("user:bob", "viewer", plans) } },
  {
    http: "POST /stores/{store}/check",
    body: { tuple_key: tuple("user:bob", "viewer", "document:open"), trace: true },
  },
  { http: "POST /stores/{store}/check", body: { tuple_key: tuple(ada, "absent", plans) }, differs: CODE_NAMES },
  { http: "POST /stores/{store}/check", body: { tuple_key: { user: ada } }, differs: SHORTENED },
  {
    http: "POST /stores/{store}/check",
    body: {
      tuple_key: tuple("user:bob", "viewer", plans),
      contextual_tuples: { tuple_keys: [tuple("user:bob", "owner", plans)] },
    },
  },
  {
    http: "POST /stores/{store}/batch-check",
    body: {
      checks: [
        { tuple_key: tuple(ada, "owner", plans), correlation_id: "a" },
        { tuple_key: tuple(eve, "owner", plans), correlation_id: "b" },
        { tuple_key: tuple(eve, "absent", plans), correlation_id: "c" },
      ],
    },
  },
  { http: "POST /stores/{store}/read", body: {} },
  { http: "POST /stores/{store}/read", body: { page_size: 1 } },
  { http: "POST /stores/{store}/read", body: { tuple_key: { object: "document:" } }, differs: CODE_NAMES },
  { http: "POST /stores/{store}/expand", body: { tuple_key: { relation: "viewer", object: plans } } },
  { http: "POST /stores/{store}/list-objects", body: { type: "document", relation: "viewer", user: "user:bob" } },
  {
    http: "POST /stores/{store}/list-objects",
    body: { type: "absent", relation: "viewer", user: ada },
    differs: CODE_NAMES,
  },
  { http: "POST /stores/{store}/streamed-list-objects", body: { type: "document", relation: "owner", user: ada } },
  {
    http: "POST /stores/{store}/streamed-list-objects",
    body: { type: "absent", relation: "viewer", user: ada },
    differs: { reason: CODE_NAMES.reason, members: ["body.error.code"] },
  },
  {
    http: "POST /stores/{store}/list-users",
    body: { object: { type: "document", id: "plans" }, relation: "owner", user_filters: [{ type: "user" }] },
  },
  {
    http: "PUT /stores/{store}/assertions/{model}",
    body: { assertions: [{ tuple_key: tuple(ada, "viewer", plans), expectation: true }] },
    differs: NO_TYPE,
  },
  { http: "GET /stores/{store}/assertions/{model}" },
  { http: "GET /stores/{store}/changes" },
  { http: "GET /stores/{store}/changes?type=document&page_size=1" },
  { http: "GET /stores/{store}/changes?type=absent" },
  { http: "POST /stores/{store}/write", body: { deletes: { tuple_keys: [tuple(ada, "owner", plans)] } } },
  {
    http: "POST /stores/{store}/write",
    body: { deletes: { tuple_keys: [tuple(ada, "owner", plans)] } },
    differs: CODE_NAMES,
  },
  { http: "POST /stores/{store}/write", body: {}, differs: CODE_NAMES },
  { http: "DELETE /stores/{store}", differs: NO_TYPE },
  { http: "DELETE /stores/{store}", differs: NO_TYPE },
  { http: "PUT /stores/{store}", differs: ROUTING },
  { http: "GET /absent", differs: ROUTING },
];

const call = (method: string, body: object, save: Record<string, string> = {}): Case => ({
  command: ["-d", JSON.stringify(body), "{address}", `openfga.v1.OpenFGAService/${method}`],
  save,
});
const GRPC: readonly Case[] = [
  call("CreateStore", { name: "by-grpc" }, { grpcStore: "id" }),
  call("CreateStore", { name: "x" }),
  call("GetStore", { storeId: ABSENT }),
  call("GetStore", { storeId: "{grpcStore}" }),
  call("Check", { storeId: "{grpcStore}", tupleKey: tuple(ada, "viewer", plans) }),
  call("WriteAuthorizationModel", {
    storeId: "{grpcStore}",
    schemaVersion: "1.1",
    typeDefinitions: [{ type: "user" }],
  }),
  call("StreamedListObjects", { storeId: "{grpcStore}", type: "absent", relation: "viewer", user: ada }),
  { command: ["{address}", "openfga.v1.OpenFGAService/Absent"] },
];

/** IDs, times and tokens, which each process generates. */
const normalize = (output: string): string =>
  output
    .replaceAll(/\b01[0-9A-HJKMNP-TV-Z]{24}\b/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/"(continuation_token)":\s*"[^"]+"/g, '"$1":"<token>"');

t.test("OpenFGA", { skip: skipped() }, async (t) => {
  const [own, behind] = [await serveOpenFga(t), await serveOpenFga(t)];
  const { url } = await porticoFor(t, t.testdir(), {
    ...{ name: "openfga", target: behind.grpc, unknown: "ignore", rest: "grpc-gateway" },
    statusMetadata: "x-http-code",
    status: ["1000-1999=401", "2000-2999=400", "3000-3999=422", "4000-4999=500", "5000-5999=404"],
  });
  const side = (url: string, address: string): Side => ({ url, client: [grpcurl!, "-plaintext"], address });
  const sides = { own: side(own.http, own.grpc), portico: side(url, new URL(url).host) };
  await t.test("its HTTP API", (t) => compare(t, REST, sides, normalize));
  await t.test("its gRPC API", (t) => compare(t, GRPC, sides, normalize));
});

async function serveOpenFga(t: Test): Promise<{ readonly http: string; readonly grpc: string }> {
  const [http, grpc] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const off = ["--playground-enabled=false", "--metrics-enabled=false", "--log-level=none"];
  const args = ["run", `--http-addr=${http}`, `--grpc-addr=${grpc}`, ...off];
  await serve(t, openfga!, args, `http://${http}/healthz`);
  return { http: `http://${http}`, grpc };
}

function skipped(): string | false {
  if (!FULL) return "TEST_FULL is not set";
  return (openfga === undefined || grpcurl === undefined) && "there is no Go here";
}
