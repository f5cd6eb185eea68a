/**
 * The headers by which callers learn what a limit of calls leaves them
 * (draft-ietf-httpapi-ratelimit-headers-10):
 *
 *     RateLimit-Policy: "ci";q=100;w=1
 *     RateLimit: "ci";r=42;t=1
 *
 * A quota has no `w`. A limit of calls at once has the unit `concurrent-requests`, and no `t`. IDs
 * of limits have no characters that a string of structured fields must escape.
 */
import type { LimitedError, LimitState } from "./limited-call.js";
import type { Metadata } from "./metadata.js";

/** `"ci";q=100;w=1` */
function policyOf({ limit, quota, window, concurrent }: LimitState): string {
  const unit = concurrent ? ';qu="concurrent-requests"' : "";
  return `"${limit}";q=${quota}${unit}${window === undefined ? "" : `;w=${window}`}`;
}

/** `"ci";r=42;t=1` */
function leftOf({ limit, remaining, reset }: LimitState): string {
  return `"${limit}";r=${remaining}${reset === undefined ? "" : `;t=${reset}`}`;
}

/** Name, value, name, value. */
export function rateLimitHeaders(state: LimitState): readonly string[] {
  return ["RateLimit-Policy", policyOf(state), "RateLimit", leftOf(state)];
}

/** The same as metadata of a call. */
export function rateLimitMetadata(state: LimitState): Metadata {
  return [
    ["ratelimit-policy", policyOf(state)],
    ["ratelimit", leftOf(state)],
  ];
}

/** The trailers of a call that a limit refuses. */
export function refusalMetadata({ state, retryAfter }: LimitedError): Metadata {
  return [["retry-after", String(retryAfter)], ...rateLimitMetadata(state)];
}
