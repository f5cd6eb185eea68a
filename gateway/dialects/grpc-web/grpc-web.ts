/**
 * gRPC-Web (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md): gRPC for browsers, which
 * do not give trailers to pages. So the trailers are the last frame of the body, with lower-case
 * names.
 */

import { mirroredEncoding, readGrpcTimeout } from "../grpc/grpc.js";
import { ENCODINGS } from "../rpc/compression.js";
import { grpcTrailers } from "../rpc/headers.js";
import { type EnvelopeProtocol, envelope } from "../rpc/protocol.js";

/** The flag of the frame with the trailers. */
const TRAILERS = 0x80;

export const grpcWeb: EnvelopeProtocol = {
  name: "grpc-web",
  contentType: ({ name }) => `application/grpc-web+${name}`,
  checkRequest() {},
  hasUnary: true,
  readTimeout: readGrpcTimeout,
  requestEncoding: ({ grpcEncoding }) => grpcEncoding,
  responseEncoding: mirroredEncoding,
  encodingHeader: "grpc-encoding",
  headers: ["grpc-accept-encoding", ENCODINGS],
  end(failure, metadata) {
    const list = grpcTrailers(failure, metadata);
    let block = "";
    for (let index = 0; index + 1 < list.length; index += 2) block += `${list[index]}: ${list[index + 1]}\r\n`;
    return { frame: envelope(TRAILERS, Buffer.from(block, "latin1")), trailers: undefined };
  },
};
