/**
 * Small clients of each dialect, over real sockets. They parse all that they have received again
 * with each new chunk.
 */
import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:http2";
import type { Writable } from "node:stream";
import { WebSocket } from "ws";
import type { Address } from "../../../../src/address/address.js";
import { Code } from "../../../../src/errors.js";
import {
  type Asked,
  type Conversation,
  type DialectClient,
  gzip,
  type Heard,
  type OpenCall,
  OWN_CODE,
} from "../../../contract/dialect.js";

/** The received part of a response. */
interface Response {
  status: number;
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
  body: Buffer;
  isOver: boolean;
}

interface Written {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

interface Dialect {
  readonly name: string;
  write(asked: Asked): Written;
  read(response: Response): Heard;
  /** A message of a stream; undefined if streams are WebSockets. */
  readonly frame?: (message: Buffer) => Buffer;
}

/** A client over HTTP/1.1 or HTTP/2. */
function clientOf(
  dialect: Dialect & Pick<DialectClient, "refusesUnknown" | "unknown" | "ownCode" | "converse">,
  address: Address,
  isHttp2: boolean,
): DialectClient {
  const { name, refusesUnknown, unknown, ownCode, frame } = dialect;
  const begin = (written: Written): OpenRequest => (isHttp2 ? beginHttp2 : beginHttp1)(address, written, dialect.read);
  return {
    ...{ name: `${name} over HTTP/${isHttp2 ? 2 : 1.1}`, refusesUnknown, unknown, ownCode },
    open(asked) {
      const written = dialect.write(asked);
      const call = begin(written);
      call.body.end(written.body);
      return call;
    },
    converse:
      frame === undefined ? dialect.converse : (asked): Conversation => converse(begin, dialect.write, frame, asked),
  };
}

/** A request whose headers have been sent, but not its body. */
interface OpenRequest extends OpenCall {
  readonly body: Writable;
  /** Sends the headers without waiting for the body. */
  flush(): void;
}

function converse(
  begin: (written: Written) => OpenRequest,
  write: Dialect["write"],
  frame: NonNullable<Dialect["frame"]>,
  asked: Omit<Asked, "message">,
): Conversation {
  const { body, flush, ...call } = begin(write({ ...asked, message: {} }));
  flush();
  return {
    ...call,
    send: (message) => new Promise((resolve) => body.write(frame(encoded(message)), () => resolve())),
    end: () => body.end(),
  };
}

function beginHttp1({ host, port }: Address, { path, headers }: Written, read: Dialect["read"]): OpenRequest {
  const response: Response = { status: 0, headers: {}, trailers: {}, body: Buffer.alloc(0), isOver: false };
  const outgoing = request({ host, port, path, method: "POST", headers, agent: false });
  outgoing.on("error", () => {});
  outgoing.on("response", (incoming) => {
    response.status = incoming.statusCode ?? 0;
    response.headers = incoming.headers;
    incoming.on("error", () => {});
    incoming.on("data", (chunk) => {
      response.body = Buffer.concat([response.body, chunk]);
    });
    incoming.on("end", () => {
      response.isOver = true;
    });
  });
  return {
    body: outgoing,
    flush: () => outgoing.flushHeaders(),
    heard: () => heard(response, read),
    pause: () => outgoing.socket?.pause(),
    leave: () => outgoing.destroy(),
  };
}

function beginHttp2({ host, port }: Address, { path, headers }: Written, read: Dialect["read"]): OpenRequest {
  const response: Response = { status: 0, headers: {}, trailers: {}, body: Buffer.alloc(0), isOver: false };
  const session = connect(`http://${host}:${port}`);
  session.on("error", () => {});
  const stream = session.request({ ":path": path, ":method": "POST", te: "trailers", ...headers });
  stream.on("error", () => {});
  stream.on("response", (received) => {
    response.status = Number(received[":status"]);
    response.headers = received as IncomingHttpHeaders;
  });
  stream.on("trailers", (received) => {
    response.trailers = received as IncomingHttpHeaders;
  });
  stream.on("data", (chunk) => {
    response.body = Buffer.concat([response.body, chunk]);
  });
  stream.on("end", () => {
    // A stream that is broken off ends, too.
    if (session.destroyed) return;
    response.isOver = true;
    session.close();
  });
  const leave = (): void => {
    stream.removeAllListeners("end"); // Node emits 'end' for a stream that it destroys.
    session.destroy();
  };
  return { body: stream, flush() {}, heard: () => heard(response, read), pause: () => stream.pause(), leave };
}

function heard(response: Response, read: Dialect["read"]): Heard {
  const { status, headers, trailers } = response;
  return { ...read(response), head: { status, fields: { ...headers, ...trailers } } };
}

const UNKNOWN_JSON = Buffer.from('{"nowhere":1}');
/** Field 99, a varint of 7. */
const UNKNOWN_PROTO = Buffer.from([0x98, 0x06, 0x07]);

function common({ token, namespace }: Asked): Record<string, string> {
  return {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(namespace === undefined ? {} : { "platform-namespace": namespace }),
  };
}

const encoded = (message: Asked["message"]): Buffer =>
  Buffer.isBuffer(message) ? message : Buffer.from(JSON.stringify(message));

/** Messages are JSON, except messages that a test gives as bytes. */
const subtype = (message: Asked["message"]): string =>
  Buffer.isBuffer(message) && message[0] !== 0x7b ? "proto" : "json";

const decoded = (contentType: string, message: Buffer): unknown =>
  contentType.includes("json") ? JSON.parse(message.toString()) : message;

const NOT_YET: Heard = { messages: [], end: undefined, isCompressed: false };

const CODES: Readonly<Record<number, Code>> = {
  400: Code.INVALID_ARGUMENT,
  401: Code.UNAUTHENTICATED,
  403: Code.PERMISSION_DENIED,
  404: Code.NOT_FOUND,
  409: Code.ABORTED,
  413: Code.RESOURCE_EXHAUSTED,
  429: Code.RESOURCE_EXHAUSTED,
  500: Code.INTERNAL,
  504: Code.DEADLINE_EXCEEDED,
};

const json: Dialect = {
  name: "JSON",
  write({ path, message, timeoutMs, gzip: isGzip = false, ...asked }) {
    const [, service = "", method] = /^\/(\w+)\.\w+\/(\w+)$/.exec(path) ?? [];
    const gRpcService = /\.(\w+)\//.exec(path)?.[1];
    const coded = isGzip ? { "content-encoding": "gzip", "accept-encoding": "gzip" } : {};
    const headers = { "content-type": "application/json", ...coded, ...common({ path, message, ...asked }) };
    return {
      path: `/${service}/${gRpcService}/${method}`,
      headers: timeoutMs === undefined ? headers : { ...headers, "grpc-timeout": `${timeoutMs}m` },
      body: isGzip ? gzip.on(encoded(message)) : encoded(message),
    };
  },
  read({ status, headers, body, isOver }) {
    if (status === 0) return NOT_YET;
    const isCompressed = headers["content-encoding"] === "gzip";
    if (isCompressed && !isOver) return NOT_YET;
    const values = (isCompressed ? gzip.off(body) : body)
      .toString()
      .split("\n")
      .slice(0, headers["content-type"] === "application/x-ndjson" ? -1 : 1);
    if (!isOver && headers["content-type"] !== "application/x-ndjson") return NOT_YET;
    const parsed = values.filter((line) => line !== "").map((line) => JSON.parse(line));
    const error = status === 200 ? parsed.find((value) => value.error !== undefined)?.error : parsed[0];
    const details = (error?.Details ?? []).map((detail: Record<string, unknown>) => String(detail["@type"]));
    // FAILED_PRECONDITION is 400, too.
    const code = error?.Detail === "ä ☺ 100 %" ? Code.FAILED_PRECONDITION : (CODES[error?.Code] ?? Code.OK);
    return {
      messages: parsed.filter((value) => value !== error && value.error === undefined),
      end: isOver ? { code, message: error?.Detail ?? "", details } : undefined,
      isCompressed,
    };
  },
};

/** A WebSocket, with which the JSON dialect carries streams of request messages. */
function webSocket({ host, port }: Address, asked: Omit<Asked, "message">): Conversation {
  const { path, headers } = json.write({ ...asked, message: {} });
  const { "content-type": _, ...others } = headers;
  const socket = new WebSocket(`ws://${host}:${port}${path}`, { headers: others });
  const messages: unknown[] = [];
  let end: Heard["end"];
  socket.on("error", ({ message }) => {
    end = { code: Code.UNKNOWN, message, details: [] };
  });
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  socket.on("close", (status) => {
    if (status === 1000) end = SUCCESS;
    if (end !== undefined) return;
    // The error object is the last frame.
    const { Code: code = 0, Detail: message = `${status}` } = (messages.pop() ?? {}) as {
      Code?: number;
      Detail?: string;
    };
    end = { code: CODES[code] ?? Code.UNKNOWN, message, details: [] };
  });
  const opened = new Promise<void>((resolve) => socket.on("open", resolve));
  const write = (text: string): Promise<void> =>
    opened.then(() => new Promise((resolve) => socket.send(text, () => resolve())));
  return {
    send: (message) => write(JSON.stringify(message)),
    end: () => void write(""),
    heard: () => ({ messages: messages.slice(), end, isCompressed: false }),
    pause: () => socket.pause(),
    leave: () => socket.terminate(),
  };
}

function codeNamed(name: string): Code {
  return Code[(name === "canceled" ? "CANCELLED" : name.toUpperCase()) as keyof typeof Code];
}

interface ConnectError {
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly { readonly type: string }[];
}

const endOf = ({ code, message = "", details = [] }: ConnectError): Heard["end"] => ({
  code: codeNamed(code),
  message,
  details: details.map(({ type }) => type),
});

const SUCCESS: Heard["end"] = { code: Code.OK, message: "", details: [] };

/** Splits a body into frames. An incomplete frame is left out. */
function framesOf(body: Buffer): { readonly flag: number; readonly data: Buffer }[] {
  const frames: { flag: number; data: Buffer }[] = [];
  for (let at = 0; at + 5 <= body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.length) break;
    frames.push({ flag: body[at] as number, data: body.subarray(at + 5, end) });
    at = end;
  }
  return frames;
}

function frame(message: Buffer, isCompressed: boolean): Buffer {
  const data = isCompressed ? gzip.on(message) : message;
  const head = Buffer.alloc(5);
  head[0] = isCompressed ? 1 : 0;
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

const isStream = (path: string): boolean => path.startsWith("/feed.");

/** Unary calls and streams, which have different formats in Connect. */
const connectDialect: Dialect = {
  name: "Connect",
  frame: (message) => frame(message, false),
  write(asked) {
    const { path, message, timeoutMs, gzip: isGzip = false } = asked;
    const stream = isStream(path);
    const headers: Record<string, string> = {
      ...common(asked),
      "connect-protocol-version": "1",
      "content-type": `application/${stream ? "connect+" : ""}${subtype(message)}`,
    };
    if (timeoutMs !== undefined) headers["connect-timeout-ms"] = String(timeoutMs);
    if (isGzip) headers[stream ? "connect-content-encoding" : "content-encoding"] = "gzip";
    if (isGzip) headers[stream ? "connect-accept-encoding" : "accept-encoding"] = "gzip";
    const body = encoded(message);
    return { path, headers, body: stream ? frame(body, isGzip) : isGzip ? gzip.on(body) : body };
  },
  read({ status, headers, body, isOver }) {
    const contentType = headers["content-type"] ?? "";
    if (status === 0) return NOT_YET;
    if (contentType.startsWith("application/connect+")) {
      const frames = framesOf(body);
      const last = frames.find(({ flag }) => (flag & 2) !== 0);
      const error = last === undefined ? undefined : JSON.parse(last.data.toString()).error;
      return {
        messages: frames.filter(({ flag }) => (flag & 2) === 0).map(({ data }) => decoded(contentType, data)),
        end: last === undefined ? undefined : error === undefined ? SUCCESS : endOf(error),
        isCompressed: false,
      };
    }
    if (!isOver) return NOT_YET;
    if (status !== 200) return { ...NOT_YET, end: endOf(JSON.parse(body.toString())) };
    const isCompressed = headers["content-encoding"] === "gzip";
    return { messages: [decoded(contentType, isCompressed ? gzip.off(body) : body)], end: SUCCESS, isCompressed };
  },
};

function grpcEnd(trailers: IncomingHttpHeaders): Heard["end"] {
  const details = String(trailers["grpc-status-details-bin"] ?? "");
  return {
    code: Number(trailers["grpc-status"]) as Code,
    message: decodeURIComponent(String(trailers["grpc-message"] ?? "")),
    details: details === "" ? [] : [Buffer.from(details, "base64").toString("latin1")],
  };
}

/** gRPC, gRPC-Web, and gRPC-Web in base64. */
function grpcDialect(name: string, type: string): Dialect {
  const isText = type.endsWith("-text");
  const inText = (bytes: Buffer): Buffer => (isText ? Buffer.from(bytes.toString("base64")) : bytes);
  return {
    name,
    frame: (message) => inText(frame(message, false)),
    write(asked) {
      const { path, message, timeoutMs, gzip: isGzip = false } = asked;
      const headers: Record<string, string> = { ...common(asked), "content-type": `${type}+${subtype(message)}` };
      if (timeoutMs !== undefined) headers["grpc-timeout"] = `${timeoutMs}m`;
      if (isGzip) Object.assign(headers, { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" });
      return { path, headers, body: inText(frame(encoded(message), isGzip)) };
    },
    read({ headers, trailers, body, isOver }) {
      const contentType = headers["content-type"] ?? "";
      const bytes = isText
        ? Buffer.concat((body.toString().match(/[^=]+=*/g) ?? []).map((part) => Buffer.from(part, "base64")))
        : body;
      const frames = framesOf(bytes);
      const isLast = ({ flag }: { readonly flag: number }): boolean => (flag & 0x80) !== 0;
      const inBody = frames.find(isLast)?.data.toString().split("\r\n").slice(0, -1);
      const last = inBody && Object.fromEntries(inBody.map((line) => line.split(/: (.*)/s)));
      const status = last ?? ("grpc-status" in trailers ? trailers : "grpc-status" in headers ? headers : undefined);
      return {
        messages: frames
          .filter((one) => !isLast(one))
          .map(({ flag, data }) => decoded(contentType, flag === 1 ? gzip.off(data) : data)),
        end: status === undefined || !isOver ? undefined : grpcEnd(status),
        isCompressed: frames[0]?.flag === 1,
      };
    },
  };
}

/** The bindings are in `test/support/bound.ts`. */
const httpRule: Dialect = {
  ...json,
  name: "google.api.http",
  write: (asked) => ({ ...json.write(asked), path: `/bound${asked.path}` }),
};

/** All clients of a port. */
export function clientsOf(address: Address): readonly DialectClient[] {
  const proto = { refusesUnknown: false, unknown: UNKNOWN_PROTO, ownCode: OWN_CODE };
  // In Portico's own dialects it is HTTP status 500, in Connect `unknown`.
  const inJson = { refusesUnknown: true, unknown: UNKNOWN_JSON, ownCode: Code.INTERNAL };
  const ownCode = Code.UNKNOWN;
  const grpc = grpcDialect("gRPC", "application/grpc");
  const grpcWeb = grpcDialect("gRPC-Web", "application/grpc-web");
  return [
    clientOf({ ...json, ...inJson, converse: (asked) => webSocket(address, asked) }, address, false),
    clientOf({ ...json, ...inJson }, address, true),
    clientOf({ ...httpRule, ...inJson }, address, false),
    clientOf({ ...httpRule, ...inJson }, address, true),
    clientOf({ ...connectDialect, ...proto, ownCode }, address, false),
    clientOf({ ...connectDialect, ...inJson, ownCode, name: "Connect with JSON" }, address, true),
    clientOf({ ...grpcWeb, ...proto }, address, false),
    clientOf({ ...grpcWeb, ...proto }, address, true),
    clientOf({ ...grpcDialect("gRPC-Web in base64", "application/grpc-web-text"), ...proto }, address, false),
    clientOf({ ...grpc, ...proto }, address, true),
  ];
}
