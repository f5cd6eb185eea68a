/**
 * Parsers for the text of a setting: paths, sizes, times, numbers and lists. Their errors say what
 * is accepted.
 */
import { resolve } from "node:path";
import { NAME } from "../contract/names.js";

/** The values that a shell completes for a setting: words, or the names of files or folders. */
export type Values = readonly string[] | "file" | "folder";

/** Parses the text of a setting. */
export interface Parse<T> {
  /** @throws {SyntaxError} with what is accepted */
  (text: string): T;
  readonly values?: Values;
}

/** A file, as an absolute path. */
export const filePath = Object.assign((path: string) => resolve(path), { values: "file" as const });
/** Separates files, as in PATH. A comma is more usual in the name of a folder. */
export const FILE_SEPARATOR = ":";
/** Files, separated by colons, as absolute paths. */
export const filePaths = Object.assign(
  (text: string): readonly string[] =>
    text.split(FILE_SEPARATOR).map((path) => {
      if (path.trim() === "") throw new SyntaxError("must be a file, or files separated by colons");
      return resolve(path.trim());
    }),
  { values: "file" as const },
);
/**
 * A file, as an absolute path, or `-` for standard output.
 * @param folder that a path is relative to; default the working directory
 */
export const outputPath = Object.assign((path: string, folder = "") => (path === "-" ? path : resolve(folder, path)), {
  values: "file" as const,
});
/** A folder, as an absolute path. */
export const folderPath = Object.assign((path: string) => resolve(path), { values: "folder" as const });

/** One of the given words. */
export function oneOf<const T extends string>(...values: readonly T[]): Parse<T> & { readonly values: readonly T[] } {
  const parse = (text: string): T => {
    const value = values.find((known) => known === text);
    if (value === undefined) throw new SyntaxError(`must be one of ${values.join(", ")}`);
    return value;
  };
  return Object.assign(parse, { values });
}

const trueOrFalse = oneOf("true", "false");
/** `true` or `false`. */
export const boolean = Object.assign((text: string) => trueOrFalse(text) === "true", { values: trueOrFalse.values });

/** The URL of a store; src/store/open.ts opens it. */
export function storeUrl(text: string): string {
  if (/^(?:sqlite:|postgres(?:ql)?:\/\/)/.test(text)) return text;
  throw new SyntaxError("must be sqlite:, sqlite:/path/to/file, or postgres://role:password@host/database");
}

/** Web origins (RFC 6454 §6.2), separated by commas; `*` means any, `none` means none. */
export const origins = listOf("origins such as https://example.com", (origin) =>
  URL.canParse(origin) && new URL(origin).origin === origin ? origin : undefined,
);

/** A web address without a path (RFC 6454 §6.2); a slash at its end is removed. */
export function origin(text: string): string {
  const bare = text.replace(/\/$/, "");
  if (/^https?:/.test(bare) && URL.canParse(bare) && new URL(bare).origin === bare) return bare;
  throw new SyntaxError("must be http:// or https:// and a host, without a path, such as https://api.example.com");
}

/** The base address of a collector: a web address, perhaps with a path. */
export function collectorUrl(text: string): string {
  const url = /^https?:/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && url.username + url.password + url.search + url.hash === "";
  if (isPlain && !text.includes("?") && !text.includes("#")) return url.href.replace(/\/$/, "");
  throw new SyntaxError("must be http:// or https:// and a host, without a query, such as http://127.0.0.1:4318");
}

/** Names of services, separated by commas; `*` means any, `none` means none. */
export const serviceNames = listOf("names of services, such as id", (name) => (NAME.test(name) ? name : undefined));

/**
 * Host names without ports, separated by commas, in lower case; `*` means any, `none` means none.
 */
export const hosts = listOf("host names without ports, such as api.example.com", (name) =>
  /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/i.test(name) ? name.toLowerCase() : undefined,
);

/** `off`, `any`, or host names with or without ports, separated by commas. */
export function documentHosts(text: string): "off" | "any" | readonly string[] {
  if (text === "off" || text === "any") return text;
  return text.split(",").map((entry) => {
    const host = entry.trim().toLowerCase();
    if (/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/.test(host)) return host;
    throw new SyntaxError("must be off, any, or hosts separated by commas, such as claude.ai, 127.0.0.1:8000");
  });
}

/** @param read returns the value of an entry; undefined if the entry is not accepted */
function listOf(what: string, read: (entry: string) => string | undefined): Parse<readonly string[] | "*"> {
  return (text) => {
    if (text === "*") return "*";
    if (text === "none") return [];
    return text.split(",").map((entry) => {
      const value = read(entry.trim());
      if (value === undefined) throw new SyntaxError(`must be *, none, or ${what} (not "${entry.trim()}")`);
      return value;
    });
  };
}

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new SyntaxError(`must be a whole number from ${min} to ${max}`);
    return value;
  };
}

/** A number from `min` to 1, such as `0.1`. */
export function fraction(min: number): Parse<number> {
  return (text) => {
    const value = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= 1)) throw new SyntaxError(`must be a number from ${min} to 1, such as 0.1`);
    return value;
  };
}

/** Reads `512KiB` or `4MiB` as bytes. The bounds are in bytes, too. */
export function bytes(min: number, max: number): Parse<number> {
  const units = { "": 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
  return quantityWithin("size", units, [`${min}`, `${max} bytes`], [min, max], ["16KiB", "512KiB", "4MiB", "1GiB"]);
}

/** Reads `250ms`, `10s`, `5m`, `1h` or `30d` as milliseconds. The bounds are in seconds. */
export function duration(min: number, max: number): Parse<number> {
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  const examples = ["250ms", "2s", "10s", "5m", "1h", "30d", "400d"];
  return quantityWithin("time", units, [`${min}s`, `${max}s`], [min * 1000, max * 1000], examples);
}

/** @param examples an error shows the first three that are within the bounds */
function quantityWithin(
  what: string,
  units: Readonly<Record<string, number>>,
  [from, to]: readonly [string, string],
  [min, max]: readonly [number, number],
  examples: readonly string[],
): Parse<number> {
  const isWithin = (value: number): boolean => value >= min && value <= max;
  const named = examples.filter((example) => isWithin(quantity(example, units))).slice(0, 3);
  const such = named.length === 0 ? "" : `, such as ${named.join(", ").replace(/, ([^,]+)$/, " or $1")}`;
  return (text) => {
    const value = quantity(text, units);
    if (isWithin(value) && (what === "time" || Number.isInteger(value))) return value;
    throw new SyntaxError(`must be a ${what} from ${from} to ${to}${such}`);
  };
}

/** A number with a unit; NaN for anything else. */
export function quantity(text: string, units: Readonly<Record<string, number>>): number {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  return Object.hasOwn(units, unit) ? Number(number) * units[unit]! : Number.NaN;
}

/** Whether a value of a JSON file is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
