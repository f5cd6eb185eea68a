// A file has one subject, and a function fits on a screen: at most 400 and 60 lines.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import ts from "typescript";

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 60;

const files = ["src", "services", "gateway", "cli", "scripts"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(tsx?|mjs)$/.test(name) && !name.startsWith("gen/"))
    .map((name) => join(folder, name))
    .filter((file) => !readFileSync(file, "utf8").startsWith("// Generated")),
);

/** The functions of a file with more than 60 lines, as `file:line (lines)`. */
function longFunctionsOf(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const long: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) {
      const lines = lineOf(node.end) - lineOf(node.getStart(source)) + 1;
      if (lines > MAX_FUNCTION_LINES) long.push(`${file}:${lineOf(node.getStart(source))} (${lines} lines)`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return long;
}

t.test("no file is longer than 400 lines", async (t) => {
  const lines = (file: string) => readFileSync(file, "utf8").split("\n").length - 1;
  t.same(
    files.filter((file) => lines(file) > MAX_FILE_LINES).map((file) => `${file} (${lines(file)} lines)`),
    [],
  );
});

t.test("no function is longer than 60 lines", async (t) => {
  t.same(
    files.flatMap((file) => longFunctionsOf(file, readFileSync(file, "utf8"))),
    [],
  );
  const long = `function long() {\n${"  call();\n".repeat(MAX_FUNCTION_LINES)}}\n`;
  t.same(longFunctionsOf("long.ts", long), ["long.ts:1 (62 lines)"], "one would be seen");
});
