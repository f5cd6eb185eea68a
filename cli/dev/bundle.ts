/**
 * Bundles `main.ts` of a service with its own files, using esbuild. `portico dev` leaves packages
 * out and writes to `.portico/`, so that `dist/` has only what `portico build` has made.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { BuildContext, BuildFailure, BuildOptions, Message } from "esbuild";
import type { SourceProblem } from "./problem.js";

/** The folder in the service's folder for what `portico dev` runs. Git ignores it. */
export const DEV_FOLDER = ".portico";

/** The result of bundling. */
export interface Bundled {
  readonly problems: readonly SourceProblem[];
  /**
   * Identifies the code: it changes when the code changes, but not when only source positions
   * change. Empty if there is no code.
   */
  readonly hash: string;
}

/** The bundler of one service. It caches what it has read for the next time. */
export class Bundler {
  readonly #folder: string;
  readonly #context: Promise<BuildContext<{ metafile: true; write: false }>>;
  #inputs: ReadonlySet<string> = new Set();

  /**
   * @param entries file names in the folder.
   * @param more options, such as those that also bundle packages.
   */
  constructor(
    esbuild: typeof import("esbuild"),
    folder: string,
    entries: readonly string[] = ["main.ts"],
    more: BuildOptions = {},
  ) {
    this.#folder = folder;
    this.#context = esbuild.context({
      absWorkingDir: folder,
      entryPoints: [...entries],
      outdir: DEV_FOLDER,
      bundle: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "node20",
      sourcemap: true,
      logLevel: "silent",
      ...more,
      metafile: true,
      write: false,
    });
  }

  /** Whether a file is part of the last bundle. */
  includes(file: string): boolean {
    return this.#inputs.has(file);
  }

  /** Writes the bundle, unless there are problems. */
  async bundle(): Promise<Bundled> {
    const context = await this.#context;
    try {
      const { metafile, outputFiles } = await context.rebuild();
      this.#inputs = new Set(Object.keys(metafile.inputs).map((file) => resolve(this.#folder, file)));
      const hash = outputFiles.flatMap((file) => (file.path.endsWith(".js") ? [file.hash] : [])).join();
      for (const { path, contents } of outputFiles) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, contents);
      }
      return { problems: [], hash };
    } catch (error) {
      if (!isBuildFailure(error)) throw error;
      return { problems: error.errors.map((message) => problemOf(message, this.#folder)), hash: "" };
    }
  }

  async close(): Promise<void> {
    await (await this.#context).dispose();
  }
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

function problemOf({ text, location }: Message, folder: string): SourceProblem {
  if (location === null) return { message: text };
  const { file, line, column, length } = location;
  return { file: resolve(folder, file), line, column: column + 1, length, message: text };
}
