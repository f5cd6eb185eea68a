import t from "tap";
import { Code } from "../../../src/errors.js";
import type { ReceivedField } from "../../../src/http2/header-fields.js";
import { checkMetadata, HEADER_NAMES, metadataOf, statusOf } from "../../../src/rpc/http2/headers.js";
import { decodeMessage, encodeMessage, MAX_MESSAGE } from "../../../src/rpc/status-message.js";

const fields = (...pairs: [string, string][]): ReceivedField[] =>
  pairs.map(([name, value]) => HEADER_NAMES.field(name, value));

const MESSAGES: [message: string, encoded: string][] = [
  ["plain text, ~ and all", "plain text, ~ and all"],
  ["100 %", "100 %25"],
  [" spaces at the ends ", "%20spaces at the ends%20"],
  [" ", "%20"],
  ["\tä\n☺😈", "%09%C3%A4%0A%E2%98%BA%F0%9F%98%88"],
  ["half a character: \ud83d", "half a character: %EF%BF%BD"],
];

for (const [message, encoded] of MESSAGES) {
  t.test(`encodes and decodes the status message "${encoded}"`, async (t) => {
    t.equal(encodeMessage(message), encoded);
    t.equal(decodeMessage(encoded), Buffer.from(message).toString());
  });
}

t.test("a long message is truncated before it is encoded", async (t) => {
  const text = "ä".repeat(2 * MAX_MESSAGE);
  // Not compared by `t.equal`: for two long texts that differ, tap would search the differences for
  // minutes.
  t.ok(decodeMessage(encodeMessage(text)) === `${"ä".repeat(MAX_MESSAGE - 1)}…`);
  t.ok(encodeMessage("a".repeat(MAX_MESSAGE)) === "a".repeat(MAX_MESSAGE));
});

t.test("a grpc-message that is not percent-encoded correctly is returned as it is", async (t) => {
  for (const text of ["100 %", "%zz", "%4"]) t.equal(decodeMessage(text), text);
});

t.test("metadata consists of the fields that do not belong to the protocol", async (t) => {
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

const STATUSES: [what: string, list: ReceivedField[], http: number, code: number][] = [
  ["OK", fields(["grpc-status", "0"]), 200, Code.OK],
  ["a code that gRPC does not define", fields(["grpc-status", "17"]), 200, 17],
  ["a code above the integers of 32 bits", fields(["grpc-status", "2147483648"]), 200, Code.UNKNOWN],
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
  ["a code that contradicts the HTTP status", fields(["grpc-status", "5"]), 503, Code.NOT_FOUND],
];

for (const [what, list, http, code] of STATUSES) {
  t.test(`reads the status: ${what}`, async (t) => t.equal(statusOf(list, http).code, code));
}
