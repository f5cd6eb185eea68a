/**
 * Reads contracts that come from other processes. A large contract is read in steps, so that it
 * does not block other work. Its memory is reserved from the process's budget. ContractReadings
 * limits how often a service's contract is read in a minute.
 */
import { resourceExhausted } from "../../src/errors.js";
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { Logger } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { inTurns } from "../../src/overload/pace.js";
import { type CheckedContract, readingSteps } from "./contract.js";
import { ContractReadings, keyOfContract } from "./contract-readings.js";

/** A contract as an instance provides it. */
type Given = Pick<Instance, "service" | "descriptors" | "grpcServices" | "bindingPrefix">;

export interface ReaderOptions {
  /** The memory budget of the process; default a separate one. */
  readonly budget?: MemoryBudget | undefined;
  /** For the operator: reports contracts that change too often. */
  readonly log?: Logger | undefined;
}

export class ContractReader {
  readonly #budget: MemoryBudget;
  readonly #readings: ContractReadings<CheckedContract>;

  constructor({ budget = new MemoryBudget(), log }: ReaderOptions = {}) {
    this.#budget = budget;
    this.#readings = new ContractReadings(log);
  }

  /**
   * Reads and checks a contract in steps.
   * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED if there is no memory now, or the service's
   *   contract changes too often
   * @throws {Error} (rejects) with a message for the service's owner, if the contract is refused
   */
  read(given: Given): Promise<CheckedContract> {
    const key = keyOfContract(given.descriptors, given.grpcServices);
    return this.#readings.read(given.service, key, () => this.#read(given));
  }

  async #read({ service, descriptors, grpcServices, bindingPrefix: prefix }: Given): Promise<CheckedContract> {
    const memory = this.#budget.openUpstream();
    const reserve = (bytes: number): void => {
      if (memory.tryReserve(bytes)) return;
      const size = `${Math.ceil(bytes / 1024 ** 2)} MiB`;
      throw resourceExhausted(
        `there is no memory to read the contract of ${service} now, which takes ${size}; try again`,
      );
    };
    try {
      return await inTurns(readingSteps(service, descriptors, grpcServices, { prefix, reserve }));
    } finally {
      memory.close();
    }
  }
}
