/** Names for requests that came without one: random for each process, then counted, which costs less than random ones. */
import { randomBytes } from "node:crypto";

const PROCESS = randomBytes(9).toString("base64url");
let count = 0;

/** `pO3b_kV0x2aQ-1f4`: unique, also among gateways, but not secret. */
export function createRequestId(): string {
  count++;
  return `${PROCESS}-${count.toString(36)}`;
}
