/**
 * Unary calls of Connect (https://connectrpc.com/docs/protocol#unary-rpcs). The message is the body
 * of a POST. If the contract declares the endpoint free of side effects, the message may also be in
 * the query of a GET. The response message is the body of a response with status 200. An error is a
 * JSON object with its own HTTP status.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import { asBuffer } from "../../../src/wire/buffer.js";
import type { Routes } from "../../catalog/routes.js";
import type { EndpointTarget, Route } from "../../catalog/target.js";
import { decodeContent } from "../../http/coded-body.js";
import { type Failure, HttpError } from "../../http/errors.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import { parseQuery, queryOf } from "../../http/target.js";
import { type Allow, allowing, type Dialect, type FailedRequest, type ResponseMetadata } from "../../stages/dialect.js";
import { addMetadata } from "../metadata.js";
import { JSON_CODEC, PROTO, type RpcCodec } from "../rpc/codec.js";
import { decompressQuery, ENCODINGS, encodingOf } from "../rpc/compression.js";
import { NO_ROOTS, POST_ONLY } from "../rpc/enveloped.js";
import { findRoute } from "../rpc/route.js";
import { toConnectError } from "./errors.js";
import { checkVersion, readConnectTimeout } from "./request.js";

const GET_OR_POST: Allow = allowing("GET", "POST", "OPTIONS");
const NO_BYTES = Buffer.alloc(0);

export class ConnectUnary implements Dialect {
  readonly name = "connect";
  readonly roots = NO_ROOTS;
  readonly writesDetails = false;
  readonly usesServiceStatus = false;
  readonly readTimeout = readConnectTimeout;
  readonly isBinary: boolean;
  readonly #codec: RpcCodec;
  readonly #maxMessage: number;

  /** @param maxMessage maximum bytes of a message in a query, before and after decompression */
  constructor(codec: RpcCodec, maxMessage: number) {
    this.#codec = codec;
    this.isBinary = codec === PROTO;
    this.#maxMessage = maxMessage;
  }

  findRoute(request: GatewayRequestHead, routes: Routes): Route | undefined {
    checkVersion(request.headers.connectVersion);
    return findRoute(request, routes);
  }

  methods(_request: GatewayRequestHead, { method, shape }: Endpoint): Allow {
    const isFree = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
    return isFree && shape === "unary" ? GET_OR_POST : POST_ONLY;
  }

  checkBody({ method, headers }: GatewayRequestHead, { endpoint }: EndpointTarget): void {
    // Over HTTP/2 a client may announce a body, and send none.
    if (method !== "POST" && headers.contentLength !== undefined) throw noBody();
    checkUnary(endpoint);
    encodingOf(headers.contentEncoding);
  }

  takesChunks(): boolean {
    return false;
  }

  maxBody(maxMessage: number): number {
    return maxMessage;
  }

  isEncoded(): boolean {
    return true;
  }

  async decodeBody(
    request: GatewayRequest,
    _target: EndpointTarget,
    body: readonly Uint8Array[],
    maxMessage: number,
  ): Promise<readonly Uint8Array[]> {
    if (request.method !== "POST") {
      if (body.some(({ length }) => length > 0)) throw noBody();
      return [];
    }
    const chunks = await decodeContent(request, body, maxMessage);
    return chunks.length === 1 ? chunks : [Buffer.concat(chunks)];
  }

  readMessage({ method, target }: GatewayRequest, endpoint: EndpointTarget, body: readonly Uint8Array[]): Uint8Array {
    if (method !== "POST") return this.#codec.read(endpoint, messageOfQuery(queryOf(target), this.#maxMessage));
    return this.#codec.read(endpoint, body[0] ?? NO_BYTES);
  }

  writeMessage(
    _request: GatewayRequest,
    target: EndpointTarget,
    message: Uint8Array,
    response: ResponseMetadata,
  ): BareResponse {
    const body = asBuffer(this.#codec.write(target, message));
    const headers = addMetadata(addMetadata([], response.headers), response.trailers, "trailer-");
    return { status: 200, contentType: `application/${this.#codec.name}`, body, headers };
  }

  openStream(_request: GatewayRequest, _body: unknown, { target }: { readonly target: EndpointTarget }): BareResponse {
    throw streams(target.endpoint);
  }

  writeError(_request: GatewayRequestHead, failure: Failure, { response }: FailedRequest): BareResponse {
    const { status } = failure;
    const headers = addMetadata([...failure.headers], response.headers);
    addMetadata(headers, response.trailers, "trailer-");
    if (failure.status === 415) headers.push("Accept-Encoding", ENCODINGS);
    return { status, headers, body: JSON.stringify(toConnectError(failure)) };
  }
}

function noBody(): HttpError {
  return new HttpError(400, "A GET has its message in the query, and no body");
}

function checkUnary(endpoint: Endpoint): void {
  if (endpoint.shape !== "unary") throw streams(endpoint);
}

function streams({ name }: Endpoint): HttpError {
  return new HttpError(415, `${name} streams: send application/connect+proto or application/connect+json`);
}

/**
 * Reads the message of a GET: `?connect=v1&encoding=json&message=…`, optionally with `base64=1` and
 * `compression=gzip`.
 */
function messageOfQuery(query: string, maxMessage: number): Uint8Array {
  const parameters = new Map(parseQuery(query));
  const message = parameters.get("message") ?? "";
  const bytes = parameters.get("base64") === "1" ? decodeBase64Url(message) : Buffer.from(message);
  const encoding = encodingOf(parameters.get("compression"));
  return encoding === undefined ? bytes : decompressQuery(encoding, bytes, maxMessage);
}

/** Base64url, with or without padding (RFC 4648 §5). */
const BASE64_URL = /^[A-Za-z0-9_-]*={0,2}$/;

function decodeBase64Url(text: string): Buffer {
  if (!BASE64_URL.test(text)) throw new HttpError(400, "message must be base64 of the alphabet for URLs");
  return Buffer.from(text, "base64url");
}

/** The codec that the query of a GET names; undefined if it is not a query of Connect. */
export function codecOfQuery(target: string): RpcCodec | undefined {
  const query = queryOf(target);
  if (!/(?:^|&)connect=v1(?:&|$)/.test(query)) return undefined;
  const encoding = /(?:^|&)encoding=(proto|json)(?:&|$)/.exec(query)?.[1];
  return encoding === undefined ? undefined : encoding === "proto" ? PROTO : JSON_CODEC;
}
