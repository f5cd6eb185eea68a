// docs/writing-a-service.md, "In TypeScript", is what happens: its commands are typed, its edits are made, and
// what it shows is what is shown. Only `npm install` links this checkout instead, and ports are free ones.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { type Dev, install, startDev } from "../cli/dev/project.js";
import { applyDiff, blocksOf, patternOf } from "./typed.js";

const DOCUMENTED = "http://127.0.0.1:8080";

const page = readFileSync("docs/writing-a-service.md", "utf8");
const section = page.slice(page.indexOf("## In TypeScript"), page.indexOf("## In any language"));

const folder = t.testdir({ bin: {} });
const project = join(folder, "greeter");
symlinkSync(resolve("dist/portico.js"), join(folder, "bin/portico"));
const home = join(folder, "home");
mkdirSync(home);
let cwd = folder;
let dev: Dev | undefined;

/** The page's text with what is here in place of what it shows. */
const local = (text: string): string =>
  text.replaceAll(DOCUMENTED, dev?.http ?? DOCUMENTED).replaceAll("{folder}", folder);

for (const { language, file, text } of blocksOf(section)) {
  const [title = ""] = text.trim().split("\n");
  t.test(`${language} ${file} ${title}`, async (t) => {
    if (language === "diff") applyDiff(join(project, file), text);
    else if (language === "text") await dev?.prints(patternOf(local(text)));
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
    await dev.prints(patternOf(local(shown.slice(shown.indexOf("  Explore")))));
  } else {
    const { NODE_TEST_CONTEXT: _, ...own } = process.env; // `npm test` is a run of its own.
    const env = { ...own, PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: home };
    const { stdout, stderr } = spawnSync("bash", ["-c", local(command)], { cwd, encoding: "utf8", env });
    if (!patternOf(local(shown)).test(`${stdout}\n`)) throw new Error(`${command} shows:\n${stdout}${stderr}`);
  }
}
