/**
 * The names that all services share: full names of gRPC services, by which clients of gRPC,
 * gRPC-Web and Connect call, and paths of `google.api.http` annotations. Two services may declare
 * the same name. Then gateways serve it for only one of them; a gRPC name is served for its owner.
 * The other service's name is reported as a problem to the operators.
 */

import { builtInOverlapOf } from "../../src/contract/built-in-routes.js";
import { bindingsOf } from "../../src/contract/http-rule.js";
import { shapeOf } from "../../src/contract/path-template.js";
import type { CheckedContract } from "./contract.js";
import type { NameOwners } from "./name-owners.js";

/** A name that is not served as it is declared. */
export interface NameProblem {
  /** For the operator of the service. */
  readonly text: string;
  /** The other service with the name, if there is one. */
  readonly other: string | undefined;
}

/** The shared names that a contract declares. */
interface Names {
  readonly prefix: string;
  readonly grpcServices: readonly string[];
  /** Method and shape of each path, `GET /shelves/*`. */
  readonly paths: readonly string[];
  /** The problems of its annotations. */
  readonly errors: readonly string[];
}

/** The maximum number of problems that are reported for a service. */
const MAX_PROBLEMS = 20;

export class SharedNames {
  readonly #owners: Pick<NameOwners, "ownerOf">;
  /**
   * For each name, the services that declare it, in the order in which they joined, with the number
   * of their instances.
   */
  readonly #holders = new Map<string, Map<string, number>>();

  constructor(owners: Pick<NameOwners, "ownerOf">) {
    this.#owners = owners;
  }

  /** The services that declare a name, in the order in which they joined. */
  holdersOf(name: string): string[] {
    return [...(this.#holders.get(name)?.keys() ?? [])];
  }

  add(service: string, contract: CheckedContract, prefix: string): void {
    for (const name of allOf(namesOf(contract, prefix))) {
      const holders = this.#holders.get(name) ?? new Map<string, number>();
      this.#holders.set(name, holders.set(service, (holders.get(service) ?? 0) + 1));
    }
  }

  delete(service: string, contract: CheckedContract, prefix: string): void {
    for (const name of allOf(namesOf(contract, prefix))) {
      const holders = this.#holders.get(name);
      const left = (holders?.get(service) ?? 0) - 1;
      if (left > 0) holders?.set(service, left);
      else holders?.delete(service);
      if (holders?.size === 0) this.#holders.delete(name);
    }
  }

  /**
   * The names that are not served as the service's contract declares them.
   * @param free gRPC names that are about to become its own
   */
  problemsOf(
    service: string,
    contract: CheckedContract,
    prefix: string,
    free: ReadonlySet<string> = new Set(),
  ): NameProblem[] {
    const { grpcServices, paths, errors } = namesOf(contract, prefix);
    const problems: NameProblem[] = errors.map((text) => ({ text, other: undefined }));
    for (const name of grpcServices) {
      if (free.has(name)) continue;
      const other = this.#owners.ownerOf(name);
      if (other === undefined) problems.push({ text: notOwned(name, service), other });
      else if (other !== service) problems.push({ text: ownedBy(other, name, service), other });
    }
    for (const path of paths) {
      for (const other of this.#others(service, path)) {
        const called = service < other ? service : other;
        problems.push({ text: `${path} is a path of ${other} too; it calls ${called}`, other });
      }
    }
    return problems.slice(0, MAX_PROBLEMS);
  }

  #others(service: string, name: string): string[] {
    return this.holdersOf(name).filter((other) => other !== service);
  }
}

function ownedBy(owner: string, name: string, service: string): string {
  const only = `gRPC, gRPC-Web and Connect reach ${service} by it with the header Portico-Service: ${service} only`;
  return `the gRPC name ${name} belongs to ${owner}: ${only}; portico services release ${owner} ${name} changes that`;
}

/**
 * The problem of a declared name without an owner. Either the service already owns the maximum
 * number of names, or the name was released while the service declared it.
 */
function notOwned(name: string, service: string): string {
  return `the gRPC name ${name} belongs to no service, and another one may take it: start ${service} again, or where it owns 1,000 names, the most, release some (portico services release)`;
}

function allOf({ grpcServices, paths }: Names): Iterable<string> {
  return new Set([...grpcServices, ...paths]);
}

/** Caches the names of each contract. Instances with one contract share them. */
const read = new WeakMap<CheckedContract, Names>();

/** The problems of a contract's annotations, including paths that are not reached. */
export function problemsOf(contract: CheckedContract, prefix: string): readonly string[] {
  return namesOf(contract, prefix).errors;
}

function namesOf(contract: CheckedContract, prefix: string): Names {
  const known = read.get(contract);
  if (known?.prefix === prefix) return known;
  const paths = new Set<string>();
  const errors: string[] = [];
  for (const { name, method } of contract.endpoints) {
    const { bindings, problems } = bindingsOf(method, prefix);
    errors.push(...problems.map((problem) => `${name}: ${problem}`));
    for (const { httpMethod, template } of bindings) {
      const builtIn = builtInOverlapOf(template, httpMethod);
      if (builtIn !== undefined) errors.push(`${name}: ${builtIn.text}`);
      if (!builtIn?.isWhole) paths.add(`${httpMethod} ${shapeOf(template)}`);
    }
  }
  const names = { prefix, grpcServices: contract.grpcServices, paths: [...paths], errors };
  read.set(contract, names);
  return names;
}
