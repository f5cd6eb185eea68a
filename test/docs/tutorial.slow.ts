// The tutorial of docs/writing-a-service.md, "In TypeScript", is what happens: its commands are typed, its edits are made, and
// what it shows is what is shown. Only `npm install` links this checkout instead, and ports are free ones.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { type Dev, install, startDev } from "../cli/dev/project.js";

const DOCUMENTED = "http://127.0.0.1:8080";

const page = readFileSync("docs/writing-a-service.md", "utf8");
const section = page.slice(page.indexOf("## In TypeScript"), page.indexOf("## In any language"));
const blocks = [...section.matchAll(/^```(\S+) ?(.*)\n([\s\S]*?)^```$/gm)];

const folder = t.testdir({ bin: {} });
const project = join(folder, "greeter");
symlinkSync(resolve("dist/portico.js"), join(folder, "bin/portico"));
const home = join(folder, "home");
mkdirSync(home);
let cwd = folder;
let dev: Dev | undefined;

for (const [, language = "", file = "", text = ""] of blocks) {
  const [title = ""] = text.trim().split("\n");
  t.test(`${language} ${file} ${title}`, async (t) => {
    if (language === "diff") apply(join(project, file), text);
    else if (language === "text") await dev?.prints(patternOf(text));
    else
      for (const [, command = "", shown = ""] of text.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm))
        await type(command, shown);
    t.pass(title);
  });
}

/** Types a command, and compares what it shows. */
async function type(command: string, shown: string): Promise<void> {
  if (command === "cd greeter") cwd = project;
  else if (command === "npm install") install(project);
  else if (command === "portico dev") {
    dev = await startDev(t, cwd);
    await dev.prints(patternOf(shown.slice(shown.indexOf("  Explore"))));
  } else {
    const { NODE_TEST_CONTEXT: _, ...own } = process.env; // `npm test` is a run of its own.
    const env = { ...own, PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: home };
    const local = command.replaceAll(DOCUMENTED, dev?.http ?? DOCUMENTED);
    const { stdout, stderr } = spawnSync("bash", ["-c", local], { cwd, encoding: "utf8", env });
    if (!patternOf(shown).test(`${stdout}\n`)) throw new Error(`${command} shows:\n${stdout}${stderr}`);
  }
}

/** Makes an edit: the lines of the file that the block shows without `+` become those without `-`. */
function apply(path: string, diff: string): void {
  const lines = diff.trimEnd().split("\n");
  const side = (sign: string) =>
    lines
      .filter((line) => !line.startsWith(sign))
      .map((line) => `${line.slice(1)}\n`)
      .join("");
  const text = readFileSync(path, "utf8");
  if (!text.includes(side("+"))) throw new Error(`${path} does not have:\n${side("+")}`);
  writeFileSync(
    path,
    text.replace(side("+"), () => side("-")),
  );
}

/** `…` stands for any text in a line, on a line of its own for any lines; `{folder}` is the test's. */
function patternOf(shown: string): RegExp {
  const local = shown
    .trim()
    .replaceAll(DOCUMENTED, dev?.http ?? DOCUMENTED)
    .replaceAll("{folder}", folder);
  const literal = local.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(literal.replace(/^…$/gm, "[\\s\\S]*").replaceAll("…", ".*"));
}
