/**
 * A service that `portico dev` runs. After each change of its files the service is built, and its
 * new version is started. The old version serves until the new one has registered:
 *
 *     change → contract (buf) → generated code (ts-proto) → bundle (esbuild)
 *            → new version registers → old version stops
 *
 * If a step fails, its problems are shown, and the old version continues to serve. Types are
 * checked in parallel.
 */
import { basename, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Bundler } from "./bundle.js";
import { compileContract, contractFiles, hasCall, serviceNamesOf } from "./contract.js";
import type { DevGateway } from "./dev-gateway.js";
import { CodeGenerator } from "./generated-code.js";
import type { Printer } from "./printer.js";
import type { SourceProblem } from "./problem.js";
import { RunningService } from "./running.js";
import type { Tools } from "./tools.js";
import { TypeChecker } from "./type-checker.js";

/**
 * How long to wait for further changes, in milliseconds: editors write a file in several steps.
 * chokidar does not report a change less than 50 ms after another change of the same file.
 */
const SETTLE_MS = 60;

export interface DevServiceOptions {
  readonly folder: string;
  readonly tools: Tools;
  readonly gateway: DevGateway;
  readonly printer: Printer;
  /** The environment of each version. */
  readonly env: NodeJS.ProcessEnv;
}

export class DevService {
  readonly #options: DevServiceOptions;
  readonly #name: string;
  readonly #bundler: Bundler;
  readonly #generator: CodeGenerator;
  /**
   * Created when there is generated code. Without generated code it would report errors that are
   * not real.
   */
  #checker: TypeChecker | undefined;
  readonly #running: RunningService;
  /** Names under which the service may register. */
  #names: readonly string[] = [];
  /**
   * The part of the shown URL before the service's name. It is empty for a service with an endpoint
   * `Call`, which that URL calls. Otherwise it is `/explore`, and the URL is the service's page.
   */
  #path = "";
  /** The hash of the code of the version that serves (see `Bundled.hash`). */
  #served = "";
  /** The files of the contract that was compiled last; undefined if it had problems. */
  #compiled: string | undefined;
  /** Whether the last build failed. */
  #failed = false;
  /** The type problems that were shown last. */
  #typeProblems: readonly SourceProblem[] = [];
  /** Aborted by the next change, because the work in progress is then out of date. */
  #reload = new AbortController();
  #reloading: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: DevServiceOptions) {
    const { folder, tools, env, gateway, printer } = options;
    const name = basename(folder);
    this.#options = options;
    this.#name = name;
    this.#bundler = new Bundler(tools.esbuild, folder);
    this.#generator = new CodeGenerator(tools.tsProto);
    this.#running = new RunningService({
      folder,
      env,
      instances: gateway.instances,
      onLine: (line) => printer.output(name, line),
      onEnded: (how) => printer.failure(`${name} ${how}. It starts again when one of its files is saved`, []),
    });
    this.#prepare();
  }

  /** Whether a file belongs to the service. */
  includes(file: string): boolean {
    return file.startsWith(join(this.#options.folder, "/")) || this.#bundler.includes(file);
  }

  /**
   * Builds the service and starts its first version. Resolves when the version serves, or when its
   * problems were shown.
   */
  start(): Promise<void> {
    return this.#schedule();
  }

  /** One of the service's files has changed. */
  onChange(): void {
    void this.#schedule();
  }

  /** Stops the running version, the bundler and the type checker. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#reload.abort();
    this.#checker?.close();
    this.#generator.close();
    await this.#reloading;
    await Promise.all([this.#running.close(), this.#bundler.close()]);
  }

  #schedule(): Promise<void> {
    const since = performance.now();
    this.#reload.abort();
    this.#reload = new AbortController();
    const { signal } = this.#reload;
    this.#reloading = this.#reloading.then(async () => {
      await wait(SETTLE_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted || this.#closed) return;
      const problems = await this.#build(signal, since).catch((error: Error) => [{ message: error.message }]);
      this.#prepare();
      if (signal.aborted) return;
      this.#failed = problems.length > 0;
      if (!this.#failed) return;
      const state = this.#running.isRunning ? "is not reloaded; its last version serves on" : "is not running";
      this.#options.printer.failure(`${this.#name} ${state}`, problems);
    });
    return this.#reloading;
  }

  /**
   * Starts the processes that the next reload needs. It is called between reloads, because the
   * start of these processes would slow a reload down.
   */
  #prepare(): void {
    if (this.#closed) return;
    this.#generator.prepare();
    this.#running.prepare();
  }

  /**
   * Builds the service, and replaces the running version if the code has changed. Returns the
   * problems that prevented this.
   */
  async #build(signal: AbortSignal, since: number): Promise<readonly SourceProblem[]> {
    // The files are compared, because a watcher may miss one in a new folder.
    const files = contractFiles(this.#options.folder);
    if (files !== this.#compiled) {
      // A change that comes meanwhile is for the next build.
      this.#compiled = files;
      const problems = await this.#compile().catch((error: Error) => [{ message: error.message }]);
      if (problems.length > 0) this.#compiled = undefined;
      if (problems.length > 0 || signal.aborted) return problems;
    }
    const { problems, hash } = await this.#bundler.bundle();
    const isServed = this.#running.isRunning && hash === this.#served;
    if (problems.length > 0 || signal.aborted) return problems;
    if (isServed) {
      if (this.#failed) this.#options.printer.servingStill(this.#name);
      return [];
    }
    const what = this.#running.isRunning ? "reloaded" : "started";
    const outcome = await this.#running.replace(this.#names, signal);
    if (outcome === "given up") return [];
    if ("failure" in outcome)
      return [{ message: `The new version ${outcome.failure}:` }, ...printedBy(outcome.printed)];
    this.#served = hash;
    const { gateway, printer } = this.#options;
    const url = `${gateway.url}${this.#path}/${outcome.service}`;
    printer.serving(this.#name, what, performance.now() - since, url);
    return [];
  }

  /**
   * Compiles the contract, and writes the code generated from it. Returns the problems of the
   * contract.
   */
  async #compile(): Promise<readonly SourceProblem[]> {
    const { folder, tools, gateway } = this.#options;
    const compiled = await compileContract(tools.buf, folder);
    if ("problems" in compiled) return compiled.problems;
    this.#names = serviceNamesOf(compiled.descriptors);
    this.#path = hasCall(compiled.descriptors) ? "" : "/explore";
    for (const name of this.#names) await gateway.enrol(name);
    await this.#generator.generate(compiled, folder);
    if (!this.#closed) this.#checker ??= new TypeChecker(tools.tsc, folder, (problems) => this.#onChecked(problems));
    return [];
  }

  #onChecked(problems: readonly SourceProblem[]): void {
    const { printer } = this.#options;
    const before = JSON.stringify(this.#typeProblems);
    const [name, count] = [this.#name, `${problems.length} type error${problems.length === 1 ? "" : "s"}`];
    if (problems.length === 0 && before !== "[]") printer.say(`${name} has no type errors any more`);
    else if (problems.length > 0 && before === JSON.stringify(problems)) printer.say(`${name} still has ${count}`);
    else if (problems.length > 0) printer.failure(`${name} has ${count}`, problems);
    this.#typeProblems = problems;
  }
}

/** What a process printed before it ended, without the lines that concern only Node. */
function printedBy(lines: readonly string[]): SourceProblem[] {
  const own = lines.filter((line) => !/^(?:Node\.js v|\s+at .*\(?node:)/.test(line));
  return [{ message: own.join("\n").trim() }];
}
