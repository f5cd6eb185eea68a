/**
 * Streams of Connect (https://connectrpc.com/docs/protocol#streaming-rpcs): messages in envelopes,
 * and at the end of the body a frame with the error and the trailers. This frame is JSON with every
 * codec.
 */
import { ENCODINGS, firstAccepted } from "../rpc/compression.js";
import { type EnvelopeProtocol, envelope } from "../rpc/protocol.js";
import { metadataObject, toConnectError } from "./errors.js";
import { checkVersion, readConnectTimeout } from "./request.js";

/** The flag of the frame that ends a stream. */
const END_STREAM = 2;

export const connectStream: EnvelopeProtocol = {
  name: "connect",
  contentType: ({ name }) => `application/connect+${name}`,
  checkRequest: ({ headers }) => checkVersion(headers.connectVersion),
  hasUnary: false,
  readTimeout: readConnectTimeout,
  requestEncoding: ({ connectContentEncoding }) => connectContentEncoding,
  responseEncoding: ({ connectAcceptEncoding }) => firstAccepted(connectAcceptEncoding),
  encodingHeader: "connect-content-encoding",
  headers: ["connect-accept-encoding", ENCODINGS],
  end(failure, trailers) {
    const end = {
      ...(failure === undefined ? {} : { error: toConnectError(failure) }),
      ...(trailers.length === 0 ? {} : { metadata: metadataObject(trailers) }),
    };
    return { frame: envelope(END_STREAM, Buffer.from(JSON.stringify(end))), trailers: undefined };
  },
};
