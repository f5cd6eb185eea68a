// What a test run prints: a line for each file as soon as it has ended, then each failure in full
// with the output of its process, then the totals, on a line that .ci/run adds up. Node's test
// runner loads it (--test-reporter).
//
// The runner knows only processes, and each process runs several test files. A file is a test at
// the outermost level of its process.
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { inspect, stripVTControlCharacters } from "node:util";
import { nameOfBatch } from "./test-batch.mjs";

/** The test files of each process, as scripts/test.mjs passes them. */
const PROCESSES = JSON.parse(process.env.TEST_FILES);
const FILES = new Set(PROCESSES.flat());
/** Maximum characters of a process's output. Earlier output is omitted. */
const MAX_OUTPUT = 16_384;
/** A place in a compiled file, in the form of stacks. */
const COMPILED = /(?:file:\/\/)?(?:[^\s():]*\/)?(\.tap\/built\/\d+\/[^():]+\.js):(\d+):(\d+)/g;
/** A stack line inside tap, which says nothing about the test. */
const IN_TAP = /\n *at [^\n]*\bnode_modules\/(?:@tapjs|tap|async-hook-domain)\/[^\n{]*/g;
/** The start of the source lines in tap's text of a failure. */
const SOURCE_LINES = /\n *\| /;
/** Begins a line on stderr that is shown even if the test passes: a measured value, a seed. */
const NOTE = "note: ";
/** Maximum characters of the names that lead to a failed test. */
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
  /** Whether each file that has ended passed. */
  #ended = new Map();
  #failures = [];
  /** The printed text of each program. */
  #printed = new Map();
  /** Programs that failed. */
  #failed = new Set();
  /**
   * The names of the tests that the runner is reporting, from the outermost, which is the file's,
   * to the innermost.
   */
  #names = [];
  #totals = {};

  /** Returns the text to print for an event, if any. */
  take(type, data) {
    if (type === "test:start") this.#names.splice(data.nesting, Infinity, data.name);
    else if (type === "test:complete" && isProgram(data)) this.#endOfProgram(data);
    else if (type === "test:fail") this.#fail(data);
    else if (type === "test:stderr" && data.message.startsWith(NOTE)) return data.message.slice(NOTE.length);
    else if (type === "test:stdout" || type === "test:stderr") this.#keep(data);
    else if (type === "test:diagnostic") this.#total(data.message);
    if ((type === "test:pass" || type === "test:fail") && isFile(data))
      return this.#endOfFile(data, type === "test:pass");
  }

  summary() {
    const { pass = 0, fail = 0, cancelled = 0, skipped = 0, todo = 0, duration_ms = 0 } = this.#totals;
    const failures = this.#failures.map(
      ({ where, title, error }, index) => `\n${index + 1}. ${where}\n   ${title}\n\n${indent(error)}\n`,
    );
    const missing = [...FILES].filter((file) => !this.#ended.has(file));
    const unended = missing.map((file) => `\n${file} did not end: its process did${runningIn(file)}\n`);
    const printed = [...this.#failed].filter((program) => this.#printed.has(program));
    const output = printed.map(
      (program) => `\n${filesOf(program).join(", ")} printed\n\n${indent(toSource(this.#printed.get(program)))}\n`,
    );
    const left = skipped + todo > 0 ? `, ${skipped + todo} skipped` : "";
    const totals = `${pass} passed, ${fail + cancelled + missing.length} failed${left}`;
    if (missing.length > 0) process.exitCode = 1; // The runner may treat the process's end as success.
    const failed = missing.length + [...this.#ended.values()].filter((passed) => !passed).length;
    const files = `${FILES.size} files, ${failed} of them failed`;
    const all = [...failures, ...unended, ...output].join("");
    return `${all}\n${totals} (${files}; ${Math.round(duration_ms / 1000)} s)\n`;
  }

  #endOfFile({ name, details }, passed) {
    this.#ended.set(name, passed);
    const count = `${this.#ended.size}`.padStart(`${FILES.size}`.length);
    const seconds = (details.duration_ms / 1000).toFixed(1).padStart(6);
    const line = `${passed ? "passed" : "FAILED"} ${seconds} s  ${count}/${FILES.size}  ${name}\n`;
    return line + (passed ? "" : this.#reasons(name));
  }

  /**
   * The reasons why a file failed, in short. They are enough for a reader who sees only the
   * beginning of the output, for example in a truncated log.
   */
  #reasons(name) {
    const own = this.#failures.filter(({ file }) => file === name);
    return own.map(({ title, error }) => `   ${title}: ${shorten(error.split(SOURCE_LINES)[0])}\n`).join("");
  }

  #endOfProgram({ file, details }) {
    if (!(details.passed ?? details.error === undefined)) this.#failed.add(file);
  }

  #fail({ name, file, line, column, nesting, details: { error } }) {
    // The failure of the inner test has been reported already.
    if (error?.failureType === "subtestsFailed") return;
    const isWhole = isProgram({ name, file, nesting });
    const title = isWhole ? "the process itself" : shorten([...this.#names.slice(1, nesting), name].join(" › "));
    const where = isWhole ? filesOf(file).join(", ") : placeOf(file, line, column);
    this.#failures.push({ file: this.#names[0], where, title, error: describe(error) });
  }

  #keep({ file, message }) {
    if (file === undefined) return; // The runner does not know which process printed it.
    const text = (this.#printed.get(file) ?? "") + stripVTControlCharacters(message);
    this.#printed.set(file, text.slice(-MAX_OUTPUT));
  }

  #total(message) {
    const [, name, value] = /^(\w+) ([\d.]+)$/.exec(message) ?? [];
    if (name !== undefined) this.#totals[name] = Number(value);
  }
}

/**
 * Whether an event is about a whole process. The runner treats a process as a test with the
 * program's name.
 */
function isProgram({ name, file, nesting }) {
  return nesting === 0 && file !== undefined && resolve(name) === file;
}

function isFile({ name, nesting }) {
  return nesting === 0 && FILES.has(name);
}

/** The test files that a compiled program runs. */
function filesOf(program) {
  return PROCESSES[Number(basename(program).replace(/\D/g, ""))] ?? [relative("", program)];
}

/**
 * The tests of a file that were running when its process ended, as the continuation of a sentence.
 */
function runningIn(file) {
  const batch = PROCESSES.findIndex((files) => files.includes(file));
  const note = join(process.env.TEST_RUN_FOLDER, `${nameOfBatch(batch)}.js.running`);
  const running = existsSync(note) ? JSON.parse(readFileSync(note, "utf8").split("\n", 1)[0] || "[]") : [];
  const own = running.filter(([first, ...names]) => first === file && names.length > 0);
  if (own.length === 0) return ", before it had begun a test";
  const innermost = own.filter(
    (path) => !own.some((other) => other.length > path.length && `${other}`.startsWith(`${path},`)),
  );
  return `, during\n${innermost.map(([, ...names]) => `   ${shorten(names.join(" › "))}`).join("\n")}`;
}

/** The name of an assertion may contain all output of a program. */
function shorten(text) {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE)} …` : line;
}

/** A test that ended with its process may have no place. */
function placeOf(file, line, column) {
  return file === undefined || line === undefined ? "?" : toSource(`${resolve(file)}:${line}:${column}`);
}

/**
 * Source maps by compiled file. Only failures need them: a process that loads them for its stacks
 * starts much later.
 */
const maps = new Map();

/** A text whose stacks refer to places in the sources. */
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
