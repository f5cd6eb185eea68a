/**
 * Reads contracts that come from other processes: in turns, so that a large one holds nobody up, with memory of the process's
 * budget, and so often a minute for each service.
 */
import { resourceExhausted } from "../../src/errors.js";
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { Logger } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { inTurns } from "../../src/overload/pace.js";
import { type CheckedContract, readingSteps } from "./contract.js";
import { ContractReadings, keyOfContract } from "./contract-readings.js";

/** A contract as an instance gives it. */
type Given = Pick<Instance, "service" | "descriptors" | "grpcServices" | "bindingPrefix">;

export interface ReaderOptions {
  /** Of the process; default one of its own. */
  readonly budget?: MemoryBudget | undefined;
  /** For the operator: contracts that change too often. */
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
   * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED where there is no memory now, or the service's contract changes too often
   * @throws {Error} (rejects) with a message for the service's owner, where the contract is refused
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
