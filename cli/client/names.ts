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

/** `the service shop`, or `the services shop, stock`. */
export function inWords(contracts: readonly ServiceContract[]): string {
  return `the service${contracts.length === 1 ? "" : "s"} ${contracts.map(({ name }) => name).join(", ")}`;
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
 * @param shared names that types of other services in the same file have too: there, the name
 * begins with the service's, `HelloworldCallRequest`
 */
export function typeNames(
  contract: ServiceContract,
  scope: Scope,
  shared: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const all = typesOf(contract);
  const short = all.map(shortName);
  return new Map(
    all.map((name, at) => {
      const own = short[at] ?? "";
      const unique = short.indexOf(own) === short.lastIndexOf(own) ? own : pascal(name);
      return [name, scope.add(shared.has(own) ? pascal(contract.name) + unique : unique)];
    }),
  );
}

/** The short names that types of several services have. */
export function sharedNames(contracts: readonly ServiceContract[]): ReadonlySet<string> {
  const known = new Set<string>();
  const shared = new Set<string>();
  for (const contract of contracts) {
    const own = new Set(typesOf(contract).map(shortName));
    for (const name of own) (known.has(name) ? shared : known).add(name);
  }
  return shared;
}

function typesOf({ messages, enums }: ServiceContract): string[] {
  return [...messages, ...enums].map(({ name }) => name);
}

function shortName(name: string): string {
  return pascal(withoutPackage(name));
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
