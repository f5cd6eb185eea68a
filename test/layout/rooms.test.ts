// The first comment of a file in each folder says what the folder does not know, and no file of the
// folder knows it. The comments call a folder a "room".
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

/** Imports of modules with sockets. Functions that only handle text are allowed. */
const SOCKETS =
  /import (?!\{ (?:isIP|isIPv6|STATUS_CODES)(?:, isIPv6)? \})[^;]*"node:(?:net|tls|http|https|http2|dgram)"|"undici"/;
const ENGINES = /"(?:keyv|@keyv\/\w+|sqlite3|pg)"/;

/**
 * A folder, the file with the sentence, the sentence, and the code that the folder may not have.
 */
const UNKNOWN: readonly (readonly [folder: string, file: string, sentence: string, forbidden: RegExp])[] = [
  ["src/wire", "reader.ts", "This room knows no message and no field, only bytes.", /\/gen\/|\/contract\//],
  ["src/contract", "endpoint.ts", "This room knows no socket and no file.", /"node:(?:net|tls|http|http2|fs)"/],
  ["src/memory", "memory-budget.ts", "This room knows no protocol.", /\/(?:rpc|http2|call)\//],
  ["src/overload", "call-queue.ts", "know no socket, no status and no caller", /\.\.\/|"node:(?!perf_hooks|timers)/],
  ["src/json", "codec.ts", "This room knows neither HTTP nor gRPC.", /\/rpc\/|"node:http|grpc/i],
  ["src/http2", "connection.ts", "This room knows no gRPC.", /grpc/i],
  ["src/call", "admission.ts", "This room knows no rule.", /\/access\/|RuleSet/],
  ["src/telemetry", "tracer.ts", "This room knows no endpoint and no rule", /\/(?:contract|access)\//],
  ["src/limits", "limit.ts", "This room knows no socket.", SOCKETS],
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

/** The files of a folder and of its subfolders. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => /\.tsx?$/.test(file) && statSync(file).isFile());
}

/** The code without comments: a comment may explain what the code does not know. */
function codeOf(file: string): string {
  return readFileSync(file, "utf8").replace(/\/\*.*?\*\/|(?<=^|\s)\/\/.*?$/gms, "");
}

for (const [folder, file, sentence, forbidden] of UNKNOWN) {
  t.test(`${folder}: ${sentence}`, async (t) => {
    const text = readFileSync(join(folder, file), "utf8");
    const [comment = ""] = /\/\*\*.*?\*\//s.exec(text) ?? [];
    t.ok(comment.replaceAll(/\n \*/g, "").includes(sentence), `the first comment of ${folder}/${file} says so`);
    t.same(
      filesOf(folder).filter((one) => forbidden.test(codeOf(one))),
      [],
      "and it is true",
    );
  });
}

t.test("the patterns find forbidden imports, and ignore comments", async (t) => {
  t.match('import { connect } from "node:net";', SOCKETS);
  t.notMatch('import { isIP } from "node:net";', SOCKETS);
  t.match('import Keyv from "keyv";', ENGINES);
  t.notMatch(codeOf("gateway/http/message.ts"), /No type of node:http/, "comments do not count");
});
