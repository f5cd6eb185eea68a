/**
 * Splits bytes that arrive in chunks into lines (NDJSON). Each byte is read once and copied at most
 * once.
 */
export class LineSplitter {
  #unfinished: Uint8Array[] = [];
  #length = 0;

  /** Number of bytes in the line that has not ended yet. */
  get unfinishedLength(): number {
    return this.#length;
  }

  /** Takes the next chunk. @returns the lines that end in it, without their line feeds */
  push(chunk: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      lines.push(this.#finish(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) {
      this.#unfinished.push(chunk.subarray(start));
      this.#length += chunk.length - start;
    }
    return lines;
  }

  /** The last line, when no more bytes come; undefined if the bytes ended with a line feed. */
  end(): Uint8Array | undefined {
    return this.#length === 0 ? undefined : this.#finish(new Uint8Array(0));
  }

  #finish(last: Uint8Array): Uint8Array {
    if (this.#length === 0) return last;
    const line = new Uint8Array(this.#length + last.length);
    let offset = 0;
    for (const part of [...this.#unfinished, last]) {
      line.set(part, offset);
      offset += part.length;
    }
    this.#unfinished = [];
    this.#length = 0;
    return line;
  }
}

const LINE_FEED = 0x0a;
