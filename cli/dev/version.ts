/**
 * One version of a service, in a process of its own. The process is started before the version is
 * built. It loads the kit (`portico/service`), which takes longer than the rest of a start, and
 * then waits.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { DEV_FOLDER } from "./bundle.js";
import { END_WITH_PARENT } from "./end-with-parent.js";

/** Maximum time that a version has to finish its calls, in milliseconds. Then it is killed. */
const STOP_MS = 12_000;

/** The program of the process: it runs the bundle when it receives a message. */
const PROGRAM = `
  process.once("message", () => {
    process.argv[1] = process.cwd() + "/${DEV_FOLDER}/main.js";
    import("./${DEV_FOLDER}/main.js");
  });
  import("portico/service");
`;

export interface VersionOptions {
  /** The folder of the service, with the bundle in it. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Called with each line that the version prints. */
  readonly onLine: (line: string) => void;
}

export class Version {
  readonly #child: ChildProcess;
  #how: string | undefined;
  /** Resolves when the process has ended, with a text such as `ended with exit code 1`. */
  readonly ended: Promise<string>;

  constructor({ folder, env, onLine }: VersionOptions) {
    const args = [END_WITH_PARENT, "--enable-source-maps", "--input-type=module", "--eval", PROGRAM];
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe", "pipe", "ipc"] });
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

  /** Runs the bundle in the folder. */
  run(): void {
    this.#child.send("run", () => {}); // If the process has ended, `ended` reports it.
  }

  /** How the process has ended, or undefined while it runs. */
  get how(): string | undefined {
    return this.#how;
  }

  /**
   * Makes the version leave the registry and finish its calls. Resolves when the process has ended.
   */
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
