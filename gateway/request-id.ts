/** The ID of a request: the client's own where it is well-formed, else a new one. */
import { randomBytes } from "node:crypto";
import { holdsToken } from "../src/access/token.js";
import type { RequestHeaders } from "./request-headers.js";

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * The ID in the client's X-Request-Id, else a new one. It is sent to services and written to logs, so it is bounded in length
 * and characters, and must not hold a token.
 */
export function requestIdOf({ requestId }: RequestHeaders): string {
  if (requestId === undefined || !REQUEST_ID.test(requestId) || holdsToken(requestId)) return createRequestId();
  return requestId;
}

/** Random for each process; a counter follows it, since random IDs for each request would cost more. */
const PROCESS = randomBytes(9).toString("base64url");
let count = 0;

/** `pO3b_kV0x2aQ-1f4`: unique, among gateways too, but not secret. */
function createRequestId(): string {
  count++;
  return `${PROCESS}-${count.toString(36)}`;
}
