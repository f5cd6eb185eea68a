/** A stack of sets of small numbers. For each object that is being read, one holds the members that were seen. */
export class BitSets {
  #words = new Int32Array(64);
  #top = 0;

  clear(): void {
    this.#top = 0;
  }

  /** Starts an empty set of up to `words` × 32 numbers, and gives its handle. */
  open(words: number): number {
    const start = this.#top;
    this.#top = start + words;
    if (this.#top > this.#words.length) {
      const larger = new Int32Array(this.#top * 2);
      larger.set(this.#words);
      this.#words = larger;
    }
    for (let word = start; word < start + words; word++) this.#words[word] = 0;
    return start;
  }

  /** Ends a set, and those that were started after it. */
  close(set: number): void {
    this.#top = set;
  }

  /** Adds a number to a set. False when the set has it already. */
  add(set: number, number: number): boolean {
    const word = set + (number >> 5);
    const before = this.#words[word]!;
    const after = before | (1 << (number & 31));
    this.#words[word] = after;
    return after !== before;
  }
}
