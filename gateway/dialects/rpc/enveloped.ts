/**
 * gRPC, gRPC-Web and the streams of Connect as dialects: one object for each protocol and codec.
 */
import type { BuiltInRoot } from "../../../src/contract/names.js";
import { Code, StatusError } from "../../../src/errors.js";
import { GrpcMessageReader, PREFIX_SIZE } from "../../../src/rpc/http2/messages.js";
import { asBuffer } from "../../../src/wire/buffer.js";
import type { EndpointTarget } from "../../catalog/target.js";
import { compress } from "../../http/content-coding.js";
import { type Failure, HttpError } from "../../http/errors.js";
import type { RequestHeaders } from "../../http/headers.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import {
  type Allow,
  allowing,
  type Dialect,
  type FailedRequest,
  type ResponseMetadata,
  type Written,
} from "../../stages/dialect.js";
import type { StreamCallOptions } from "../../stages/stream-call.js";
import { addMetadata } from "../metadata.js";
import { decodeBase64, encodeBase64 } from "./base64.js";
import { PROTO, type RpcCodec } from "./codec.js";
import { type ContentCoding, decompressBody, encodingOf, isWorthCompressing } from "./compression.js";
import { EnvelopedStream } from "./enveloped-stream.js";
import { COMPRESSED, type EnvelopeProtocol, envelope } from "./protocol.js";
import { findRoute } from "./route.js";

export const POST_ONLY: Allow = allowing("POST", "OPTIONS");
const NO_BYTES = new Uint8Array(0);
/** These dialects are recognized by the content type, not by the path. */
export const NO_ROOTS: readonly BuiltInRoot[] = [];

export interface EnvelopedOptions {
  readonly protocol: EnvelopeProtocol;
  readonly codec: RpcCodec;
  /** Whether the bodies of requests and responses are in base64. */
  readonly isText?: boolean;
  /**
   * Maximum bytes of a message of a stream, before and after decompression, for a service without a
   * limit of its own.
   */
  readonly maxMessage: number;
}

export class Enveloped implements Dialect {
  readonly name: string;
  readonly roots = NO_ROOTS;
  readonly writesDetails = false;
  readonly usesServiceStatus = false;
  readonly contentType: string;
  readonly isBinary: boolean;
  readonly #options: EnvelopedOptions;

  constructor(options: EnvelopedOptions) {
    this.#options = options;
    this.name = options.protocol.name;
    this.isBinary = options.codec === PROTO;
    const plain = options.protocol.contentType(options.codec);
    this.contentType = options.isText ? plain.replace("grpc-web", "grpc-web-text") : plain;
  }

  findRoute(...[request, routes]: Parameters<Dialect["findRoute"]>): ReturnType<typeof findRoute> {
    this.#options.protocol.checkRequest(request);
    return findRoute(request, routes);
  }

  methods(): Allow {
    return POST_ONLY;
  }

  checkBody({ headers }: GatewayRequestHead, { endpoint }: EndpointTarget): void {
    const { protocol } = this.#options;
    if (endpoint.shape === "unary" && !protocol.hasUnary) {
      throw new HttpError(
        415,
        `${endpoint.name} does not stream: send the message as application/proto or application/json`,
      );
    }
    encodingOf(protocol.requestEncoding(headers));
  }

  readTimeout(headers: RequestHeaders): number | undefined {
    return this.#options.protocol.readTimeout(headers);
  }

  takesChunks(_request: GatewayRequestHead, { endpoint }: EndpointTarget): boolean {
    return endpoint.shape === "client_streaming" || endpoint.shape === "bidi_streaming";
  }

  maxBody(maxMessage: number): number {
    return maxBodyOf(maxMessage, this.#options.isText);
  }

  isEncoded(): boolean {
    return true;
  }

  async decodeBody(
    request: GatewayRequest,
    { endpoint }: EndpointTarget,
    chunks: readonly Uint8Array[],
    maxMessage: number,
  ): Promise<readonly Uint8Array[]> {
    const { isText } = this.#options;
    const [chunk] = chunks;
    const body = chunks.length === 1 ? asBuffer(chunk as Uint8Array) : Buffer.concat(chunks);
    return [await this.#onlyMessage(request, isText ? decodeBase64(body) : body, endpoint.name, maxMessage)];
  }

  /**
   * The request message of an endpoint that takes exactly one: a unary endpoint, or one whose
   * response is a stream.
   */
  #onlyMessage(
    request: GatewayRequest,
    body: Buffer,
    endpoint: string,
    maxMessage: number,
  ): Uint8Array | Promise<Uint8Array> {
    const { protocol } = this.#options;
    const length = body.length < PREFIX_SIZE ? 0 : body.readUInt32BE(1);
    const end = PREFIX_SIZE + length;
    if (body.length === end && length <= maxMessage) {
      const message = body.subarray(PREFIX_SIZE);
      if (body[0] === 0) return message;
      const encoding = encodingOf(protocol.requestEncoding(request.headers));
      if (body[0] === COMPRESSED && encoding !== undefined)
        return decompressBody(request, encoding, message, maxMessage);
    }
    if (body.length === 0 || body.length > end) throw wrongRequestCount(endpoint);
    const reader = new GrpcMessageReader(maxMessage);
    reader.push(body, 0, body.length);
    reader.next();
    throw new StatusError(Code.INVALID_ARGUMENT, "The body ends before the end of its message");
  }

  readMessage(_request: GatewayRequest, target: EndpointTarget, [message]: readonly Uint8Array[]): Uint8Array {
    if (message === undefined) throw wrongRequestCount(target.endpoint.name);
    return this.#options.codec.read(target, message);
  }

  writeMessage(
    request: GatewayRequest,
    target: EndpointTarget,
    message: Uint8Array,
    response: ResponseMetadata,
  ): Written {
    const { protocol, codec } = this.#options;
    const written = codec.write(target, message);
    const encoding = isWorthCompressing(written, target) ? protocol.responseEncoding(request.headers) : undefined;
    if (encoding === undefined) return this.#reply(0, written, protocol.headers, response);
    return () => this.#compressed(encoding, written, response);
  }

  async #compressed(encoding: ContentCoding, written: Uint8Array, response: ResponseMetadata): Promise<BareResponse> {
    const { protocol } = this.#options;
    const headers = [...protocol.headers, protocol.encodingHeader, encoding];
    const compressed = await compress(encoding, written);
    if (compressed === undefined) return this.#reply(0, written, headers, response);
    return this.#reply(COMPRESSED, compressed, headers, response);
  }

  #reply(flag: number, message: Uint8Array, headers: readonly string[], response: ResponseMetadata): BareResponse {
    const end = this.#options.protocol.end(undefined, response.trailers);
    const bytes = envelope(flag, message, end.frame);
    return {
      status: 200,
      headers: response.headers.length === 0 ? headers : addMetadata([...headers], response.headers),
      contentType: this.contentType,
      body: this.#options.isText ? encodeBase64(bytes) : bytes,
      trailers: end.trailers,
    };
  }

  openStream(request: GatewayRequest, body: readonly Uint8Array[], options: StreamCallOptions): Promise<BareResponse> {
    const message = this.takesChunks(request, options.target)
      ? undefined
      : this.readMessage(request, options.target, body);
    const { contentType } = this;
    const stream = new EnvelopedStream(request, message, options, { ...this.#options, contentType });
    request.onAbort((reason) => stream.stop(reason));
    return stream.reply;
  }

  writeError(_request: GatewayRequestHead, failure: Failure, { response }: FailedRequest): BareResponse {
    const { protocol, isText } = this.#options;
    const { frame = NO_BYTES, trailers = [] } = protocol.end(failure, response.trailers);
    const headers = addMetadata([...protocol.headers, ...failure.headers, ...trailers], response.headers);
    return { status: 200, headers, contentType: this.contentType, body: isText ? encodeBase64(frame) : frame };
  }
}

/** Maximum bytes of a body: its message in an envelope. Base64 uses four bytes for three. */
function maxBodyOf(maxMessage: number, isText: boolean | undefined): number {
  const size = maxMessage + 5;
  return isText ? Math.ceil(size / 3) * 4 : size;
}

/**
 * gRPC's code for a wrong number of messages
 * (https://grpc.github.io/grpc/core/md_doc_statuscodes.html).
 */
function wrongRequestCount(endpoint: string): StatusError {
  return new StatusError(Code.UNIMPLEMENTED, `${endpoint} takes exactly one request message`);
}
