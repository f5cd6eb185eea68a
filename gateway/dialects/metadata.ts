/** Metadata of services in responses, as header lists: name, value, name, value … */

import type { Metadata } from "../../src/call/metadata.js";
import { asBuffer } from "../../src/wire/buffer.js";
import { hasNoContent } from "../catalog/service-statuses.js";
import type { BareResponse } from "../http/message.js";
import { NO_RESPONSE_METADATA, type ResponseMetadata } from "../stages/dialect.js";

/** Adds metadata to a header list. */
export function addMetadata(list: string[], metadata: Metadata, prefix = ""): string[] {
  for (const [name, value] of metadata) {
    list.push(prefix + name, typeof value === "string" ? value : unpadded(value));
  }
  return list;
}

/** Base64 without padding, as gRPC and Connect send bytes. */
export function unpadded(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("base64").replace(/=+$/, "");
}

/** The response to a call that succeeded, with the service's metadata and its HTTP status. */
export function succeeded(reply: BareResponse, response: ResponseMetadata): BareResponse {
  if (response === NO_RESPONSE_METADATA) return reply;
  const { status = reply.status } = response;
  return withoutContent({ ...withMetadata(reply, response), status });
}

/** The response to a call that failed, with the service's metadata. */
export function failed(reply: BareResponse, response: ResponseMetadata): BareResponse {
  return withoutContent(withMetadata(reply, response));
}

function withoutContent(reply: BareResponse): BareResponse {
  return hasNoContent(reply.status) ? { ...reply, body: "" } : reply;
}

/**
 * Adds the service's metadata to a response. Its trailers are added as headers too: a response that
 * is no stream begins after the call has ended, and web pages cannot read HTTP trailers
 * (https://fetch.spec.whatwg.org/#responses).
 */
function withMetadata(reply: BareResponse, response: ResponseMetadata): BareResponse {
  if (response === NO_RESPONSE_METADATA) return reply;
  const headers = addMetadata(addMetadata([...(reply.headers ?? [])], response.headers), response.trailers);
  return { ...reply, headers };
}
