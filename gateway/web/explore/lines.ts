/** Splits a stream of text into its lines. Empty ones are heartbeats (docs/streams.md) and are left out. */
export class Lines {
  #rest = "";

  /** Takes the next piece; gives the lines that are whole by now. */
  take(piece: string): string[] {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.filter((line) => line.trim() !== "");
  }

  /** What is left when no more comes. */
  end(): string[] {
    const rest = this.#rest;
    this.#rest = "";
    return rest.trim() === "" ? [] : [rest];
  }
}
