/** The ID of a request: the client's own where it is well-formed, else a new one. */
import { randomBytes } from "node:crypto";
import { isRequestId } from "../src/rpc/metadata.js";
import type { RequestHeaders } from "./http.js";

/** The ID in the client's X-Request-Id, or a new one where that is missing or malformed. */
export function requestIdOf({ requestId }: RequestHeaders): string {
  return requestId !== undefined && isRequestId(requestId) ? requestId : createRequestId();
}

/** Random for each process; a counter follows it, since random IDs for each request would cost more. */
const PROCESS = randomBytes(9).toString("base64url");
let count = 0;

/** `pO3b_kV0x2aQ-1f4`: unique, among gateways too, but not secret. */
function createRequestId(): string {
  count++;
  return `${PROCESS}-${count.toString(36)}`;
}
