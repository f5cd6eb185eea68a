// Follows docs/tutorial.md from an empty folder: writes its files, runs its commands, and compares
// what they print with the page. The only differences are that `npm install` links this checkout,
// and that the ports are free ones. At the end the folder is the same as examples/tickets.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import t from "tap";
import { install } from "../cli/dev/project.js";
import { replay } from "../scenarios/transcript.js";
import { freePort } from "../support/ports.js";
import { type Printed, printedBy } from "../support/printed.js";
import { applyDiff, blocksOf, patternOf } from "./typed.js";

/** Commands that keep running. A `text` block is what the last of them prints next. */
const RUNNING = /portico (?:dev|authority|gateway)|curl -sN|npm start|--serve/;
/**
 * Names that are not compared as sources: packages, the packed Portico, generated files, data, and
 * the README of `portico new`, which the reader may change.
 */
const NO_SOURCE =
  /^(?:node_modules|gen|dist|vendor|\.portico|production)$|^package-lock\.json$|^README\.md$|^page\.js$/;

const ports = new Map<string, number>();
for (const port of ["8080", "8081", "8082", "8072", "3000"]) ports.set(port, await freePort());
const local = (text: string): string =>
  text.replace(/127\.0\.0\.1:(\d+)/g, (_, port) => `127.0.0.1:${ports.get(port) ?? port}`);
const addressOf = (port: string): string => local(`127.0.0.1:${port}`);

const folder = t.testdir({ bin: {} });
symlinkSync(resolve("dist/portico.js"), join(folder, "bin/portico"));
const project = join(folder, "tickets");
let cwd = folder;

interface Running extends Printed {
  readonly command: string;
  stop(): Promise<void>;
}
const running: Running[] = [];
t.teardown(async () => {
  for (const program of running.reverse()) await program.stop();
});

const noOpenssl = spawnSync("openssl", ["version"]).status !== 0 && "there is no openssl here";
t.test("the tutorial", { skip: noOpenssl }, async (t) => {
  const transcript: string[] = [];
  const events: Record<string, () => Promise<void>> = {};
  const happens = (what: string, action: () => unknown): void => {
    const name = `${Object.keys(events).length} ${what}`;
    transcript.push(`! ${name}`);
    events[name] = async () => void (await action());
  };
  for (const { language, file, text } of blocksOf(local(readFileSync("docs/tutorial.md", "utf8")))) {
    const path = join(project, file);
    if (language === "diff") happens(file, () => applyDiff(path, text));
    else if (language === "text") happens("prints", () => running.at(-1)?.prints(patternOf(text)));
    else if (language !== "console") happens(file, () => write(path, text));
    else
      for (const [step, command = "", shown = ""] of text.matchAll(/^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm)) {
        if (command === "cd tickets") happens(command, () => (cwd = project));
        else if (command === "npm install") happens(command, () => install(project));
        else if (RUNNING.test(command)) happens(command.replaceAll("\n", " "), () => start(command, shown));
        else transcript.push(step);
      }
  }
  await replay(t, transcript.join("\n"), {
    url: `http://${addressOf("8080")}`,
    get cwd() {
      return cwd;
    },
    get data() {
      const inProduction = join(project, "production/authority");
      return existsSync(inProduction) ? inProduction : join(project, ".portico");
    },
    values: { folder },
    events,
  });

  if (!t.passing()) return; // A step failed, so the later steps did not run.
  t.same(sourcesOf(project), sourcesOf("examples/tickets"), "the folder is the example");
  const tsc = resolve("node_modules/typescript/bin/tsc");
  t.equal(execFileSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" }), "", "its types are right");
});

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Runs a command that keeps running, and waits for the text that the page shows. */
async function start(command: string, shown: string): Promise<void> {
  // As on the page: the authority replaces `portico dev`.
  if (command.startsWith("portico authority"))
    await running.find((program) => program.command.includes("portico dev"))?.stop();
  const isAuthority = command.startsWith("portico authority");
  const child = spawn("bash", ["-c", command], {
    cwd,
    env: {
      PATH: `${join(folder, "bin")}:${process.env.PATH}`,
      HOME: folder,
      NO_COLOR: "1",
      PORTICO_DRAIN_NOTICE: "0s",
      PORTICO_HTTP: addressOf("8080"),
      ...(isAuthority && { PORTICO_GRPC: addressOf("8081"), PORTICO_ADMIN: addressOf("8082") }),
    },
    stdio: "pipe",
    detached: true, // A separate process group, as in a terminal.
  });
  const program = { ...printedBy(child, command), command, stop: () => interrupt(child) };
  running.push(program);
  await program.prints(patternOf(shown));
}

/** Sends SIGINT to a program, as Ctrl-C in its terminal does. */
async function interrupt(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  process.kill(-child.pid!, "SIGINT");
  await exit;
}

/** The content of each file: text, or the parsed value of JSON, because the whitespace differs. */
function sourcesOf(root: string): Record<string, unknown> {
  const own = readFileSync(join(root, ".gitignore"), "utf8").split("\n");
  const names = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, "/").length))
    .filter((name) => !own.includes(name) && !name.split("/").some((part) => NO_SOURCE.test(part)));
  return Object.fromEntries(
    names.sort().map((name) => {
      const text = local(readFileSync(join(root, name), "utf8"));
      return [name, name.endsWith(".json") ? JSON.parse(text.replace(/"file:.*"/, '"file:../.."')) : text];
    }),
  );
}
