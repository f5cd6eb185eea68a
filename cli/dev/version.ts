/**
 * One version of a service, which runs in a process of its own. The process is started before there is a version: it loads
 * the kit, which takes longer than the rest of a start, and waits.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** How long a version may take to finish its calls, in milliseconds; then it is killed. */
const STOP_MS = 12_000;

/**
 * What the process runs: the bundle, once it is told to. It ends when the process that started it is gone, however that
 * ended.
 */
const PROGRAM = `
  process.once("disconnect", () => process.exit());
  process.once("message", () => {
    process.argv[1] = process.cwd() + "/dist/main.js";
    import("./dist/main.js");
  });
  import("portico/service");
`;

export interface VersionOptions {
  /** Of the service: it has `dist/main.js`. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Told of each line that it prints. */
  readonly onLine: (line: string) => void;
}

export class Version {
  readonly #child: ChildProcess;
  #how: string | undefined;
  /** Resolves when the process has ended, with how, such as `ended with exit code 1`. */
  readonly ended: Promise<string>;

  constructor({ folder, env, onLine }: VersionOptions) {
    const args = ["--enable-source-maps", "--input-type=module", "--eval", PROGRAM];
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    this.#child = child;
    this.ended = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(`cannot be started: ${error.message}`));
      child.once("close", (code, signal) =>
        resolve(`ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}`),
      );
    }).then((how) => {
      this.#how = how;
      return how;
    });
    for (const stream of [child.stdout!, child.stderr!]) createInterface({ input: stream }).on("line", onLine);
  }

  /** Runs what was built, `dist/main.js` of the folder. */
  run(): void {
    this.#child.send("run", () => {}); // A process that has ended says so by `ended`.
  }

  /** How the process has ended; undefined while it runs. */
  get how(): string | undefined {
    return this.#how;
  }

  /** Has it leave the registry and finish its calls; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.kill(), STOP_MS);
    await this.ended;
    clearTimeout(late);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
