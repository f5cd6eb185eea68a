/** Responses as grpc-gateway sends them: metadata in prefixed headers and trailers, and errors. */
import type { Metadata } from "../../../../src/call/metadata.js";
import { hasNoContent } from "../../../catalog/service-statuses.js";
import type { EndpointTarget } from "../../../catalog/target.js";
import type { BodySink, BodyStream } from "../../../http/body.js";
import type { Failure } from "../../../http/errors.js";
import { takesTrailers } from "../../../http/headers.js";
import type { BareResponse, GatewayRequestHead } from "../../../http/message.js";
import type { ResponseMetadata } from "../../../stages/dialect.js";
import { addMetadata, withoutContent } from "../../metadata.js";
import { writeStatus } from "./status.js";

const HEADER = "Grpc-Metadata-";
const TRAILER = "Grpc-Trailer-";

/** Adds the service's headers to a list. */
export function addHeaders(list: string[], headers: Metadata): string[] {
  return addMetadata(list, headers, HEADER);
}

/** Adds the service's metadata to a response that is no stream. */
export function withPrefixedMetadata(
  request: GatewayRequestHead,
  given: BareResponse,
  { headers, trailers }: ResponseMetadata,
): BareResponse {
  const reply = withoutContent(given);
  if (headers.length + trailers.length === 0) return reply;
  const list = addHeaders([...(reply.headers ?? [])], headers);
  if (trailers.length === 0 || hasNoContent(reply.status) || !takesTrailers(request.rawHeaders))
    return { ...reply, headers: list };
  const sent = addMetadata([], trailers, TRAILER);
  const names = new Set(sent.filter((_, index) => index % 2 === 0));
  list.push("Trailer", [...names].join(", "));
  // Only a body without a length can have trailers in HTTP/1.1 (RFC 9112 §7.1.2).
  return { ...reply, headers: list, body: new BodyWithTrailers(reply, sent) };
}

/** A body that is sent at once, and ends with trailers. */
class BodyWithTrailers implements BodyStream {
  readonly #body: string | Uint8Array;
  readonly #trailers: readonly string[];
  readonly #status: number;

  constructor({ body, status }: BareResponse, trailers: readonly string[]) {
    this.#body = body as string | Uint8Array;
    this.#trailers = trailers;
    this.#status = status;
  }

  open(sink: BodySink): void {
    sink.write(this.#body);
    sink.end(this.#trailers);
  }

  onDrain(): void {}

  /** The whole body is there already, so the request is recorded at once. */
  onClosed(listener: (status: number) => void): void {
    listener(this.#status);
  }
}

/** The reply to a request that failed. */
export function errorReply(failure: Failure, target: EndpointTarget): BareResponse {
  return { status: failure.status, headers: failure.headers, body: writeStatus(failure, target) };
}

/** The last line of a stream that failed. */
export function failureLine(failure: Failure, target: EndpointTarget): string {
  return `{"error":${writeStatus(failure, target)}}\n`;
}
