/**
 * The contracts that a registry stores, and how many it may store: of one service at most half. So
 * a service whose instances all have different contracts cannot keep others from joining.
 */
import { resourceExhausted } from "../../src/errors.js";
import type { CheckedContract } from "./contract.js";
import { HeldFiles } from "./held-files.js";

/** The maximum size of all descriptors, in bytes. */
const MAX_BYTES = 256 * 1024 ** 2;
/** The maximum number of parsed elements, about 1 KB each. A shared file counts once. */
const MAX_ELEMENTS = 300_000;

/** What the contracts of one service take, or the contracts of all services. */
class Held {
  /** The number of instances with each contract. */
  readonly #holders = new Map<CheckedContract, number>();
  readonly #files = new HeldFiles();
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#holders.size === 0;
  }

  /**
   * @param part of the registry that they may take, 1 for all of it
   * @throws {StatusError} RESOURCE_EXHAUSTED if an instance with the contract cannot join
   */
  check(contract: CheckedContract, part: number, whose = ""): void {
    if (this.#holders.has(contract)) return;
    const full = (max: number, what: string) =>
      resourceExhausted(`the registry is full: ${max} ${what} of descriptors${whose}`);
    if (this.#bytes + contract.descriptors.length > MAX_BYTES * part) throw full(MAX_BYTES * part, "bytes");
    if (this.#files.elements + this.#files.moreBy(contract) > MAX_ELEMENTS * part)
      throw full(MAX_ELEMENTS * part, "elements");
  }

  add(contract: CheckedContract): void {
    const holders = this.#holders.get(contract) ?? 0;
    this.#holders.set(contract, holders + 1);
    if (holders > 0) return;
    this.#bytes += contract.descriptors.length;
    this.#files.add(contract);
  }

  delete(contract: CheckedContract): void {
    const holders = (this.#holders.get(contract) ?? 0) - 1;
    if (holders > 0) {
      this.#holders.set(contract, holders);
      return;
    }
    this.#holders.delete(contract);
    this.#bytes -= contract.descriptors.length;
    this.#files.delete(contract);
  }
}

export class HeldContracts {
  readonly #all = new Held();
  readonly #services = new Map<string, Held>();

  /** @throws {StatusError} RESOURCE_EXHAUSTED if an instance with the contract cannot join */
  check(service: string, contract: CheckedContract): void {
    this.#all.check(contract, 1);
    this.#services.get(service)?.check(contract, 0.5, ` of ${service}`);
  }

  add(service: string, contract: CheckedContract): void {
    const own = this.#services.get(service) ?? new Held();
    this.#services.set(service, own);
    for (const held of [this.#all, own]) held.add(contract);
  }

  delete(service: string, contract: CheckedContract): void {
    const own = this.#services.get(service);
    for (const held of [this.#all, own]) held?.delete(contract);
    if (own?.isEmpty) this.#services.delete(service);
  }
}
