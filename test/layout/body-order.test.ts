// No dialect reads a body before the guard has authorized the call: the stages receive bodies, and
// only code that opens a stream reads chunks, after the call is admitted. The types enforce this
// (gateway/stages/dialect.ts); this test also finds casts that avoid the types.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import ts from "typescript";

/** The files that may read a body, and the functions of a request that they may use. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  "gateway/stages/admit.ts": ["body", "arrivedBody"],
  "gateway/stages/route.ts": ["body"],
  // Forms of the authorization server, which anyone may send: they call no endpoint.
  "gateway/built-in/oauth/form.ts": ["body"],
  // Sign-ins of the pages: they call no endpoint either.
  "gateway/built-in/page-sessions.ts": ["body"],
  "gateway/dialects/http-rule/grpc-gateway/value-feed.ts": ["chunks"],
  "gateway/dialects/json/streams/upload.ts": ["chunks"],
  "gateway/dialects/rpc/enveloped-stream.ts": ["chunks"],
};
const READING: readonly string[] = ["body", "arrivedBody", "chunks"];

const files = ["gateway/dialects", "gateway/stages", "gateway/built-in", "gateway/openapi", "gateway/catalog"].flatMap(
  (folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name)),
);

/** The body-reading functions that a file calls or destructures from a request. */
function readsOf(text: string): string[] {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    const called = ts.isCallExpression(node) ? node.expression : undefined;
    if (called !== undefined && ts.isPropertyAccessExpression(called)) found.add(called.name.text);
    if (called !== undefined && ts.isIdentifier(called)) found.add(called.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest));
  return READING.filter((name) => found.has(name));
}

t.test("only stages receive bodies, and only admitted streams read chunks", async (t) => {
  const reads = files.flatMap((file) => {
    const found = readsOf(readFileSync(file, "utf8"));
    return found.length === 0 ? [] : [[file, found] as const];
  });
  t.same(Object.fromEntries(reads), READERS);
});

const EARLY: readonly (readonly [how: string, text: string, reads: string])[] = [
  ["by a cast", "findRoute = async (head) => parse(await (head as GatewayRequest).body())", "body"],
  ["where it has arrived", "isEncoded = (head) => (head as never as Arrived).arrivedBody(9)[0] === 1", "arrivedBody"],
  ["chunk by chunk", "checkBody({ chunks }: GatewayRequest) { chunks(this) }", "chunks"],
];
for (const [how, text, reads] of EARLY) {
  t.test(`a dialect that reads the body early ${how} is found`, async (t) => {
    t.same(readsOf(`class Early implements Dialect { ${text} }`), [reads]);
  });
}
