/**
 * The names that all services share: full names of gRPC services, by which clients of gRPC, gRPC-Web and Connect call, and the
 * paths of `google.api.http` annotations. Two services may have the same one. Gateways then serve it for one of them: a gRPC
 * name for the service that it belongs to. So the operators are told.
 */

import { builtInOverlapOf } from "../../src/contract/built-in-routes.js";
import { bindingsOf } from "../../src/contract/http-rule.js";
import { shapeOf } from "../../src/contract/path-template.js";
import type { CheckedContract } from "./contract.js";
import type { NameOwners } from "./name-owners.js";

/** Something that is not served as it is declared. */
export interface NameProblem {
  /** For the operator of the service. */
  readonly text: string;
  /** The other service, where there is one. */
  readonly other: string | undefined;
}

/** What a contract has of the names. */
interface Names {
  readonly prefix: string;
  readonly grpcServices: readonly string[];
  /** Method and shape of each path, `GET /shelves/*`. */
  readonly paths: readonly string[];
  /** What is wrong with its annotations. */
  readonly errors: readonly string[];
}

/** Most problems that are told of a service. */
const MAX_PROBLEMS = 20;

export class SharedNames {
  readonly #owners: Pick<NameOwners, "ownerOf">;
  /** By name: how many instances of each service have it, in the order in which the services joined. */
  readonly #holders = new Map<string, Map<string, number>>();

  constructor(owners: Pick<NameOwners, "ownerOf">) {
    this.#owners = owners;
  }

  /** The services that have a name, in the order in which they joined. */
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

  /** What is not served as a contract of the service declares it. */
  problemsOf(service: string, contract: CheckedContract, prefix: string): NameProblem[] {
    const { grpcServices, paths, errors } = namesOf(contract, prefix);
    const problems: NameProblem[] = errors.map((text) => ({ text, other: undefined }));
    for (const name of grpcServices) {
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

/** Where a service owns as many as it may, or a name was released while it had it. */
function notOwned(name: string, service: string): string {
  return `the gRPC name ${name} belongs to no service, and another one may take it: start ${service} again, or where it owns 1,000 names, the most, release some (portico services release)`;
}

function allOf({ grpcServices, paths }: Names): Iterable<string> {
  return new Set([...grpcServices, ...paths]);
}

/** Those that were read last. Instances of one contract share it. */
const read = new WeakMap<CheckedContract, Names>();

/** What is wrong with the annotations of a contract, or does not reach all its paths. */
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
      const own = builtInOverlapOf(template, httpMethod);
      if (own !== undefined) errors.push(`${name}: ${own.text}`);
      if (!own?.isWhole) paths.add(`${httpMethod} ${shapeOf(template)}`);
    }
  }
  const names = { prefix, grpcServices: contract.grpcServices, paths: [...paths], errors };
  read.set(contract, names);
  return names;
}
