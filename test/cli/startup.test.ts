// The command line starts fast, because it loads no code of a server until a role starts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

/** Static imports of a bundled file. */
const IMPORT = /^(?:import|\} from) "\.\/([^"]+)";$/gm;
/** In bytes: half more than there is now. With the gRPC transport and the registry it is 1.5 MB. */
const MAX_LOADED = 600_000;

/** The files that Node loads before the program runs, with their sizes. */
function loadedBy(entry: string, loaded = new Map<string, number>()): Map<string, number> {
  if (loaded.has(entry)) return loaded;
  const text = readFileSync(join("dist", entry), "utf8");
  loaded.set(entry, text.length);
  for (const [, file] of text.matchAll(IMPORT)) loadedBy(file!, loaded);
  return loaded;
}

t.test("a command loads little code", async (t) => {
  const loaded = loadedBy("portico.js");
  const total = [...loaded.values()].reduce((sum, size) => sum + size, 0);
  t.ok(loaded.size > 5, "the imports were found");
  t.ok(total < MAX_LOADED, `${total} bytes in ${[...loaded.keys()].join(", ")}`);
});
