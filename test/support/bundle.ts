/** Bundles programs of the tests, which run as processes of their own and start quickly so. */
import { basename, join } from "node:path";
import { build } from "esbuild";

/** Bundles a TypeScript program into the folder, which must be inside of the repository. Gives the program's file. */
export async function bundleInto(folder: string, source: string): Promise<string> {
  const program = join(folder, basename(source).replace(/\.ts$/, ".mjs"));
  await build({
    entryPoints: [source],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["sqlite3"],
    // Packages that are CommonJS want these.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url); const __dirname = "";',
    },
  });
  return program;
}
