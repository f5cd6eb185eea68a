// Every link of the pages has a target, and everything that a page tells a user to type exists:
// commands, options, variables, scripts.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import t from "tap";
import { filesOf } from "../../cli/new/files.js";
import { createProgram } from "../../cli/program.js";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import packageJson from "../../package.json" with { type: "json" };
import { SETTINGS } from "../../src/config/config.js";
import { ioOf } from "../cli/command-line.js";

function filesIn(folder: string, ending: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
}

const paths = ["README.md", "CONTRIBUTING.md", ...filesIn("docs", ".md")];
const pages = paths.map((path) => [path, readFileSync(path, "utf8")] as const);

/** The code in a page: code blocks, and inline code. */
function codeIn(page: string): string[] {
  const blocks = page.match(/^```.*\n[\s\S]*?^```|^ {4}.*$/gm) ?? [];
  const chunks = page.replace(/^```[\s\S]*?^```/gm, "").match(/`[^`\n]+`/g) ?? [];
  return [...blocks, ...chunks];
}

function found(page: string, pattern: RegExp): string[] {
  return codeIn(page).flatMap((code) => [...code.matchAll(pattern)].map(([, text = ""]) => text));
}

/** The anchor that GitHub makes for a heading. */
function anchorOf(heading: string): string {
  const text = heading.replace(/^#+ /, "").toLowerCase();
  return text.replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}

function anchorsIn(path: string): string[] {
  return (readFileSync(path, "utf8").match(/^#+ .*$/gm) ?? []).map(anchorOf);
}

t.test("every link of the pages has a target", async (t) => {
  for (const [path, page] of pages) {
    for (const [, target = ""] of page.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [file = "", anchor] = target.split("#");
      const linked = file === "" ? path : join(dirname(path), file);
      const there = existsSync(linked) && (anchor === undefined || anchorsIn(linked).includes(anchor));
      t.ok(there, `${path}: ${target}`);
    }
  }
});

t.test("every file that the pages name exists", async (t) => {
  const ofNewService = filesOf("greeter");
  for (const [path, page] of pages) {
    for (const file of found(page, /`((?:src|gateway|services|cli|bench|test|proto|examples|scripts)\/[\w./-]+)`/g)) {
      t.ok(existsSync(file) || ofNewService.has(file), `${path}: ${file}`);
    }
  }
});

t.test("every variable that the pages name is a setting", async (t) => {
  const ofCommands = filesIn("cli", ".ts").flatMap(
    (file) => readFileSync(file, "utf8").match(/PORTICO_[A-Z_]+/g) ?? [],
  );
  const known = new Set([...Object.values(SETTINGS).map(({ variable }) => variable), ...ofCommands]);
  for (const [path, page] of pages) {
    for (const [variable] of page.matchAll(/PORTICO_[A-Z_]*[A-Z]\b/g))
      t.ok(known.has(variable), `${path}: ${variable}`);
  }
});

t.test("every script that the pages name is in package.json", async (t) => {
  for (const [path, page] of pages) {
    for (const script of found(page, /npm run (?:--silent )?([\w:-]+)/g))
      t.ok(script in packageJson.scripts, `${path}: ${script}`);
  }
});

t.test("every command and option that the pages show exists", async (t) => {
  const program = createProgram(ioOf({}).io, () => {});
  /** Services of the examples: the words behind them are fields. */
  const services = [...Object.keys(BUILT_IN_SERVICES), "greeter", "chat", "tickets"];
  let count = 0;
  for (const [path, page] of pages) {
    for (const line of found(
      page.replaceAll("\\\n", ""),
      /(?:^|[\s`(])portico (?=[a-z-])((?:'[^']*'|[^\s'`|<>#)]|[ ](?! ))+)/gm,
    )) {
      const words = line.split(" ").filter((word) => word !== "" && word !== "…");
      const { command, rest } = descend(program, words);
      const isCall = rest.some((word) => services.includes(word));
      const options = rest.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split("=")[0]!);
      const unknown = isCall ? [] : options.filter((option) => option !== "--help" && !knows(command, option));
      const reached = command !== program || isCall || rest[0]?.startsWith("-");
      t.ok(reached && unknown.length === 0, `${path}: portico ${line}`);
      count++;
    }
  }
  t.ok(count > 40, `${count} commands were found`);
});

/** The command that the first words name, and the remaining words. */
function descend(command: Command, words: readonly string[]): { command: Command; rest: readonly string[] } {
  const next = command.commands.find((sub) => sub.name() === words[0]);
  return next === undefined ? { command, rest: words } : descend(next, words.slice(1));
}

function knows(command: Command, option: string): boolean {
  const here = command.options.some(({ long, short }) => long === option || short === option);
  return here || (command.parent !== null && knows(command.parent, option));
}
