/** The parsed files of all contracts, each counted once, since contracts with files of equal content share them. */
import type { SharedFile } from "../../src/contract/descriptor-set.js";
import type { CheckedContract } from "./contract.js";

export class HeldFiles {
  /** In all, as `sizeOf` counts them. */
  elements = 0;
  /** How many contracts have each file. */
  readonly #holders = new Map<SharedFile, number>();

  /** How many elements a contract would add. */
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
