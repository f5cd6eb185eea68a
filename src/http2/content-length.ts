/** The content-length of a request, which must be the number of bytes of its DATA frames (RFC 9113, section 8.1.1). */
export class ContentLength {
  #left: number;

  /** @param header the value of the header */
  constructor(header: string) {
    this.#left = /^\d{1,15}$/.test(header) ? Number(header) : -1;
  }

  /** @returns false where the request is malformed, once these bytes have come */
  receive(bytes: number, endStream: boolean): boolean {
    this.#left -= bytes;
    return endStream ? this.#left === 0 : this.#left >= 0;
  }
}
