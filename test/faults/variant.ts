/**
 * Builds the program without one safeguard. The test of a fault must fail with that program.
 *
 * A safeguard is given as text of the source. The build fails if the text does not occur exactly
 * once. So whoever rewrites a safeguard must also change its text here.
 */
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface Safeguard {
  /** What it does, as a sentence. */
  readonly name: string;
  /** The source file, relative to the root of the repository. */
  readonly file: string;
  /** The texts of the safeguard in the source, each with its replacement. */
  readonly edits: readonly (readonly [text: string, without: string])[];
}

type BundleProgram = (
  bundle: (options: BuildOptions) => unknown,
  folder: string,
  plugins: Plugin[],
) => Promise<unknown>;

/**
 * Builds the program without the safeguard.
 * @param name of the folder for the build; an existing folder is replaced
 * @returns the path of the program
 */
export async function buildWithout(safeguard: Safeguard, name: string): Promise<string> {
  const { bundleProgram } = (await import(resolve("scripts/build.mjs"))) as { bundleProgram: BundleProgram };
  // Below the root of the repository, so that Node finds node_modules.
  const folder = resolve(".tap/faults", name);
  rmSync(folder, { recursive: true, force: true });
  await bundleProgram(build, folder, [removal(safeguard)]);
  cpSync("dist/console", join(folder, "console"), { recursive: true });
  return join(folder, "portico.js");
}

/**
 * Returns the source file without the safeguard.
 * @throws {Error} if a text of the safeguard does not occur exactly once
 */
export function sourceWithout({ file, edits }: Safeguard): string {
  let contents = readFileSync(file, "utf8");
  for (const [text, without] of edits) {
    const parts = contents.split(text);
    if (parts.length !== 2) throw new Error(`${file} has this text ${parts.length - 1} times: ${text}`);
    contents = parts.join(without);
  }
  return contents;
}

function removal(safeguard: Safeguard): Plugin {
  const { file } = safeguard;
  const path = resolve(file);
  return {
    name: "take-out",
    setup(bundler) {
      let replaced = false;
      bundler.onLoad({ filter: /\.ts$/ }, (args) => {
        if (args.path !== path) return undefined;
        replaced = true;
        return { contents: sourceWithout(safeguard), loader: "ts" };
      });
      bundler.onEnd(() => {
        if (!replaced) throw new Error(`${file} is no part of the program`);
      });
    },
  };
}
