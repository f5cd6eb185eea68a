// What a run of the tests prints: a line for each file as soon as it has ended, then each failure in full with what its
// file printed, then the totals, on a line that .ci/run adds up. Node's test runner loads it (--test-reporter).
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { inspect, stripVTControlCharacters } from "node:util";

/** Characters kept of what a test file printed; the rest is left out from the beginning. */
const MAX_OUTPUT = 16_384;
/** A place in a compiled file, as stacks name it. */
const COMPILED = /(?:file:\/\/)?(?:[^\s():]*\/)?(\.tap\/built\/\d+\/[^():]+\.js):(\d+):(\d+)/g;
/** A line of a stack in tap, which says nothing about the test. */
const IN_TAP = /\n *at [^\n]*\bnode_modules\/(?:@tapjs|tap|async-hook-domain)\/[^\n{]*/g;
/** Characters of the names that lead to a failed test. */
const MAX_TITLE = 300;

export default async function* report(events) {
  const run = new Run();
  for await (const { type, data } of events) {
    const text = run.take(type, data);
    if (text !== undefined) yield text;
  }
  yield run.summary();
}

class Run {
  #files = 0;
  #ended = 0;
  #failedFiles = new Set();
  #failures = [];
  /** Text printed, by the file that printed it. */
  #printed = new Map();
  /** The tests that the runner is reporting, from the outermost to the innermost. */
  #names = [];
  #totals = {};

  /** Gives the text to print for an event, if any. */
  take(type, data) {
    if (type === "test:enqueue" && isFile(data)) this.#files++;
    else if (type === "test:complete" && isFile(data)) return this.#endOfFile(data);
    else if (type === "test:start") this.#names.splice(data.nesting, Infinity, data);
    else if (type === "test:fail") this.#fail(data);
    else if (type === "test:stdout" || type === "test:stderr") this.#keep(data);
    else if (type === "test:diagnostic") this.#total(data.message);
  }

  summary() {
    const { pass = 0, fail = 0, cancelled = 0, skipped = 0, todo = 0, duration_ms = 0 } = this.#totals;
    const failures = this.#failures.map(
      ({ where, title, error }, index) => `\n${index + 1}. ${where}\n   ${title}\n\n${indent(error)}\n`,
    );
    const printed = [...this.#failedFiles].filter((file) => this.#printed.has(file));
    const output = printed.map((file) => `\n${file} printed\n\n${indent(toSource(this.#printed.get(file)))}\n`);
    const left = skipped + todo > 0 ? `, ${skipped + todo} skipped` : "";
    const totals = `${pass} passed, ${fail + cancelled} failed${left}`;
    const files = `${this.#ended} files, ${this.#failedFiles.size} of them failed`;
    return `${failures.join("")}${output.join("")}\n${totals} (${files}; ${Math.round(duration_ms / 1000)} s)\n`;
  }

  #endOfFile({ file, details }) {
    const name = nameOf(file);
    const passed = details.passed ?? details.error === undefined;
    if (!passed) this.#failedFiles.add(name);
    this.#ended++;
    const count = `${this.#ended}`.padStart(`${this.#files}`.length);
    const seconds = (details.duration_ms / 1000).toFixed(1).padStart(6);
    return `${passed ? "passed" : "FAILED"} ${seconds} s  ${count}/${this.#files}  ${name}\n`;
  }

  #fail({ name, file, line, column, nesting, details: { error } }) {
    // The failure of a test within it has been told already.
    if (error?.failureType === "subtestsFailed") return;
    const isWhole = isFile({ name, file, nesting });
    const title = isWhole ? "the file itself" : shorten([...this.#outer(file, nesting), name].join(" › "));
    this.#failures.push({ where: placeOf(file, isWhole ? undefined : line, column), title, error: describe(error) });
  }

  #outer(file, nesting) {
    const outer = this.#names.slice(0, nesting).filter((test) => test.file === file);
    return outer.map(({ name }) => name);
  }

  #keep({ file, message }) {
    if (file === undefined) return; // The runner does not know who printed it.
    const name = nameOf(file);
    const text = (this.#printed.get(name) ?? "") + stripVTControlCharacters(message);
    this.#printed.set(name, text.slice(-MAX_OUTPUT));
  }

  #total(message) {
    const [, name, value] = /^(\w+) ([\d.]+)$/.exec(message) ?? [];
    if (name !== undefined) this.#totals[name] = Number(value);
  }
}

/** Whether an event is about a whole test file, which the runner takes for a test of that name. */
function isFile({ name, file, nesting }) {
  return nesting === 0 && file !== undefined && resolve(name) === file;
}

/** The source file's path from here, also of a compiled one. */
function nameOf(file) {
  return relative("", file).replace(/^\.tap\/built\/\d+\/(.*)\.js$/, "$1.ts");
}

/** An assertion may have all that a program printed for its name. */
function shorten(text) {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE)} …` : line;
}

/** A test that ended with its process may have no place. */
function placeOf(file, line, column) {
  if (file === undefined) return "?";
  return line === undefined ? nameOf(file) : toSource(`${resolve(file)}:${line}:${column}`);
}

/** Maps by compiled file. Only failures need them: a process that loads them for its stacks starts much later. */
const maps = new Map();

/** A text with stacks, their places in the sources. */
function toSource(text) {
  const mapped = text.replace(COMPILED, (place, file, line, column) => {
    const { originalSource, originalLine, originalColumn } = mapOf(file)?.findEntry(line - 1, column - 1) ?? {};
    if (originalSource === undefined) return place;
    return `${join(dirname(file), originalSource)}:${originalLine + 1}:${originalColumn + 1}`;
  });
  return mapped.replace(IN_TAP, "");
}

function mapOf(file) {
  if (!maps.has(file)) {
    const map = `${file}.map`;
    maps.set(file, existsSync(map) ? new SourceMap(JSON.parse(readFileSync(map, "utf8"))) : undefined);
  }
  return maps.get(file);
}

function describe(error) {
  const cause = error?.code === "ERR_TEST_FAILURE" ? (error.cause ?? error) : error;
  return toSource(stripVTControlCharacters(typeof cause === "string" ? cause : inspect(cause, { depth: 8 })));
}

function indent(text) {
  return text.trimEnd().replace(/^(?=.)/gm, "   ");
}
