/**
 * The names that all services share: full names of gRPC services, by which clients of gRPC, gRPC-Web and Connect call, and the
 * paths of `google.api.http` annotations. Two services may have the same one. Gateways then serve it for one of them, or for
 * none, so its operators are told.
 */
import { bindingsOf } from "../../src/contract/http-rule.js";
import { shapeOf } from "../../src/contract/path-template.js";
import type { Contract } from "./contract.js";

/** Something that is not served as it is declared. */
export interface Problem {
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
  readonly faults: readonly string[];
}

/** Most problems that are told of a service. */
const MAX_PROBLEMS = 20;

export class SharedNames {
  /** By name: how many instances of each service have it. */
  readonly #holders = new Map<string, Map<string, number>>();

  add(service: string, contract: Contract, prefix: string): void {
    for (const name of allOf(namesOf(contract, prefix))) {
      const holders = this.#holders.get(name) ?? new Map<string, number>();
      this.#holders.set(name, holders.set(service, (holders.get(service) ?? 0) + 1));
    }
  }

  delete(service: string, contract: Contract, prefix: string): void {
    for (const name of allOf(namesOf(contract, prefix))) {
      const holders = this.#holders.get(name);
      const left = (holders?.get(service) ?? 0) - 1;
      if (left > 0) holders?.set(service, left);
      else holders?.delete(service);
      if (holders?.size === 0) this.#holders.delete(name);
    }
  }

  /** What is not served as a contract of the service declares it. */
  problemsOf(service: string, contract: Contract, prefix: string): Problem[] {
    const { grpcServices, paths, faults } = namesOf(contract, prefix);
    const problems: Problem[] = faults.map((text) => ({ text, other: undefined }));
    for (const name of grpcServices) {
      for (const other of this.#others(service, name)) {
        const text = `${name} is a gRPC service of ${other} too: gRPC, gRPC-Web and Connect need the header Portico-Service to tell them apart`;
        problems.push({ text, other });
      }
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
    return [...(this.#holders.get(name)?.keys() ?? [])].filter((other) => other !== service);
  }
}

function allOf({ grpcServices, paths }: Names): Iterable<string> {
  return new Set([...grpcServices, ...paths]);
}

/** Those that were read last. Instances of one contract share it. */
const read = new WeakMap<Contract, Names>();

function namesOf(contract: Contract, prefix: string): Names {
  const known = read.get(contract);
  if (known?.prefix === prefix) return known;
  const paths = new Set<string>();
  const faults: string[] = [];
  for (const { name, method } of contract.endpoints) {
    const { bindings, problems } = bindingsOf(method, prefix);
    for (const { httpMethod, template } of bindings) paths.add(`${httpMethod} ${shapeOf(template)}`);
    faults.push(...problems.map((problem) => `${name}: ${problem}`));
  }
  const names = { prefix, grpcServices: contract.grpcServices, paths: [...paths], faults };
  read.set(contract, names);
  return names;
}
