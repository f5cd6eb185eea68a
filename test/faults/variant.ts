/**
 * The program with one safeguard taken out, so that each test of a fault can be seen to fail.
 *
 * A safeguard is named by its very text in the source. When that text is gone or stands there twice, the build fails: a
 * safeguard that was rewritten must be named anew here.
 */
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface Safeguard {
  /** What it does, as a sentence. */
  readonly name: string;
  /** The source file, from the root of the repository. */
  readonly file: string;
  /** The texts that make it, each with what takes its place. */
  readonly edits: readonly (readonly [text: string, without: string])[];
}

type BundleProgram = (
  bundle: (options: BuildOptions) => unknown,
  folder: string,
  plugins: Plugin[],
) => Promise<unknown>;

/**
 * Builds the program without the safeguard and gives the path of its entry.
 * @param name of the folder that is made for it; one that is there is replaced
 */
export async function buildWithout(safeguard: Safeguard, name: string): Promise<string> {
  const { bundleProgram } = (await import(resolve("scripts/build.mjs"))) as { bundleProgram: BundleProgram };
  // Below the root, so that the packages are found.
  const folder = resolve(".tap/faults", name);
  rmSync(folder, { recursive: true, force: true });
  await bundleProgram(build, folder, [takeOut(safeguard)]);
  cpSync("dist/console", join(folder, "console"), { recursive: true });
  return join(folder, "portico.js");
}

/**
 * The source file without the safeguard.
 * @throws {Error} where a text of the safeguard is gone, or stands there twice
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

function takeOut(safeguard: Safeguard): Plugin {
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
