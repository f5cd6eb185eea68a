/**
 * The request ID in the metadata `x-request-id`, by which the logs of gateways and services are matched. A client chooses it
 * and it is written to logs and to the audit trail, so it is used only where it is well-formed.
 */
import { holdsToken } from "../access/token.js";
import { first, type Metadata } from "./metadata.js";

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Whether a text may be a request ID: bounded in length and characters, and without a token in it. */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text) && !holdsToken(text);
}

/** The request ID of a call; undefined where the caller sent none or a malformed one. */
export function requestIdOf(metadata: Metadata): string | undefined {
  const id = first(metadata, "x-request-id");
  return id !== undefined && isRequestId(id) ? id : undefined;
}
