/**
 * Names in generated code. They are made from any text, are valid in the language, and unique in
 * their scope.
 */
import type { ServiceContract } from "./contract.js";

/**
 * Text that is safe in a comment: without control characters, and without characters that change
 * the text direction.
 */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes control characters.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g, "");
}

/** The lines of a comment. */
export function linesOf(comment: string): string[] {
  return comment === ""
    ? []
    : plainText(comment)
        .split("\n")
        .map((line) => line.trimEnd());
}

/** `CallRequest` of `call_request`; `_5` of `5`. */
export function pascal(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join("").replace(/^(?=\d|$)/, "_");
}

/** `whoAmI` of `WhoAmI`, `urlOf` of `URLOf`. */
export function camel(name: string): string {
  return pascal(name).replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (start) => start.toLowerCase());
}

/** `who_am_i` of `WhoAmI`. */
export function snake(name: string): string {
  const parted = pascal(name).replace(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$2_");
  return parted.toLowerCase();
}

/** The names in one scope. */
export class Scope {
  readonly #taken: Set<string>;

  /** @param reserved names that have another meaning in the scope */
  constructor(reserved: Iterable<string> = []) {
    this.#taken = new Set(reserved);
  }

  /** The name, with `_` added until it is free. */
  add(name: string): string {
    let free = name;
    while (this.#taken.has(free)) free += "_";
    this.#taken.add(free);
    return free;
  }
}

/**
 * Names of a contract's types, by the full names with packages: `CallRequest` for
 * `helloworld.CallRequest`, `OuterInner` for `shop.Outer.Inner`. The name includes the package if
 * two types would have the same name.
 */
export function typeNames({ messages, enums }: ServiceContract, scope: Scope): ReadonlyMap<string, string> {
  const all = [...messages, ...enums].map(({ name }) => name);
  const short = all.map((name) => pascal(withoutPackage(name)));
  return new Map(
    all.map((name, at) => {
      const own = short[at] ?? "";
      return [name, scope.add(short.indexOf(own) === short.lastIndexOf(own) ? own : pascal(name))];
    }),
  );
}

/**
 * Removes the package from a full name: the segments of a package are in lower case, the names of
 * messages are not.
 */
function withoutPackage(name: string): string {
  const segments = name.split(".");
  const first = segments.findIndex((segment) => /^[^a-z]/.test(segment));
  return segments.slice(first < 0 ? -1 : first).join("_");
}
