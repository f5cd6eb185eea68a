/** Bundles programs that tests run as separate processes, so that they start quickly. */
import { basename, join } from "node:path";
import { build } from "esbuild";

/**
 * Bundles a TypeScript program into the folder, which must be inside the repository.
 * @returns the path of the bundle
 */
export async function bundleInto(folder: string, source: string): Promise<string> {
  const program = join(folder, basename(source).replace(/\.ts$/, ".mjs"));
  await build({
    entryPoints: [source],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["sqlite3"],
    // CommonJS packages in the bundle use these names.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url); const __dirname = "";',
    },
  });
  return program;
}
