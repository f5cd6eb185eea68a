// docs/writing-a-service.md, "In TypeScript", shows what happens: the test runs its commands, makes
// its edits, and compares the output. The only differences are that `npm install` links this
// checkout, and that the ports are free ones.
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

/** Replaces the addresses and folders of the page by the test's. */
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

/** Runs a command, and compares its output with the page. */
async function type(command: string, shown: string): Promise<void> {
  if (command === "cd greeter") cwd = project;
  else if (command === "npm install") install(project);
  else if (command === "portico dev") {
    dev = await startDev(t, cwd);
    await dev.prints(patternOf(local(shown.slice(shown.indexOf("  Explore")))));
  } else {
    const { NODE_TEST_CONTEXT: _, ...own } = process.env; // So that `npm test` is a separate run.
    const env = { ...own, PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: home };
    const { stdout, stderr } = spawnSync("bash", ["-c", local(command)], { cwd, encoding: "utf8", env });
    if (!patternOf(local(shown)).test(`${stdout}\n`)) throw new Error(`${command} shows:\n${stdout}${stderr}`);
  }
}
