// Every command's help shows examples first, and fits into 80 columns.
import type { Command } from "commander";
import t from "tap";
import { createProgram } from "../../cli/program.js";
import { ioOf, portico } from "./command-line.js";

function pathsOf(command: Command, path: readonly string[] = []): (readonly string[])[] {
  return [path, ...command.commands.flatMap((sub) => pathsOf(sub, [...path, sub.name()]))];
}

const paths = pathsOf(createProgram(ioOf({}).io, () => {}));
t.ok(paths.length > 35, "the commands were found");

for (const path of paths) {
  t.test(["portico", ...path, "--help"].join(" "), async (t) => {
    const { exit, stdout, stderr } = await portico([...path, "--help"]);
    t.equal(exit, 0);
    t.equal(stderr, "");
    t.match(stdout, /^Examples:\n {2}\S/);
    t.ok(stdout.indexOf("Examples:") < stdout.indexOf("Usage: portico"));
    t.same(
      stdout.split("\n").filter((line) => line.length > 80),
      [],
      "no line is wider than 80 columns",
    );
  });
}

t.test("the descriptions of the examples in portico --help are in one column", async (t) => {
  const { stdout } = await portico(["--help"]);
  const [examples = ""] = stdout.split("\n\n");
  const columns = [...examples.matchAll(/^ {2}(.+? {2,})\S/gm)].map(([, before = ""]) => before.length);
  t.equal(columns.length, 5);
  t.equal(new Set(columns).size, 1);
});

t.test("no option's value is a secret", async (t) => {
  for (const path of paths) {
    const { stdout } = await portico([...path, "--help"]);
    t.notMatch(stdout, /--(password|token|secret|admin-password|enrolment)[ =]</);
  }
});
