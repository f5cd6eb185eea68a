/**
 * Puts a handler on an HTTP port. Node's parser and timeouts do the work; what is added here, and in the files http-*.ts,
 * are bounds that it lacks (bodies, number of headers), and that every refusal, also of bytes that never became a
 * request, is answered by the handler and so looks the same, is logged and is counted.
 */
import { createServer, type Server } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import type { Address } from "../../src/address.js";
import type { Config } from "../../src/config.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { HttpError, reason } from "../errors.js";
import { type GatewayRequest, type GatewayResponse, type Handler, isStream } from "../http.js";
import { RequestHeaders } from "../request-headers.js";
import { type Connection, LINGER_MS, WORK, type Work } from "./connection.js";
import { Exchange } from "./http-exchange.js";
import { HttpMessage, OTHER_VERSION } from "./http-message.js";
import { Opening } from "./http-opening.js";
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
    /** Of this process; default one of its own. */
    readonly budget?: MemoryBudget | undefined;
  };

export interface Listening {
  /** Where it listens, with the port that was found for port 0. */
  readonly address: Address;
  /** From now on each answer is its connection's last one; calls are still taken, on new connections too. */
  leave(): void;
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
 * After the port is closed, a request that a client has just sent on an idle connection has this long to arrive, in
 * milliseconds. Closing at once would reset the connection, and the client could not know whether the call was made.
 */
const LAST_REQUEST_MS = 250;

/** What is told to clients when the server stops has this long to reach them. */
const FLUSH_MS = 500;

/** Bytes of a body: a larger one does not wait for others, as many of them would take much memory. */
const LARGE = 16 * 1024;

/** With more calls at once, what they leave behind would be old before they are answered, and no longer cheap to collect. */
const MOST_TOGETHER = 128;

interface Answer {
  readonly exchange: Exchange;
  readonly response: GatewayResponse;
}

class Door implements Listening {
  readonly #handler: Handler;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #webSockets: WebSockets;
  #address: Address = { host: "", port: 0 };
  #leaving = false;
  /** Those of this turn of the event loop. */
  #answers: Answer[] = [];

  constructor(handler: Handler, limits: Limits) {
    this.#handler = handler;
    const { maxBody, bodyTime, stallMs, budget = new MemoryBudget(limits) } = limits;
    this.#webSockets = new WebSockets(limits, budget);
    const bounds = { maxBody, bodyTime, stallMs, budget };
    const server = createServer({
      IncomingMessage: HttpMessage,
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

  leave(): void {
    this.#leaving = true;
  }

  async close(drainMs: number): Promise<void> {
    this.leave();
    // Not http.Server's own, which at once closes idle connections, also those on which a request is under way.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    const lastRequestMs = Math.min(LAST_REQUEST_MS, drainMs);
    const timers = [setTimeout(() => this.#closeIdle(), lastRequestMs), setTimeout(() => this.#stop(timers), drainMs)];
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

  /** Ends what is still in flight, and a little later every connection. */
  #stop(timers: NodeJS.Timeout[]): void {
    const cut = (): void => {
      for (const connection of this.#connections) connection.destroy();
    };
    for (const connection of this.#connections) connection[WORK]?.stop(STOPPING);
    timers.push(setTimeout(cut, FLUSH_MS));
  }

  #serve(exchange: Exchange): void {
    const connection: Connection = exchange.req.socket;
    // One that is pipelined waits, with all its objects, until those before it have been answered and read.
    if (connection.destroyed || (connection[WORK] !== undefined && !exchange.tryReservePipelined())) {
      connection.destroy();
      return;
    }
    connection[WORK] = exchange;
    const answer = this.#handler(exchange);
    if (answer instanceof Promise) answer.then((response) => this.#answer({ exchange, response }));
    else exchange.answer(answer, this.#isLast);
  }

  /**
   * Writes the answers of a turn together: a client on this machine that waits for them is woken by the first, and awake for
   * the others. Woken by each of them, which is the writer's work, it cost a quarter of a small call.
   */
  #answer(answer: Answer): void {
    const { exchange, response } = answer;
    const { body, length } = response;
    // Whether a request is still being sent is part of how it is answered.
    if (length > LARGE || isStream(body) || !exchange.req.complete) exchange.answer(response, this.#isLast);
    else {
      const many = this.#answers.push(answer);
      if (many === 1) setImmediate(this.#answerAll);
      else if (many === MOST_TOGETHER) this.#answerAll();
    }
  }

  readonly #answerAll = (): void => {
    const answers = this.#answers;
    this.#answers = [];
    for (const { exchange, response } of answers) exchange.answer(response, this.#isLast);
  };

  readonly #isLast = (): boolean => this.#leaving;

  /** Where an answer is still to come, or to be taken, this one would overtake it. */
  #refuseTunnel(socket: Connection): void {
    if (socket[WORK] !== undefined) socket.destroy();
    else this.#refuse(socket, NO_TUNNEL);
  }

  /** A request for another protocol, with which node stops to read HTTP on the connection. */
  async #upgrade(upgrade: Upgrade & { readonly req: HttpMessage; readonly socket: Connection }): Promise<void> {
    const { req, socket } = upgrade;
    // Its answer would overtake the one before. And a reader that node begins here knows nothing of that answer: node would
    // then end a later one first, and asserts that this never happens, which ends the process.
    if (socket[WORK] !== undefined) return void socket.destroy();
    if (!/(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(req.headers.upgrade ?? "")) return this.#ignoreUpgrade(upgrade);
    const opening = new Opening(req, socket);
    socket[WORK] = opening;
    const response = await this.#handler(opening);
    opening.answered = true;
    if (opening.gone) return;
    if (response.session === undefined) {
      this.#answerRaw(socket, req.method === "HEAD" ? { ...response, body: "" } : response);
      return;
    }
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
    if (work?.streams && error.code === "ERR_HTTP_REQUEST_TIMEOUT") return;
    if (work === undefined) this.#refuse(socket, faultOf(error));
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
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    socket.end(body as string | Uint8Array); // Only what node answers may be a stream.
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("end", () => socket.destroy()).once("close", () => clearTimeout(cut));
  }
}

const STOPPING = new HttpError(503, "Portico is stopping");
const UNKNOWN_EXPECTATION = new HttpError(417, "The only expectation understood is 100-continue");
const NO_TUNNEL = new HttpError(405, "CONNECT is not served here", { headers: ["Allow", "GET, HEAD, POST, OPTIONS"] });

/** Node's errors of parsing and waiting (https://nodejs.org/api/http.html#event-clienterror) as a refusal. */
function faultOf({ code, reason }: { code?: string; reason?: string }): HttpError {
  if (code === "HPE_INVALID_VERSION" || code === "HPE_PAUSED_H2_UPGRADE") return OTHER_VERSION;
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
  readonly known = new RequestHeaders();
  readonly answered = false;
  readonly failed = true;
  constructor(
    readonly fault: HttpError,
    readonly remoteAddress: string,
  ) {}
  body(): never {
    throw this.fault;
  }
  pieces(): never {
    throw this.fault;
  }
  tryReserveAnswer(): boolean {
    return true;
  }
  onGone(): void {}
  fail(): void {}
  stop(): void {}
}
