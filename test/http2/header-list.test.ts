// Header lists that are malformed by RFC 9113, sections 8.2 and 8.3.
import t from "tap";
import { isMalformed, type ReceivedField } from "../../src/http2/header-fields.js";
import { HEADER_NAMES } from "../../src/rpc/http2/headers.js";

const fields = (...pairs: [string, string][]): ReceivedField[] =>
  pairs.map(([name, value]) => HEADER_NAMES.field(name, value));

const GET: [string, string][] = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
];

const MALFORMED: [what: string, kind: "request" | "response" | "trailers", list: ReceivedField[]][] = [
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

for (const [what, kind, list] of MALFORMED) {
  t.test(`a list with ${what} is malformed`, async (t) => {
    t.equal(isMalformed(list, kind), true);
    t.equal(isMalformed(list, kind), true, "also when the same fields come again from a table");
  });
}

t.test("a list that follows the rules is not malformed", async (t) => {
  t.equal(isMalformed(fields(...GET, ["te", "trailers"], ["a", ""]), "request"), false);
  t.equal(isMalformed(fields([":status", "200"]), "response"), false);
  t.equal(isMalformed([], "trailers"), false);
});
