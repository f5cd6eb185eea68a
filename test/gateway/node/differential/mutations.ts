/** Random bytes made from the corpus. The same seed gives the same bytes. */
import { randomOf } from "../../../support/random.js";
import type { CorpusCase } from "./corpus.js";

/** Maximum length of the bytes, so that a mutated case stays fast. */
const MAX_LENGTH = 80_000;
const MAX_MUTATIONS = 4;
const MAX_PIECES = 5;

/** Bytes and words with a meaning for an HTTP parser. */
const WORDS = [
  ...["\r", "\n", "\r\n", "\r\n\r\n", "\n\n", "\0", " ", "\t", ":", ";", ",", "=", '"', "/", "\x0b", "\x7f", "\xff"],
  ...[
    "GET / HTTP/1.1\r\n",
    "POST / HTTP/1.1\r\n",
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/2.0",
    "Host: x\r\n",
    "HEAD",
    "CONNECT",
  ],
  ...["Content-Length: 5\r\n", "Content-Length: 0\r\n", "Content-Length:", "Transfer-Encoding: chunked\r\n", "chunked"],
  ...[
    "Transfer-Encoding:",
    "identity",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Connection: Upgrade\r\n",
  ],
  ...["Upgrade: websocket\r\n", "Upgrade: h2c\r\n", "Expect: 100-continue\r\n", "0\r\n\r\n", "5\r\nhello\r\n", "0\r\n"],
  ...["ffffffffffffffff", "0", "1", "a", ";a=b", "\r\n ", "\r\n\t"],
];

export class Mutations {
  readonly #random: () => number;
  readonly #cases: readonly CorpusCase[];

  constructor(seed: number, cases: readonly CorpusCase[]) {
    this.#random = randomOf(seed);
    this.#cases = cases;
  }

  /**
   * The bytes of one case or of two cases one after the other, changed in up to four places. Now
   * and then only random bytes.
   */
  next(): Buffer {
    if (this.#random() < 0.02) return Buffer.from(Array.from({ length: this.#below(64) + 1 }, () => this.#below(256)));
    let bytes = this.#case();
    if (this.#random() < 0.2) bytes = Buffer.concat([bytes, this.#case()]);
    for (let count = this.#below(MAX_MUTATIONS) + 1; count > 0; count--) bytes = this.#mutate(bytes);
    return bytes.subarray(0, MAX_LENGTH);
  }

  /** Cuts the bytes into up to five chunks. */
  cut(bytes: Buffer): Buffer[] {
    const places = Array.from({ length: this.#below(MAX_PIECES) }, () => this.#below(bytes.length + 1));
    const ends = [...places, bytes.length].sort((one, other) => one - other);
    return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)).filter((chunk) => chunk.length > 0);
  }

  #mutate(bytes: Buffer): Buffer {
    const from = this.#below(bytes.length + 1);
    const to = Math.min(bytes.length, from + 1 + this.#below(8));
    const replace = (chunk: Buffer, end = to): Buffer =>
      Buffer.concat([bytes.subarray(0, from), chunk, bytes.subarray(end)]);
    switch (this.#below(8)) {
      case 0:
        return replace(Buffer.of(this.#below(256)), Math.min(bytes.length, from + 1));
      case 1:
        return replace(Buffer.alloc(0));
      case 2:
        return replace(Buffer.from(bytes.subarray(from, to)), from);
      case 3: {
        const other = this.#case();
        return replace(Buffer.from(other.subarray(this.#below(other.length))));
      }
      case 4: {
        // Replaces a line end by bytes that a parser may also take for a line end.
        const lineEnd = bytes.indexOf("\r\n", from);
        if (lineEnd < 0) return bytes;
        const end = Buffer.from(this.#pick(["\n", "\r", "\r\r\n", "\r\n\r\n", " \r\n"]));
        return Buffer.concat([bytes.subarray(0, lineEnd), end, bytes.subarray(lineEnd + 2)]);
      }
      default: {
        const lineEnd = bytes.indexOf("\r\n", from);
        const place = this.#random() < 0.5 && lineEnd >= 0 ? lineEnd + 2 : from;
        const word = Buffer.from(this.#pick(WORDS), "latin1");
        return Buffer.concat([bytes.subarray(0, place), word, bytes.subarray(place)]);
      }
    }
  }

  #case(): Buffer {
    return this.#pick(this.#cases).bytes;
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#below(values.length)] as T;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
