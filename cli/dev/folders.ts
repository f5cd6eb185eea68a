/** Finds the services below a folder. */
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";

/** What is never a service's own: packages, what is built, and hidden folders such as `.git`. */
const OTHERS = /^(?:node_modules|dist|gen|\..+)$/;
/** How many folders deep services are looked for. */
const MAX_DEPTH = 4;

/** Whether nothing in a folder or file of this path is to be looked at. */
export function isIgnored(path: string): boolean {
  return OTHERS.test(basename(path));
}

/** The folders, this one or below it, that have a `main.ts` and a folder `proto`. */
export function findServices(root: string, depth = 0): string[] {
  if (existsSync(join(root, "main.ts")) && existsSync(join(root, "proto"))) return [root];
  if (depth === MAX_DEPTH) return [];
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name }) => (isIgnored(name) ? [] : findServices(join(root, name), depth + 1))).sort();
}
