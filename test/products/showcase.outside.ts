// gapic-showcase behind Portico: Google's generated clients, which call by its REST paths, get the
// same content. Its REST server is a test server, with an error object of its own. Its gRPC port is
// not compared, because grpcurl gets no response there: the server waits for the headers of the
// first request, and grpc-go waits for the server's settings.
import t, { type Test } from "tap";
import { goModule } from "../outside/tools.js";
import { FULL } from "../support/full.js";
import { freePort } from "../support/ports.js";
import { type Case, compare, type Difference, porticoFor, serve } from "./compare.js";

/** It needs minutes to build. */
t.setTimeout(900_000);

const PROGRAM = "github.com/googleapis/gapic-showcase/cmd/gapic-showcase";
const showcase = FULL ? goModule("showcase", "test/products/showcase", PROGRAM) : undefined;

/** Its REST server says that JSON is text. */
const TYPE: Difference = { reason: "its REST server sends JSON as text/plain", members: ["type"] };

/** The status of an error is the same, and its object is not. */
const ERROR: Difference = {
  reason: "its REST server writes errors as {error: {code, message}}, Portico as {code, message, details}",
  members: ["type", "body"],
};

const ROUTING: Difference = {
  reason: "its REST server answers 400 for unknown paths, Portico 404 or 405",
  members: ["type", "status", "body"],
};

const STREAM: Difference = {
  reason: "its REST server writes a stream as one JSON array, Portico as lines {result: …}",
  members: ["type", "body"],
};

/** Its REST server names the path that it bound. The gRPC server does not know it. */
const BOUND: Difference = {
  reason: `${TYPE.reason}; and it tells the service the bound path`,
  members: ["type", "body.bindingUri"],
};

const NUMBERS: Difference = {
  reason: `${TYPE.reason}; and it writes enums as numbers if the client asks for it`,
  members: ["type", "body.severity"],
};

const BLURBS: Difference = {
  reason: "its REST server takes the path of blurbs for the name of a room, and answers 404",
  members: ["type", "status", "body"],
};

/** Its REST server takes only calls of Google's generated clients. */
const API_CLIENT = { "x-goog-api-client": "rest/0.0.0 gapic/0.0.0" };

const call = (http: string, body?: unknown, more: Partial<Case> = {}): Case => ({
  http: http.replace(" ", " /v1beta1/"),
  ...(body === undefined ? {} : { body }),
  headers: API_CLIENT,
  differs: TYPE,
  ...more,
});

const INFO = {
  fString: "Größe",
  fInt32: -3,
  fSint32: 4,
  fUint32: 5,
  fInt64: "9007199254740993",
  fUint64: "18446744073709551615",
  fDouble: 0.1,
  fFloat: 1.5,
  fBool: true,
  fBytes: "AQID",
  fKingdom: "FUNGI",
  fChild: { fString: "child", fContinent: "EUROPE", fChild: { fString: "grandchild", fBool: true } },
  pString: "",
  pBool: false,
};

const REST: readonly Case[] = [
  call("POST echo:echo", { content: "hi" }),
  call("POST echo:echo", { content: "hi", severity: "CRITICAL" }),
  call("POST echo:echo", { content: "hi", header: "x", requestId: "6ba7b810-9dad-41d1-80b4-00c04fd430c8" }),
  call("POST echo:echo?$alt=json%3Benum-encoding%3Dint", { content: "hi" }, { differs: NUMBERS }),
  call("POST echo:echo", { content: "hi", absent: 1 }, { differs: ERROR }),
  call("POST echo:echo", { error: { code: 5, message: "none" } }, { differs: ERROR }),
  call("POST echo:echo", { error: { code: 8, message: "too many" } }, { differs: ERROR }),
  call("POST echo:echo", "{", { differs: ERROR }),
  call("POST echo:expand", { content: "one two three" }, { differs: STREAM }),
  call("POST echo:pagedExpand", { content: "a b c d", pageSize: 2 }),
  call("POST echo:pagedExpand", { content: "a b c d", pageSize: 2, pageToken: "2" }),
  call("POST echo:pagedExpand", { content: "a", pageSize: -1 }, { differs: ERROR }),
  call("POST users", { user: { displayName: "Ada", email: "ada@example.com" } }),
  call("POST users", { user: { displayName: "", email: "" } }, { differs: ERROR }),
  call("GET users"),
  call("GET users?pageSize=1"),
  call("GET users/0"),
  call("GET users/9", undefined, { differs: ERROR }),
  call("PATCH users/0?updateMask=displayName", { displayName: "Ada L.", email: "ada@example.com" }),
  call("DELETE users/0"),
  call("GET users/0", undefined, { differs: ERROR }),
  call("POST rooms", { room: { displayName: "hall", description: "wide" } }),
  call("POST rooms/0/blurbs", { blurb: { user: "users/0", text: "hello" } }),
  call("GET rooms/0/blurbs", undefined, { differs: BLURBS }),
  call("GET rooms/0/blurbs/0", undefined, { differs: BLURBS }),
  call("POST repeat:body", { name: "body", info: INFO }, { differs: BOUND }),
  call("POST repeat:bodyinfo?name=info", INFO, { differs: BOUND }),
  call(
    "GET repeat:query?name=q&info.fString=a%20b&info.fInt32=-3&info.fBool=true&info.fKingdom=FUNGI&info.fInt64=1",
    undefined,
    { differs: BOUND },
  ),
  call("GET repeat/hello/1/2.5/true/PLANTAE:simplepath", undefined, { differs: BOUND }),
  call("GET repeat/first/a/second/b/bool/true:pathresource", undefined, { differs: BOUND }),
  call("GET repeat/second/a/first/b/bool/true:pathresource", undefined, { differs: ROUTING }),
  call("GET repeat/first/a/second/b/bool/true:childfirstpathresource", undefined, { differs: BOUND }),
  call("GET repeat/first/a/second/b/c:pathtrailingresource", undefined, { differs: BOUND }),
  call("PUT repeat:bodyput", { name: "put", info: INFO }, { differs: BOUND }),
  call("PATCH repeat:bodypatch", { name: "patch", info: INFO }, { differs: BOUND }),
  call("GET absent", undefined, { differs: ROUTING }),
];

/** Times, which each process takes from its clock. */
const normalize = (output: string): string => output.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");

t.test("gapic-showcase", { skip: skipped() }, async (t) => {
  const [own, behind] = [await serveShowcase(t), await serveShowcase(t)];
  const { url } = await porticoFor(t, t.testdir(), { name: "showcase", target: behind, rest: "grpc-gateway" });
  const sides = { own: { url: `http://${own}` }, portico: { url } };
  await t.test("its REST paths", (t) => compare(t, REST, sides, normalize));
});

/** Returns its address, where it speaks gRPC and REST. */
async function serveShowcase(t: Test): Promise<string> {
  const [port, fallback] = [await freePort(), await freePort()];
  const args = ["run", "--port", `${port}`, "--fallback-port", `${fallback}`];
  await serve(t, showcase!, args, `http://127.0.0.1:${port}/hello`);
  return `127.0.0.1:${port}`;
}

function skipped(): string | false {
  if (!FULL) return "TEST_FULL is not set";
  return showcase === undefined && "there is no Go here";
}
