/**
 * Puts a handler on an HTTP port. The only file that knows node:http, whose parser and timeouts do the work; what is
 * added here are bounds that it lacks (bodies, number of headers), and that every refusal, also of bytes that never
 * became a request, is answered by the handler and so looks the same, is logged and is counted.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Address, Config } from "../src/config.js";
import { BodyRoom } from "./body-room.js";
import { HttpError, reason } from "./errors.js";
import {
  type BodySink,
  type BodyStream,
  type GatewayRequest,
  type GatewayResponse,
  type Handler,
  isStream,
} from "./exchange.js";
import { Stall } from "./stall.js";
import { type Upgrade, type WebSocketLimits, WebSockets } from "./websocket.js";

export type Limits = Pick<
  Config,
  | "maxBody"
  | "maxHeaders"
  | "maxHeaderCount"
  | "headerTime"
  | "bodyTime"
  | "keepAlive"
  | "maxCallTime"
  | "maxConnections"
> &
  Pick<WebSocketLimits, "heartbeatMs" | "stallMs"> & {
    /** Bytes of bodies at once, over all connections; default 256 MiB, and two bodies at least. */
    readonly bodyRoom?: number | undefined;
  };

export interface Listening {
  /** Where it listens, with the port that was found for port 0. */
  readonly address: Address;
  /**
   * Stops accepting, lets requests in flight finish, and tells those that have not after `drainMs` that the server stops,
   * streams in their last frame. Resolves when all connections are closed.
   */
  close(drainMs: number): Promise<void>;
}

/** @throws {Error} (rejects) when the address cannot be had. */
export async function listen(handler: Handler, address: Address, limits: Limits): Promise<Listening> {
  const door = new Door(handler, limits);
  await door.open(address);
  return door;
}

/**
 * After an answer to a request that is still being sent, what comes is read and dropped for this long: closing at once
 * would reset the connection, and the client might never see the answer (RFC 9112 §9.6).
 */
const LINGER_MS = 1000;
/** What is told to clients when the server stops has this long to reach them. */
const FLUSH_MS = 500;
/** An unread body up to this size is dropped and the connection kept; before a larger one it is closed. */
const DROPPED_BODY = 64 * 1024;

/** What a connection is busy with, or was last. */
interface Work {
  /** Whether its answer has been given to the connection. */
  readonly answered: boolean;
  /** Whether the client is told of a fault, or will be, and the connection then closed. */
  readonly failed: boolean;
  /** Makes its answer the connection's last; where its body is still to come, that answer is the fault. */
  fail(fault: HttpError): void;
  /** Makes it end now, as soon as it can. */
  stop(why: HttpError): void;
}

const WORK = Symbol("work");
type Connection = Socket & { [WORK]?: Work };

class Door implements Listening {
  readonly #handler: Handler;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #webSockets: WebSockets;
  #address: Address = { host: "", port: 0 };
  #leaving = false;

  constructor(handler: Handler, limits: Limits) {
    this.#handler = handler;
    this.#webSockets = new WebSockets(limits);
    const { maxBody } = limits;
    const bounds = { maxBody, stallMs: limits.stallMs, room: new BodyRoom(maxBody, limits.bodyRoom) };
    const server = createServer({
      maxHeaderSize: limits.maxHeaders,
      headersTimeout: limits.headerTime,
      requestTimeout: limits.headerTime + limits.bodyTime,
      connectionsCheckingInterval: Math.min(1000, limits.headerTime / 2),
      keepAliveTimeout: limits.keepAlive,
      requireHostHeader: false, // Checked below, to be answered like everything else.
    });
    // Node drops headers beyond the limit in silence; with one more the handler sees that there are too many.
    server.maxHeadersCount = limits.maxHeaderCount + 1;
    server.maxConnections = limits.maxConnections;
    // A client that neither sends nor takes anything for longer than any call lasts.
    server.timeout = limits.maxCallTime + limits.bodyTime;
    server.on("connection", (socket: Connection) => {
      // Node takes its own listener away where it hands a connection over, at CONNECT and Upgrade.
      socket.on("error", () => {});
      if (this.#connections.has(socket)) return; // It comes back after an upgrade that was ignored.
      this.#connections.add(socket);
      socket.once("close", () => this.#connections.delete(socket));
    });
    server.on("request", (req, res) => this.#serve(new Exchange(req, res, bounds)));
    server.on("checkContinue", (req, res) => this.#serve(new Exchange(req, res, bounds, { waits: true })));
    server.on("checkExpectation", (req, res) =>
      this.#serve(new Exchange(req, res, bounds, { waits: true, fault: UNKNOWN_EXPECTATION })),
    );
    server.on("connect", (_req, socket: Connection) => this.#refuseTunnel(socket));
    server.on("upgrade", (req, socket: Connection, head) => this.#upgrade({ req, socket, head }));
    server.on("clientError", (error, socket: Connection) => this.#broken(error, socket));
    this.#server = server;
  }

  open(wanted: Address): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ ...wanted, backlog: 1024 }, () => {
        this.#server.off("error", reject);
        const { address: host, port } = this.#server.address() as AddressInfo;
        this.#address = { host, port };
        resolve();
      });
    });
  }

  get address(): Address {
    return this.#address;
  }

  async close(drainMs: number): Promise<void> {
    this.#leaving = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Node counts a connection that never sent anything as busy.
    for (const connection of this.#connections) if (connection.bytesRead === 0) connection.destroy();
    const timers = [setTimeout(() => this.#stop(timers), drainMs)];
    await closed;
    for (const timer of timers) clearTimeout(timer);
  }

  /** Ends what is still in flight, and a little later every connection. */
  #stop(timers: NodeJS.Timeout[]): void {
    const cut = (): void => {
      for (const connection of this.#connections) connection.destroy();
    };
    for (const connection of this.#connections) connection[WORK]?.stop(STOPPING);
    timers.push(setTimeout(cut, FLUSH_MS));
  }

  #serve(exchange: Exchange): void {
    (exchange.req.socket as Connection)[WORK] = exchange;
    const answer = this.#handler(exchange);
    const isLast = (): boolean => this.#leaving;
    if (answer instanceof Promise) answer.then((response) => exchange.answer(response, isLast));
    else exchange.answer(answer, isLast);
  }

  /** Where an answer is still to come this one would overtake it. */
  #refuseTunnel(socket: Connection): void {
    if (socket[WORK]?.answered === false) socket.destroy();
    else this.#refuse(socket, NO_TUNNEL);
  }

  /** A request for another protocol, with which node stops to read HTTP on the connection. */
  async #upgrade(upgrade: Upgrade & { readonly socket: Connection }): Promise<void> {
    const { req, socket } = upgrade;
    // Its answer would overtake the one before.
    if (socket[WORK]?.answered === false) return void socket.destroy();
    if (!/(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(req.headers.upgrade ?? "")) return this.#ignoreUpgrade(upgrade);
    const opening = new Opening(req, socket);
    socket[WORK] = opening;
    const response = await this.#handler(opening);
    opening.answered = true;
    if (opening.gone) return;
    if (response.session === undefined) return this.#answerRaw(socket, response);
    this.#webSockets.accept(upgrade, response.headers, response.session, (why) => opening.stop(why));
  }

  /**
   * Other protocols are not spoken here, and who asks for one takes the answer in HTTP/1.1 too (RFC 9110 §7.8). So the
   * request is read once more, without the header: node cannot be told beforehand which upgrades to leave alone.
   */
  #ignoreUpgrade({ req, socket, head }: Upgrade): void {
    const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`];
    for (let at = 0; at < req.rawHeaders.length; at += 2) {
      const name = req.rawHeaders[at] as string;
      if (name.toLowerCase() !== "upgrade") lines.push(`${name}: ${req.rawHeaders[at + 1]}`);
    }
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
    // Those of the reader before, which node leaves behind; a new one comes at once.
    socket.removeAllListeners("error");
    this.#server.emit("connection", socket);
  }

  /** The bytes that came are no HTTP, or came too late. */
  #broken(error: Error & { code?: string; reason?: string }, socket: Connection): void {
    if (!socket.writable || socket.readableEnded || error.code === "ECONNRESET") return void socket.destroy();
    const work = socket[WORK];
    if (work?.failed) return; // What else the client sends does not matter.
    if (work === undefined || work.answered) this.#refuse(socket, faultOf(error));
    else work.fail(faultOf(error));
  }

  /** Answers where there is no request to answer, and closes. */
  async #refuse(socket: Connection, fault: HttpError): Promise<void> {
    const refusal = new Refusal(fault, socket.remoteAddress ?? "");
    socket[WORK] = refusal;
    this.#answerRaw(socket, await this.#handler(refusal));
  }

  /** Answers where node does not, and closes. */
  #answerRaw(socket: Connection, { status, headers, body }: GatewayResponse): void {
    if (!socket.writable) return void socket.destroy();
    const lines = [`HTTP/1.1 ${status} ${reason(status)}`, `Date: ${new Date().toUTCString()}`, "Connection: close"];
    for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
    socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("end", () => socket.destroy()).once("close", () => clearTimeout(cut));
  }
}

const STOPPING = new HttpError(503, "Portico is stopping");
const GONE = new HttpError(499, "The client has gone");
const UNKNOWN_EXPECTATION = new HttpError(417, "The only expectation understood is 100-continue");
const NO_TUNNEL = new HttpError(405, "CONNECT is not served here", { headers: ["Allow", "GET, HEAD, POST, OPTIONS"] });
const NO_ROOM = new HttpError(503, "Too many bodies are being received; try again", { headers: ["Retry-After", "1"] });
const NO_HOST = new HttpError(400, "The header Host is missing");

/** Node's errors of parsing and waiting (https://nodejs.org/api/http.html#event-clienterror) as a refusal. */
function faultOf({ code, reason }: { code?: string; reason?: string }): HttpError {
  if (code === "HPE_HEADER_OVERFLOW") return new HttpError(431, "The headers are too large");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return new HttpError(413, "The chunk extensions are too large");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new HttpError(408, "The request took too long to arrive");
  return new HttpError(400, `The request is not well-formed HTTP${reason ? `: ${reason}` : ""}`);
}

/** What never became a request. */
class Refusal implements GatewayRequest, Work {
  readonly method = "";
  readonly target = "";
  readonly headers = [];
  readonly answered = false;
  readonly failed = true;
  constructor(
    readonly fault: HttpError,
    readonly remoteAddress: string,
  ) {}
  body(): never {
    throw this.fault;
  }
  onGone(): void {}
  fail(): void {}
  stop(): void {}
}

/** A request for a WebSocket. */
class Opening implements GatewayRequest, Work {
  readonly upgrade = true;
  readonly fault = undefined;
  readonly failed = true;
  answered = false;
  /** Before it was answered. */
  gone = false;
  readonly #req: IncomingMessage;
  #why: HttpError | undefined;
  #onGone: ((why: HttpError) => void) | undefined;

  constructor(req: IncomingMessage, socket: Socket) {
    this.#req = req;
    socket.once("close", () => {
      this.gone = true;
      this.stop(GONE);
    });
  }

  get method(): string {
    return this.#req.method as string;
  }

  get target(): string {
    return this.#req.url as string;
  }

  get headers(): readonly string[] {
    return this.#req.rawHeaders;
  }

  get remoteAddress(): string {
    return this.#req.socket.remoteAddress ?? "";
  }

  body(): never {
    throw new HttpError(400, "The request for a WebSocket must have no body");
  }

  onGone(listener: (why: HttpError) => void): void {
    if (this.#why === undefined) this.#onGone = listener;
    else listener(this.#why);
  }

  fail(): void {}

  stop(why: HttpError): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#onGone?.(why);
  }
}

interface Bounds {
  readonly maxBody: number;
  readonly stallMs: number | undefined;
  readonly room: BodyRoom;
}

/** One request and its answer, on node's own. */
class Exchange implements GatewayRequest, Work {
  readonly req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #bounds: Bounds;
  /** Of the room for bodies, what its own takes. */
  #taken = 0;
  /** Whether the client waits for 100 before it sends the body. */
  readonly #waits: boolean;
  readonly fault: HttpError | undefined;
  answered = false;
  failed = false;
  /** Why there is no more time for the answer. */
  #why: HttpError | undefined;
  #gone = false;
  #onGone: ((why: HttpError) => void) | undefined;
  #rejectBody: ((fault: HttpError) => void) | undefined;

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    bounds: Bounds,
    { waits = false, fault }: { waits?: boolean; fault?: HttpError } = {},
  ) {
    this.req = req;
    this.#res = res;
    this.#bounds = bounds;
    this.#waits = waits;
    this.fault = fault ?? (req.headers.host === undefined && req.httpVersionMinor > 0 ? NO_HOST : undefined);
    res.on("close", () => this.#closed());
  }

  get method(): string {
    return this.req.method as string;
  }

  get target(): string {
    return this.req.url as string;
  }

  get headers(): readonly string[] {
    return this.req.rawHeaders;
  }

  get remoteAddress(): string {
    return this.req.socket.remoteAddress ?? "";
  }

  onGone(listener: (why: HttpError) => void): void {
    if (this.#why === undefined) this.#onGone = listener;
    else listener(this.#why);
  }

  stop(why: HttpError): void {
    if (this.#why !== undefined || this.#res.writableEnded) return;
    this.#why = why;
    this.#stopReading(why);
    this.#onGone?.(why);
  }

  #closed(): void {
    if (this.#res.writableEnded) return;
    this.#gone = true;
    this.stop(GONE);
  }

  body(): Promise<Uint8Array> {
    const { req } = this;
    const { maxBody, room } = this.#bounds;
    if (Number(req.headers["content-length"]) > maxBody) throw this.#tooLarge();
    if (this.#waits) this.#res.writeContinue();
    return new Promise((resolve, reject) => {
      this.#rejectBody = reject;
      const chunks: Buffer[] = [];
      let size = 0;
      req.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBody) return this.#stopReading(this.#tooLarge());
        const taken = room.take(chunk.length);
        if (taken === 0) return this.#stopReading(NO_ROOM);
        this.#taken += taken;
        chunks.push(chunk);
      });
      req.on("end", () => {
        this.#rejectBody = undefined;
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
      });
    });
  }

  #tooLarge(): HttpError {
    return new HttpError(413, `The body must not be larger than ${this.#bounds.maxBody} bytes`);
  }

  fail(fault: HttpError): void {
    this.failed = true;
    if (!this.req.complete) this.#stopReading(fault);
  }

  #stopReading(fault: HttpError): void {
    const reject = this.#rejectBody;
    if (reject === undefined) return;
    this.#rejectBody = undefined;
    this.req.removeAllListeners("data").resume();
    reject(fault);
  }

  /** Sends the answer: a whole body in one write. `isLast` tells whether the connection is to be closed after it. */
  answer({ status, headers, body }: GatewayResponse, isLast: () => boolean): void {
    this.answered = true;
    this.#bounds.room.giveBack(this.#taken);
    const res = this.#res;
    if (this.#gone) return;
    const lingers = this.#lingers();
    const all = isLast() || this.failed || lingers ? [...headers, "Connection", "close"] : headers;
    res.writeHead(status, reason(status), all as string[]);
    if (isStream(body)) return void this.#pour(body, isLast);
    if (!lingers) return void res.end(body);
    this.failed = true;
    // The client has its whole answer by this; what is left of its request is dropped before the connection closes.
    res.write(body);
    const cut = setTimeout(() => res.end(), LINGER_MS);
    this.req.once("end", () => res.end()).resume();
    res.once("close", () => clearTimeout(cut));
  }

  /** Sends a body as it comes. */
  #pour(body: BodyStream, isLast: () => boolean): void {
    const res = this.#res;
    const { socket } = this.req;
    // Silence is no sign of a client that has gone: it may read slowly, or have nothing to read.
    socket.setTimeout(0);
    const stall = new Stall(socket, this.#bounds.stallMs);
    res.on("drain", () => {
      stall.end();
      body.onDrain();
    });
    res.once("close", () => stall.end());
    const sink: BodySink = {
      write(piece) {
        const more = res.write(piece);
        if (!more) stall.begin();
        return more;
      },
      end() {
        stall.begin();
        res.end(() => isLast() && socket.destroySoon());
      },
      abort() {
        stall.begin();
        socket.destroySoon();
      },
    };
    body.open(sink);
  }

  /** Whether the rest of the body is too much, or too uncertain, to be dropped and the connection kept. */
  #lingers(): boolean {
    const { req } = this;
    if (req.complete) return false;
    if (this.failed || this.#waits || req.headers["transfer-encoding"] !== undefined) return true;
    return Number(req.headers["content-length"] ?? 0) > DROPPED_BODY;
  }
}
