/**
 * The parsed files of all contracts. Contracts with files of equal content share these files, so
 * each is counted once.
 */
import type { SharedFile } from "../../src/contract/descriptor-set.js";
import type { CheckedContract } from "./contract.js";

export class HeldFiles {
  /** The total number of elements, as `sizeOf` counts them. */
  elements = 0;
  /** The number of contracts with each file. */
  readonly #holders = new Map<SharedFile, number>();

  /** The number of elements that a contract would add. */
  moreBy({ set }: CheckedContract): number {
    return set.files.reduce((sum, file) => sum + (this.#holders.has(file) ? 0 : file.elements), 0);
  }

  add({ set }: CheckedContract): void {
    for (const file of set.files) {
      const holders = this.#holders.get(file) ?? 0;
      if (holders === 0) this.elements += file.elements;
      this.#holders.set(file, holders + 1);
    }
  }

  delete({ set }: CheckedContract): void {
    for (const file of set.files) {
      const holders = (this.#holders.get(file) ?? 0) - 1;
      if (holders > 0) {
        this.#holders.set(file, holders);
        continue;
      }
      this.#holders.delete(file);
      this.elements -= file.elements;
    }
  }
}
