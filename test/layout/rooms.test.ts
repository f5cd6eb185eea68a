// Each room says in the first comment of one of its files what it does not know, and no file of the room knows it.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

/** Modules with sockets; functions about texts alone are fine. */
const SOCKETS =
  /import (?!\{ (?:isIP|isIPv6|STATUS_CODES)(?:, isIPv6)? \})[^;]*"node:(?:net|tls|http|https|http2|dgram)"|"undici"/;
const ENGINES = /"(?:keyv|@keyv\/\w+|sqlite3|pg)"/;

/** A room, the file that says it, the sentence, and what no code of the room has. */
const UNKNOWN: readonly (readonly [room: string, file: string, sentence: string, forbidden: RegExp])[] = [
  ["src/wire", "reader.ts", "This room knows no message and no field, only bytes.", /\/gen\/|\/contract\//],
  ["src/contract", "endpoint.ts", "This room knows no socket and no file.", /"node:(?:net|tls|http|http2|fs)"/],
  ["src/memory", "memory-budget.ts", "This room knows no protocol.", /\/(?:rpc|http2|call)\//],
  ["src/overload", "call-queue.ts", "know no socket, no status and no caller", /\.\.\/|"node:(?!perf_hooks|timers)/],
  ["src/json", "codec.ts", "This room knows neither HTTP nor gRPC.", /\/rpc\/|"node:http|grpc/i],
  ["src/http2", "connection.ts", "This room knows no gRPC.", /grpc/i],
  ["src/call", "admission.ts", "This room knows no rule.", /\/access\/|RuleSet/],
  ["src/rpc", "channel.ts", "This room knows no rule.", /\/access\/|RuleSet/],
  ["src/access", "guard.ts", "This room knows no password.", /password/i],
  ["src/store", "store.ts", "This room does not know what the texts mean.", /\/(?:gen|contract|access)\//],
  ["src/kit", "index.ts", "This room knows no HTTP.", SOCKETS],
  ["services/patterns", "checks.ts", "This room knows no database.", ENGINES],
  ["gateway/http", "message.ts", "This room knows no socket.", SOCKETS],
  ["gateway/stages", "dialect.ts", "The stages know no socket.", SOCKETS],
  ["gateway/dialects", "dialects.ts", "A dialect knows no socket.", SOCKETS],
  ["gateway/openapi", "document.ts", "This room calls no service.", /\/rpc\//],
  ["gateway/catalog", "catalog.ts", "This room knows no request and no socket.", SOCKETS],
  ["cli/nouns", "rule.ts", "A noun knows no socket: it asks the gateway by cli/http.", SOCKETS],
];

/** The files of a room and of its folders. */
function filesOf(room: string): string[] {
  return readdirSync(room, { recursive: true, encoding: "utf8" })
    .map((name) => join(room, name))
    .filter((file) => /\.tsx?$/.test(file) && statSync(file).isFile());
}

/** The code without comments: what a comment explains is not known to the code. */
function codeOf(file: string): string {
  return readFileSync(file, "utf8").replace(/\/\*.*?\*\/|(?<=^|\s)\/\/.*?$/gms, "");
}

for (const [room, file, sentence, forbidden] of UNKNOWN) {
  t.test(`${room}: ${sentence}`, async (t) => {
    const text = readFileSync(join(room, file), "utf8");
    const [comment = ""] = /\/\*\*.*?\*\//s.exec(text) ?? [];
    t.ok(comment.replaceAll(/\n \*/g, "").includes(sentence), `the first comment of ${room}/${file} says so`);
    t.same(
      filesOf(room).filter((one) => forbidden.test(codeOf(one))),
      [],
      "and it is true",
    );
  });
}

t.test("what a room does not know would be seen in an import and in code", async (t) => {
  t.match('import { connect } from "node:net";', SOCKETS);
  t.notMatch('import { isIP } from "node:net";', SOCKETS);
  t.match('import Keyv from "keyv";', ENGINES);
  t.notMatch(codeOf("gateway/http/message.ts"), /No type of node:http/, "comments do not count");
});
