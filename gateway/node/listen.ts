/**
 * Puts a handler on an HTTP port of Node's. This folder adds the limits that Node lacks, and has the handler answer every
 * error, even of bytes that never became a request: so all errors look the same, are logged and are counted.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import type { Address } from "../../src/address.js";
import type { Config } from "../../src/config.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { HttpError, reason } from "../errors.js";
import { type GatewayResponse, type Handler, isStream } from "../http.js";
import { ACTIVE, type Connection, LINGER_MS } from "./connection.js";
import { type ExchangeOptions, HttpExchange } from "./http-exchange.js";
import { HttpMessage, OTHER_VERSION } from "./http-message.js";
import { MalformedRequest, UpgradeRequest } from "./requests.js";
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
    /** The memory budget of this process; default: one of the port's own. */
    readonly budget?: MemoryBudget | undefined;
  };

/** @throws {Error} (rejects) when the port cannot be opened at the address */
export async function listen(handler: Handler, address: Address, limits: Limits): Promise<HttpPort> {
  const port = new HttpPort(handler, limits);
  await port.open(address);
  return port;
}

/**
 * How long idle connections stay open after the port is closed, in milliseconds, for requests that are already on their way.
 * Closing at once would reset the connection, and the client could not know whether the call was made.
 */
const LAST_REQUEST_MS = 250;

/** How long the last errors have to reach their clients when the server stops, in milliseconds. */
const FLUSH_MS = 500;

/** Largest body, in bytes, that waits for other responses of its turn: many larger ones would take much memory. */
const MAX_WAITING_BODY = 16 * 1024;

/** With more of them, what the calls leave behind would have grown old, and expensive to collect, before they are answered. */
const MAX_RESPONSES_PER_WRITE = 128;

interface WaitingResponse {
  readonly exchange: HttpExchange;
  readonly response: GatewayResponse;
}

/** An open HTTP port. */
export class HttpPort {
  readonly #handler: Handler;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #webSockets: WebSockets;
  #address: Address = { host: "", port: 0 };
  #leaving = false;
  /** Responses of this turn of the event loop. */
  #waiting: WaitingResponse[] = [];

  constructor(handler: Handler, limits: Limits) {
    this.#handler = handler;
    const { maxBody, bodyTime, stallMs, budget = new MemoryBudget(limits) } = limits;
    this.#webSockets = new WebSockets(limits, budget);
    const exchangeLimits = { maxBody, bodyTime, stallMs, budget };
    const server = createServer({
      IncomingMessage: HttpMessage,
      maxHeaderSize: limits.maxHeaders,
      headersTimeout: limits.headerTime,
      requestTimeout: limits.headerTime + limits.bodyTime,
      connectionsCheckingInterval: Math.min(1000, limits.headerTime / 2),
      keepAliveTimeout: limits.keepAlive,
      requireHostHeader: false, // HttpMessage checks it, so that the handler answers.
    });
    // Node silently drops headers beyond the limit; with one more the handler sees that there are too many.
    server.maxHeadersCount = limits.maxHeaderCount + 1;
    server.maxConnections = limits.maxConnections;
    // For clients that neither send nor read anything for longer than any call lasts.
    server.timeout = limits.maxCallTime + limits.bodyTime;
    server.on("connection", (socket: Connection) => {
      // Node removes its own listener at CONNECT and Upgrade.
      socket.on("error", () => {});
      if (this.#connections.has(socket)) return; // Emitted again for a socket whose upgrade was ignored.
      this.#connections.add(socket);
      socket.once("close", () => this.#connections.delete(socket));
    });
    const serve = (req: HttpMessage, res: ServerResponse<HttpMessage>, options?: ExchangeOptions): void =>
      this.#serve(new HttpExchange(req, res, exchangeLimits, options));
    server.on("request", (req, res) => serve(req, res));
    server.on("checkContinue", (req, res) => serve(req, res, { awaitsContinue: true }));
    server.on("checkExpectation", (req, res) => serve(req, res, { awaitsContinue: true, fault: UNKNOWN_EXPECTATION }));
    server.on("connect", (_req, socket: Connection) => this.#rejectTunnel(socket));
    server.on("upgrade", (req, socket: Connection, head) => this.#upgrade({ req, socket, head }));
    server.on("clientError", (error, socket: Connection) => this.#onClientError(error, socket));
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

  /** Where it listens; with the port that the system chose, for port 0. */
  get address(): Address {
    return this.#address;
  }

  /** From now on each response is the last one of its connection. Requests are still accepted, on new connections too. */
  leave(): void {
    this.#leaving = true;
  }

  /**
   * Stops accepting, lets requests in flight finish, and rejects the others with 503 after `drainMs`. Resolves when all
   * connections are closed.
   */
  async close(drainMs: number): Promise<void> {
    this.leave();
    // Not the close of http.Server, which closes idle connections at once, even those on which a request is on its way.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    const lastRequestMs = Math.min(LAST_REQUEST_MS, drainMs);
    const timers = [
      setTimeout(() => this.#closeIdle(), lastRequestMs),
      setTimeout(() => this.#abortAll(timers), drainMs),
    ];
    await closed;
    for (const timer of timers) clearTimeout(timer);
    this.#server.close(); // Ends its checks of slow connections.
  }

  /** Closes the connections on which no request has begun. */
  #closeIdle(): void {
    this.#server.closeIdleConnections();
    // Node counts a connection that never sent anything as busy.
    for (const connection of this.#connections) if (connection.bytesRead === 0) connection.destroy();
  }

  /** Aborts the requests still in flight, and a little later cuts every connection. */
  #abortAll(timers: NodeJS.Timeout[]): void {
    const cut = (): void => {
      for (const connection of this.#connections) connection.destroy();
    };
    for (const connection of this.#connections) connection[ACTIVE]?.abort(STOPPING);
    timers.push(setTimeout(cut, FLUSH_MS));
  }

  #serve(exchange: HttpExchange): void {
    const connection: Connection = exchange.req.socket;
    // A pipelined request waits, with all its objects, until those before it have been answered and read.
    if (connection.destroyed || (connection[ACTIVE] !== undefined && !exchange.tryReservePipelined())) {
      connection.destroy();
      return;
    }
    connection[ACTIVE] = exchange;
    const response = this.#handler(exchange);
    if (response instanceof Promise) response.then((settled) => this.#answer(exchange, settled));
    else exchange.answer(response, this.#isLast);
  }

  /** Writes the responses of a turn together: waking a client on this machine for each is expensive (docs/performance.md). */
  #answer(exchange: HttpExchange, response: GatewayResponse): void {
    const { body, length } = response;
    // While a request is still being sent, how much of it has arrived decides how it is answered.
    if (length > MAX_WAITING_BODY || isStream(body) || !exchange.req.complete) {
      exchange.answer(response, this.#isLast);
      return;
    }
    const count = this.#waiting.push({ exchange, response });
    if (count === 1) setImmediate(this.#answerWaiting);
    else if (count === MAX_RESPONSES_PER_WRITE) this.#answerWaiting();
  }

  readonly #answerWaiting = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { exchange, response } of waiting) exchange.answer(response, this.#isLast);
  };

  readonly #isLast = (): boolean => this.#leaving;

  /** CONNECT. While an earlier response is pending, this one would overtake it: then the connection is closed. */
  #rejectTunnel(socket: Connection): void {
    if (socket[ACTIVE] !== undefined) socket.destroy();
    else this.#reject(socket, NO_TUNNEL);
  }

  /** A request for another protocol, at which Node stops reading HTTP on the connection. */
  async #upgrade(upgrade: Upgrade & { readonly req: HttpMessage; readonly socket: Connection }): Promise<void> {
    const { req, socket } = upgrade;
    // The response would overtake the one before. And the parser that Node begins anew here knows nothing of that response:
    // Node would end a later one first, which it asserts never to happen, and that ends the process.
    if (socket[ACTIVE] !== undefined) return void socket.destroy();
    if (!/(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(req.headers.upgrade ?? "")) return this.#ignoreUpgrade(upgrade);
    const request = new UpgradeRequest(req, socket);
    socket[ACTIVE] = request;
    const response = await this.#handler(request);
    request.answered = true;
    if (request.gone) return;
    if (response.session === undefined) {
      this.#answerRaw(socket, req.method === "HEAD" ? { ...response, body: "" } : response);
      return;
    }
    this.#webSockets.accept(upgrade, response.headers, response.session, (reason) => request.abort(reason));
  }

  /**
   * Other protocols are not spoken here, and a client that asks for one accepts a response in HTTP/1.1, too (RFC 9110 §7.8). So
   * the request is read once more, without the header: Node has no way to ignore only some upgrades.
   */
  #ignoreUpgrade({ req, socket, head }: Upgrade): void {
    const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`];
    for (let at = 0; at < req.rawHeaders.length; at += 2) {
      const name = req.rawHeaders[at] as string;
      if (name.toLowerCase() !== "upgrade") lines.push(`${name}: ${req.rawHeaders[at + 1]}`);
    }
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
    // Listeners of the parser before, which Node leaves behind; it adds a new one at once.
    socket.removeAllListeners("error");
    this.#server.emit("connection", socket);
  }

  /** The bytes that arrived are no HTTP, or arrived too late. */
  #onClientError(error: Error & { code?: string; reason?: string }, socket: Connection): void {
    if (!socket.writable || socket.readableEnded || error.code === "ECONNRESET") return void socket.destroy();
    const active = socket[ACTIVE];
    if (active?.failed) return; // The rest of what the client sends does not matter.
    if (active?.readsPieces && error.code === "ERR_HTTP_REQUEST_TIMEOUT") return;
    if (active === undefined) this.#reject(socket, toHttpError(error));
    else active.fail(toHttpError(error));
  }

  /** Answers bytes that are no request, and closes. */
  async #reject(socket: Connection, fault: HttpError): Promise<void> {
    const request = new MalformedRequest(fault, socket.remoteAddress ?? "");
    socket[ACTIVE] = request;
    this.#answerRaw(socket, await this.#handler(request));
  }

  /** Writes a response where Node does not, and closes. */
  #answerRaw(socket: Connection, { status, headers, body }: GatewayResponse): void {
    if (!socket.writable) return void socket.destroy();
    const lines = [`HTTP/1.1 ${status} ${reason(status)}`, `Date: ${new Date().toUTCString()}`, "Connection: close"];
    for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    socket.end(body as string | Uint8Array); // No stream: only requests that Node answers have one.
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("end", () => socket.destroy()).once("close", () => clearTimeout(timer));
  }
}

const STOPPING = new HttpError(503, "Portico is stopping");
const UNKNOWN_EXPECTATION = new HttpError(417, "The only expectation understood is 100-continue");
const NO_TUNNEL = new HttpError(405, "CONNECT is not served here", { headers: ["Allow", "GET, HEAD, POST, OPTIONS"] });

/** Converts Node's errors of parsing and of timeouts (https://nodejs.org/api/http.html#event-clienterror). */
function toHttpError({ code, reason }: { code?: string; reason?: string }): HttpError {
  if (code === "HPE_INVALID_VERSION" || code === "HPE_PAUSED_H2_UPGRADE") return OTHER_VERSION;
  if (code === "HPE_HEADER_OVERFLOW") return new HttpError(431, "The headers are too large");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return new HttpError(413, "The chunk extensions are too large");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new HttpError(408, "The request took too long to arrive");
  return new HttpError(400, `The request is not well-formed HTTP${reason ? `: ${reason}` : ""}`);
}
