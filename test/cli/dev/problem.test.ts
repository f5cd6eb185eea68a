// A problem is shown with its place and the lines around it, whatever they contain.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { framed, type SourceProblem } from "../../../cli/dev/problem.js";

const folder = t.testdir();
const file = join(folder, "a.proto");
writeFileSync(file, "one\n\ttwo three\nfour \u001b[31m\n");
const plain = (_: unknown, text: string) => text;

const cases: [what: string, problem: SourceProblem, shown: string[]][] = [
  [
    "marks as many characters as the problem takes up, under tabs too",
    { file, line: 2, column: 6, length: 5, message: "no three" },
    ["a.proto:2:6: no three", "", "  1 │ one", "  2 │   two three", "    │       ^^^^^", "  3 │ four \\u001b[31m", ""],
  ],
  [
    "marks no further than the line",
    { file, line: 1, column: 2, length: 50, message: "short" },
    ["a.proto:1:2: short", "", "  1 │ one", "    │  ^^", "  2 │   two three", ""],
  ],
  [
    "shows a line without a column",
    { file, line: 1, message: "x" },
    ["a.proto:1: x", "", "  1 │ one", "  2 │   two three", ""],
  ],
  ["indents further lines of the message", { file, message: "x\ny" }, ["a.proto: x", "  y"]],
  ["shows no lines of a file that is not there", { file: `${file}.x`, line: 1, message: "x" }, ["a.proto.x:1: x"]],
  ["shows a problem without a file", { message: "x\u0007" }, ["x\\u0007"]],
];
for (const [what, problem, shown] of cases) {
  t.test(what, async (t) => {
    t.same(framed(problem, folder, plain), shown);
  });
}
