/**
 * Packages with native code, such as sqlite3. esbuild cannot bundle them: they find their binaries
 * next to their own files. So they are copied next to the bundle, for all systems that they have
 * binaries for: a folder that was built on one system runs on another.
 */
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import type { Plugin } from "esbuild";

/** Files from which native code is compiled, types and texts. Node loads none of them. */
const SOURCES = new Set([".c", ".cc", ".cpp", ".h", ".gyp", ".gypi", ".md", ".map", ".ts"]);
/** What a package has that compiles native code, or brings it compiled. */
const MARKS = ["binding.gyp", "prebuilds"];
/** Keeps the plugin's own question from coming back to it. */
const ASKED = Symbol("asked");

/** Leaves packages with native code out of a bundle, and adds their folders to `found`, by name. */
export function nativePackages(found: Map<string, string>): Plugin {
  return {
    name: "native-packages",
    setup(build) {
      // Names of packages begin with neither `.` nor `/`.
      build.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...rest }) => {
        if (pluginData === ASKED || path.startsWith("node:")) return undefined;
        const { kind, importer, resolveDir } = rest;
        const resolved = await build.resolve(path, { kind, importer, resolveDir, pluginData: ASKED });
        if (resolved.external || resolved.errors.length > 0) return undefined;
        const name = nameOf(path);
        const folder = folderOf(resolved.path, name);
        if (folder === undefined || !MARKS.some((mark) => existsSync(join(folder, mark)))) return undefined;
        found.set(name, folder);
        return { path, external: true };
      });
    },
  };
}

/** Copies packages with their dependencies into a folder `node_modules`. */
export function copyPackages(packages: ReadonlyMap<string, string>, modules: string): void {
  for (const [name, folder] of packages) {
    const copy = join(modules, name);
    cpSync(folder, copy, { recursive: true, dereference: true, filter: isLoaded });
    copyPackages(dependenciesOf(folder), join(copy, "node_modules"));
  }
}

function isLoaded(path: string): boolean {
  if (path.endsWith("/node_modules")) return false;
  return statSync(path).isDirectory() ? readdirSync(path).length > 0 : !SOURCES.has(extname(path));
}

/** The folders of the packages that a package needs, by name. */
function dependenciesOf(folder: string): Map<string, string> {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const paths = createRequire(join(folder, "package.json")).resolve.paths("x") ?? [];
  return new Map(
    Object.keys(dependencies).flatMap((name): [string, string][] => {
      const found = paths.map((modules) => join(modules, name)).find((path) => existsSync(join(path, "package.json")));
      return found === undefined ? [] : [[name, found]];
    }),
  );
}

/** `@scope/name` of `@scope/name/file.js`. */
function nameOf(path: string): string {
  return path
    .split("/")
    .slice(0, path.startsWith("@") ? 2 : 1)
    .join("/");
}

/** The folder of the package that a file belongs to. */
function folderOf(file: string, name: string): string | undefined {
  const folder = dirname(file);
  if (existsSync(join(folder, "package.json")) && (folder.endsWith(`/${name}`) || hasName(folder))) return folder;
  return folder === file ? undefined : folderOf(folder, name);
}

/** Whether a folder is a package: a package.json without a name only says how files are read. */
function hasName(folder: string): boolean {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).name !== undefined;
}
