/** Finds the services below a folder. */
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";

/**
 * Folders that never contain a service's own source: packages, build results, and hidden folders
 * such as `.git`.
 */
const OTHERS = /^(?:node_modules|dist|gen|\..+)$/;
/** Maximum depth of the folders in which services are searched. */
const MAX_DEPTH = 4;

/** Whether a file or folder with this path is ignored, with everything in it. */
export function isIgnored(path: string): boolean {
  return OTHERS.test(basename(path));
}

/** All folders with a `main.ts` and a folder `proto`: this one and those below it. */
export function findServices(root: string, depth = 0): string[] {
  if (existsSync(join(root, "main.ts")) && existsSync(join(root, "proto"))) return [root];
  if (depth === MAX_DEPTH) return [];
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name }) => (isIgnored(name) ? [] : findServices(join(root, name), depth + 1))).sort();
}
