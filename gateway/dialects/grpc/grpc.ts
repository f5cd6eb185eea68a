/**
 * gRPC (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). It needs HTTP/2, because
 * its status is in trailers.
 */

import { parseTimeout } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { HttpError } from "../../http/errors.js";
import type { RequestHeaders } from "../../http/headers.js";
import { type ContentCoding, ENCODINGS, encodingOf, firstAccepted } from "../rpc/compression.js";
import { grpcTrailers } from "../rpc/headers.js";
import type { EnvelopeProtocol } from "../rpc/protocol.js";

export const grpc: EnvelopeProtocol = {
  name: "grpc",
  contentType: ({ name }) => `application/grpc+${name}`,
  checkRequest({ sendsTrailers }) {
    if (!sendsTrailers)
      throw new HttpError(505, "gRPC needs HTTP/2; gRPC-Web and Connect do not", { code: Code.UNIMPLEMENTED });
  },
  hasUnary: true,
  readTimeout: readGrpcTimeout,
  requestEncoding: ({ grpcEncoding }) => grpcEncoding,
  responseEncoding: mirroredEncoding,
  encodingHeader: "grpc-encoding",
  headers: ["grpc-accept-encoding", ENCODINGS],
  end: (failure, metadata) => ({ frame: undefined, trailers: grpcTrailers(failure, metadata) }),
};

export function readGrpcTimeout({ timeout }: RequestHeaders): number | undefined {
  if (timeout === undefined) return undefined;
  const milliseconds = parseTimeout(timeout);
  if (milliseconds !== undefined) return milliseconds;
  throw new HttpError(400, "grpc-timeout must be up to eight digits and a unit (H M S m u n), such as 500m");
}

/**
 * Responses are compressed only for clients that compress their requests. The header
 * grpc-accept-encoding is no sign that a client wants compression, because every client sends it.
 * https://github.com/grpc/grpc/blob/master/doc/compression.md
 */
export function mirroredEncoding({ grpcEncoding, grpcAcceptEncoding }: RequestHeaders): ContentCoding | undefined {
  const encoding = encodingOf(grpcEncoding);
  return encoding === undefined || grpcAcceptEncoding === undefined ? encoding : firstAccepted(grpcAcceptEncoding);
}
