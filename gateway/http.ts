/**
 * HTTP as the gateway's core sees it: a request with its target and headers, a response, their bodies, and an open WebSocket.
 * No type of node:http stands here, so a test can call the handler as a function, and another kind of server can stand before it.
 */
import { withoutTokens } from "../src/access/token.js";
import type { OwnRoot } from "../src/contract/names.js";
import type { UnreadRequests } from "./backlog.js";
import { HttpError } from "./errors.js";

/** A request without its body: all that a dialect is given of it until the guard has decided who calls. */
export interface GatewayRequestHead {
  readonly method: string;
  /** The request target as sent (RFC 9112 §3.2), one character an octet: `/helloworld/call?name=Ada`. */
  readonly target: string;
  /** Name, value, name, value … as sent: nothing joined, nothing dropped. */
  readonly rawHeaders: readonly string[];
  /** The headers that the gateway reads for every request, parsed. */
  readonly headers: RequestHeaders;
  /** What the server found wrong with the request as HTTP; the rest of the request may then be missing. */
  readonly fault?: HttpError | undefined;
  /** The client's IP address. */
  readonly remoteAddress: string;
  /** Whether the client asks for a WebSocket (RFC 6455) at this path. */
  readonly upgrade?: boolean | undefined;
  /** Whether the response may end with trailers (RFC 9110 §6.5), as over HTTP/2; else those that it has are left out. */
  readonly sendsTrailers?: boolean | undefined;
  /** Calls the listener when the response is not to be waited for any more: 499 the client has gone, 503 the server stops. */
  onAbort(listener: (reason: HttpError) => void): void;
}

export interface GatewayRequest extends GatewayRequestHead {
  /**
   * Reads the body to its end; may be called once.
   * @param maxBytes where it is not the port's limit, because the message in the body is smaller than the body
   * @returns the body in the pieces in which it arrived
   * @throws {HttpError} 413 too large, 408 too slow, 400 malformed, 499 the client has gone, 503 no memory for it
   */
  body(maxBytes?: number): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /**
   * The body as `body` gives it, where all of it has arrived. Else undefined, and `body` may still be called.
   * @throws {HttpError} 413 too large, 503 no memory for it
   */
  arrivedBody(maxBytes: number): readonly Uint8Array[] | undefined;
  /**
   * Reserves memory for a response body, until the client has read it; of several calls the largest counts. Else a large body
   * may be cut off.
   * @returns false where there is no memory: the request must then be rejected
   */
  tryReserveResponse(bytes: number): boolean;
  /**
   * Reserves memory for what was made of the body, beside the body itself and in place of what was reserved so before, until the
   * response is given. @returns false where there is none; then it is as it was
   */
  tryHoldBody(bytes: number): boolean;
  /** Reads the body as it arrives, instead of `body`, whatever its length. */
  pieces(reader: PieceReader): PieceFlow;
  /** Tells where the next request like this one may wait before it is read: it most likely calls the same service. */
  setBacklog?(backlog: UnreadRequests): void;
  /** Holds back the client, which may ask again at once: this request is refused in an overload. */
  holdBack?(): void;
}

/** A response before the headers are added that every response has: what stages, Portico's own paths and errors make. */
export interface Reply {
  readonly status: number;
  readonly body: string | Uint8Array | BodyStream;
  /** Default `application/json`. */
  readonly contentType?: string | undefined;
  /** Name, value, name, value …; without a Cache-Control the response says `no-store`. */
  readonly headers?: readonly string[];
  /** Trailers behind a body that is no stream: name, value, name, value … */
  readonly trailers?: readonly string[] | undefined;
  /** With status 101: what speaks for the gateway on the WebSocket. */
  readonly session?: SocketSession | undefined;
}

export interface GatewayResponse extends Pick<Reply, "status" | "body" | "trailers" | "session"> {
  /** Name, value, name, value …: all headers but those of the connection. */
  readonly headers: readonly string[];
  /** Bytes of the body; 0 for a stream. */
  readonly length: number;
}

/** Paths that Portico answers itself, such as `/readyz` or the web pages. */
export interface OwnPaths {
  /** Each path is one of these, or lies below it. No binding of a service is called there (src/contract/own-paths.ts). */
  readonly roots: readonly OwnRoot[];
  /** The reply at a path, without the query; undefined at a path that is none of these. */
  reply(path: string, request: GatewayRequestHead): Reply | undefined | Promise<Reply>;
}

export type Handler = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>;

/** Receives the body of a request piece by piece. */
export interface PieceReader {
  /** Whether the client may be silent for any time between two pieces; else it fails with 408. */
  readonly allowsSilence?: boolean | undefined;
  /** @returns false to receive no more until `resume` */
  onPiece(piece: Uint8Array): boolean;
  onEnd(): void;
  /** The body has failed: 408 too slow, 400 malformed, 499 the client has gone, 504 no `resume` for too long. */
  onFault(fault: HttpError): void;
}

/** Controls the pieces that a `PieceReader` receives. */
export interface PieceFlow {
  /** Asks for more, after an `onPiece` that returned false. */
  resume(): void;
  /** Asks for no more: the reader is not called again. */
  stop(): void;
  /** Reserves memory for what the reader holds of the body, in place of what it held. @returns false where there is none */
  tryHold?(bytes: number): boolean;
}

/** A response body that is written piece by piece. */
export interface BodyStream {
  /** Begins to write. */
  open(sink: BodySink): void;
  /** More may be written, after a `write` that returned false. */
  onDrain(): void;
  /**
   * For a stream that is not recorded as a call: has the listener called once when it has ended, with the HTTP status to record.
   * Not named as a member of `PieceReader`: an object may be both.
   */
  onClosed?(listener: (status: number) => void): void;
}

export function isStream(body: GatewayResponse["body"]): body is BodyStream {
  return typeof body === "object" && "open" in body;
}

/** Takes a response body, as fast as the client reads it. */
export interface BodySink {
  /** @returns false to ask for no more until `onDrain` */
  write(piece: string | Uint8Array): boolean;
  /** @param trailers name, value, name, value … */
  end(trailers?: readonly string[]): void;
  /** Cuts the connection, over HTTP/2 the stream, so that the client sees that the body is incomplete. */
  abort(): void;
}

/** The gateway's end of a WebSocket. */
export interface SocketSession {
  open(socket: MessageSocket): void;
  /** A message of the client: the bytes of a text frame, or undefined for a binary one. */
  onMessage(text: Uint8Array | undefined): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain(): void;
}

/** An open WebSocket, one message a frame. After the close its methods do nothing. */
export interface MessageSocket {
  /** Sends a text frame. @returns false to ask for no more until `onDrain` */
  send(text: string): boolean;
  /** Stops `onMessage`, and so, through flow control, the client. */
  pause(): void;
  resume(): void;
  /** Closes after what has been sent (codes: RFC 6455 §7.4). */
  close(code: number, reason: string): void;
}

/** In absolute form, which every server must accept, the host repeats the header Host (RFC 9112 §3.2.2). */
const ABSOLUTE = /^https?:\/\/[^/?#]+(?=[/?])/i;

/** The path of a request target, as sent. */
export function pathOf(target: string): string {
  const origin = target.startsWith("/") ? target : target.replace(ABSOLUTE, "");
  const question = origin.indexOf("?");
  return question < 0 ? origin : origin.slice(0, question);
}

/** The query of a request target, as sent, without the `?`; "" for none. */
export function queryOf(target: string): string {
  const question = target.indexOf("?");
  return question < 0 ? "" : target.slice(question + 1);
}

/** Most characters of a path that are logged and repeated in errors. */
const MAX_SHOWN_PATH = 128;

/** A path for logs and errors: shortened, and without tokens that were pasted into it by mistake. */
export function printablePath(path: string): string {
  return withoutTokens(path.slice(0, MAX_SHOWN_PATH));
}

/**
 * Splits the query `a=1&b=2` into its parameters (https://url.spec.whatwg.org/#urlencoded-parsing), strictly.
 * @throws {HttpError} 400 where a percent-encoding is broken or is not UTF-8
 */
export function parseQuery(query: string): [name: string, value: string][] {
  const parameters: [string, string][] = [];
  for (const parameter of query.split("&")) {
    if (parameter === "") continue;
    const equals = parameter.indexOf("=");
    const name = equals < 0 ? parameter : parameter.slice(0, equals);
    parameters.push([decode(name), equals < 0 ? "" : decode(parameter.slice(equals + 1))]);
  }
  return parameters;
}

const NOT_ASCII = /[^\x21-\x7e]/;

function decode(text: string): string {
  try {
    if (!NOT_ASCII.test(text)) return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // Rejected below.
  }
  throw new HttpError(
    400,
    `The query has a broken percent-encoding, or one that is not UTF-8, in ${JSON.stringify(text.slice(0, 64))}`,
  );
}

/** The request headers that the gateway reads. Of a header that came twice and must not, it never guesses which one counts. */
export class RequestHeaders {
  acceptEncoding: string | undefined;
  authorization: string | undefined;
  connectAcceptEncoding: string | undefined;
  connectContentEncoding: string | undefined;
  connectTimeout: string | undefined;
  connectVersion: string | undefined;
  contentEncoding: string | undefined;
  contentLength: string | undefined;
  contentType: string | undefined;
  expect: string | undefined;
  fetchMode: string | undefined;
  fetchSite: string | undefined;
  grpcAcceptEncoding: string | undefined;
  grpcEncoding: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  namespace: string | undefined;
  requestId: string | undefined;
  requestMethod: string | undefined;
  service: string | undefined;
  timeout: string | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;
  transferEncoding: string | undefined;
  /** How many headers there are, those included that the gateway does not read. */
  count = 0;
  /** The name of a header that was sent more than once and must not be. */
  repeated: string | undefined;
  /** A body follows whose length no header says, which HTTP/1.1 announces by Transfer-Encoding (RFC 9113 §8.1). */
  streamed = false;
}

/** A header that the gateway reads. */
export type HeaderField = Exclude<keyof RequestHeaders, "count" | "repeated" | "streamed">;

/** By their names in lower case. */
export const HEADER_FIELDS: ReadonlyMap<string, HeaderField> = new Map<string, HeaderField>([
  ["accept-encoding", "acceptEncoding"],
  ["authorization", "authorization"],
  ["connect-accept-encoding", "connectAcceptEncoding"],
  ["connect-content-encoding", "connectContentEncoding"],
  ["connect-timeout-ms", "connectTimeout"],
  ["connect-protocol-version", "connectVersion"],
  ["content-encoding", "contentEncoding"],
  ["content-length", "contentLength"],
  ["content-type", "contentType"],
  ["expect", "expect"],
  ["sec-fetch-mode", "fetchMode"],
  ["sec-fetch-site", "fetchSite"],
  ["grpc-accept-encoding", "grpcAcceptEncoding"],
  ["grpc-encoding", "grpcEncoding"],
  ["host", "host"],
  ["origin", "origin"],
  ["platform-namespace", "namespace"],
  ["portico-service", "service"],
  ["x-request-id", "requestId"],
  ["access-control-request-method", "requestMethod"],
  ["grpc-timeout", "timeout"],
  ["traceparent", "traceparent"],
  ["tracestate", "tracestate"],
  ["transfer-encoding", "transferEncoding"],
]);

/** Headers whose value is a list. */
const LISTS: ReadonlySet<HeaderField> = new Set<HeaderField>([
  ...(["acceptEncoding", "connectAcceptEncoding", "expect", "grpcAcceptEncoding", "tracestate"] as const),
]);

/** Parses the raw list: name, value, name, value … */
export function readHeaders(raw: readonly string[]): RequestHeaders {
  const headers = new RequestHeaders();
  headers.count = raw.length / 2;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string;
    const field = HEADER_FIELDS.get(name.toLowerCase());
    if (field === undefined) continue;
    if (!tryAddHeader(headers, field, raw[index + 1] as string)) headers.repeated ??= name;
  }
  return headers;
}

/** @returns false where the header must not be sent more than once, and was */
export function tryAddHeader(headers: RequestHeaders, field: HeaderField, value: string): boolean {
  const before = headers[field];
  if (before === undefined) headers[field] = value;
  // A list may be split over several headers; of two request IDs or trace parents neither counts (W3C Trace Context
  // §3.2.1 and §3.3.1).
  else if (LISTS.has(field)) headers[field] = `${before},${value}`;
  else if (field === "requestId" || field === "traceparent") headers[field] = "";
  else return false;
  return true;
}

/** All values of a header that only few requests are searched for, in the order sent. `name` is in lower case. */
export function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if ((raw[index] as string).toLowerCase() === name) values.push(raw[index + 1] as string);
  }
  return values;
}

/** The same values joined as one list (RFC 9110 §5.3); "" for none. */
export function listOf(raw: readonly string[], name: string): string {
  return valuesOf(raw, name).join(",");
}

/** Whether a body follows the headers (RFC 9112 §6.3, RFC 9113 §8.1). */
export function announcesBody(headers: RequestHeaders): boolean {
  return (
    headers.transferEncoding !== undefined ||
    headers.streamed ||
    (headers.contentLength !== undefined && headers.contentLength !== "0")
  );
}

/** Refuses a second Host, even where no other header is looked at (RFC 9112 §3.2). @throws {HttpError} 400 */
export function checkHost({ repeated }: RequestHeaders): void {
  if (repeated?.toLowerCase() === "host") throw new HttpError(400, "The header Host was sent more than once");
}

/** Refuses repeated headers, and transfer codings other than chunked. @throws {HttpError} 400 */
export function checkUnambiguous(headers: RequestHeaders): void {
  if (headers.repeated !== undefined) {
    throw new HttpError(400, `The header ${headers.repeated} was sent more than once`);
  }
  if (headers.transferEncoding !== undefined && headers.transferEncoding.toLowerCase() !== "chunked") {
    throw new HttpError(400, "The only Transfer-Encoding understood is chunked");
  }
}
