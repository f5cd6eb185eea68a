import t from "tap";
import { Code } from "../../../src/errors.js";
import { type ReceivedField, received } from "../../../src/http2/received-field.js";
import {
  checkMetadata,
  decodeMessage,
  encodeMessage,
  flawOf,
  metadataOf,
  statusOf,
} from "../../../src/rpc/http2/headers.js";

const fields = (...pairs: [string, string][]): ReceivedField[] => pairs.map(([name, value]) => received(name, value));

const MESSAGES: [message: string, encoded: string][] = [
  ["plain text, ~ and all", "plain text, ~ and all"],
  ["100 %", "100 %25"],
  ["\tä\n☺😈", "%09%C3%A4%0A%E2%98%BA%F0%9F%98%88"],
  ["half a character: \ud83d", "half a character: %EF%BF%BD"],
];

for (const [message, encoded] of MESSAGES) {
  t.test(`"${encoded}" on the wire`, async (t) => {
    t.equal(encodeMessage(message), encoded);
    t.equal(decodeMessage(encoded), Buffer.from(message).toString());
  });
}

t.test("a message that is not encoded as it should be is taken as it is", async (t) => {
  for (const text of ["100 %", "%zz", "%4"]) t.equal(decodeMessage(text), text);
});

t.test("metadata is what is not the protocol's", async (t) => {
  const list = fields(
    [":status", "200"],
    ["content-type", "application/grpc"],
    ["grpc-encoding", "identity"],
    ["x-text", "a"],
    ["x-text", "b, c"],
    ["x-bytes-bin", "AAE=,Ag"],
    ["grpc-status", "0"],
  );
  t.same(metadataOf(list), [
    ["x-text", "a"],
    ["x-text", "b, c"],
    ["x-bytes-bin", Buffer.from([0, 1])],
    ["x-bytes-bin", Buffer.from([2])],
  ]);
});

const UNSENDABLE: [string, string | Uint8Array][] = [
  ["no name", "x"],
  ["Upper", "x"],
  ["", "x"],
  [":path", "x"],
  ["te", "trailers"],
  ["connection", "close"],
  ["grpc-status", "0"],
  ["x-text", "line\nbreak"],
  ["x-text", "ä"],
  ["x-text", Uint8Array.of(1)],
  ["x-bytes-bin", "text"],
];

t.test("metadata that cannot be sent is refused", async (t) => {
  for (const pair of UNSENDABLE) t.throws(() => checkMetadata([pair]), Error, JSON.stringify(pair));
  t.doesNotThrow(() =>
    checkMetadata([
      ["x-text", ""],
      ["x-bytes-bin", Uint8Array.of(255)],
    ]),
  );
});

const GET: [string, string][] = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
];

const FLAWS: [what: string, kind: "request" | "response" | "trailers", list: ReceivedField[]][] = [
  ["a pseudo-header after a header", "request", fields(["a", "b"], ...GET)],
  ["a response's pseudo-header in a request", "request", fields(...GET, [":status", "200"])],
  ["a pseudo-header twice", "request", fields(...GET, [":path", "/"])],
  ["no path", "request", fields(...GET.slice(0, 2))],
  ["an empty path", "request", fields(...GET.slice(0, 2), [":path", ""])],
  ["no status", "response", fields(["a", "b"])],
  ["a pseudo-header in trailers", "trailers", fields([":status", "200"])],
  ["a name in upper case", "trailers", fields(["Name", "b"])],
  ["an empty name", "trailers", fields(["", "b"])],
  ["a name with a colon", "trailers", fields(["a:b", "b"])],
  ["a value with a line break", "trailers", fields(["a", "b\r\nc"])],
  ["a value with a NUL", "trailers", fields(["a", "b\0c"])],
  ["a value that begins with a space", "trailers", fields(["a", " b"])],
  ["HTTP/1.1's connection", "trailers", fields(["connection", "close"])],
  ["te for anything but trailers", "request", fields(...GET, ["te", "gzip"])],
];

for (const [what, kind, list] of FLAWS) {
  t.test(`finds ${what}`, async (t) => {
    t.type(flawOf(list, kind), "string");
    t.type(flawOf(list, kind), "string", "also when the same fields come again, out of a table");
  });
}

t.test("finds nothing where there is nothing", async (t) => {
  t.equal(flawOf(fields(...GET, ["te", "trailers"], ["a", ""]), "request"), undefined);
  t.equal(flawOf(fields([":status", "200"]), "response"), undefined);
  t.equal(flawOf([], "trailers"), undefined);
});

const STATUSES: [what: string, list: ReceivedField[], http: number, code: Code][] = [
  ["OK", fields(["grpc-status", "0"]), 200, Code.OK],
  ["a code there is not", fields(["grpc-status", "17"]), 200, Code.UNKNOWN],
  ["a code that is no number", fields(["grpc-status", "x"]), 200, Code.UNKNOWN],
  ["a code below 0", fields(["grpc-status", "-1"]), 200, Code.UNKNOWN],
  ["no code, 200", fields(), 200, Code.UNKNOWN],
  ["no code, 400", fields(), 400, Code.INTERNAL],
  ["no code, 401", fields(), 401, Code.UNAUTHENTICATED],
  ["no code, 403", fields(), 403, Code.PERMISSION_DENIED],
  ["no code, 404", fields(), 404, Code.UNIMPLEMENTED],
  ["no code, 429", fields(), 429, Code.UNAVAILABLE],
  ["no code, 502", fields(), 502, Code.UNAVAILABLE],
  ["no code, 503", fields(), 503, Code.UNAVAILABLE],
  ["no code, 504", fields(), 504, Code.UNAVAILABLE],
  ["no code, 418", fields(), 418, Code.UNKNOWN],
  ["a code where HTTP says otherwise", fields(["grpc-status", "5"]), 503, Code.NOT_FOUND],
];

for (const [what, list, http, code] of STATUSES) {
  t.test(`reads the status of ${what}`, async (t) => t.equal(statusOf(list, http).code, code));
}
