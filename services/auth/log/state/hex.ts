import { asBuffer } from "../../../../src/wire/buffer.js";

/** How hashes are written as keys of maps. */
export function hex(hash: Uint8Array): string {
  return asBuffer(hash).toString("hex");
}
