/** Puts a handler on an HTTP port, whose connections it reads itself: HTTP/1.1 in http1/, HTTP/2 in http2/. */
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Address } from "../../src/address.js";
import type { Certificates } from "../../src/certificates.js";
import type { Config } from "../../src/config.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import type { Overload } from "../../src/overload.js";
import { HttpError } from "../errors.js";
import type { Handler } from "../http.js";
import type { ClientSocket, ConnectionLimits, PortConnection } from "./connection.js";
import { Http1Connection, type Http1Options } from "./http1/connection.js";
import { ResponseBatch } from "./http1/response-batch.js";
import { serveHttp2 } from "./http2/connection.js";
import { shareReads } from "./shared-reads.js";
import { createSecureServer } from "./tls.js";
import { type WebSocketLimits, WebSockets } from "./websocket.js";

export type Limits = ConnectionLimits &
  Pick<Config, "maxConnections"> &
  Pick<WebSocketLimits, "heartbeatMs"> & {
    /** The memory budget of this process; default: one of the port's own. */
    readonly budget?: MemoryBudget | undefined;
    /** Is told of each connection. */
    readonly overload?: Overload | undefined;
    /** With it the port speaks TLS. */
    readonly tls?: Certificates | undefined;
  };

/** @throws {Error} (rejects) when the port cannot be opened at the address */
export async function listen(handler: Handler, address: Address, limits: Limits): Promise<HttpPort> {
  const port = new HttpPort(handler, limits);
  await port.open(address);
  return port;
}

/**
 * Connections that wait in the system until they are accepted. With more, a process that serves less than a thousand a second would
 * accept those whose clients have given up, and answer nobody.
 */
const MAX_UNACCEPTED = 511;

/** How often limits of time are checked, in milliseconds, where none of them is shorter. */
const CHECK_MS = 1000;

/**
 * How long idle connections stay open after the port is closed, in milliseconds, for requests that are already on their way.
 * Closing at once would reset the connection, and the client could not know whether the call was made.
 */
const LAST_REQUEST_MS = 250;

/** How long the last errors have to reach their clients when the server stops, in milliseconds. */
const FLUSH_MS = 500;

/** An open HTTP port. */
export class HttpPort {
  readonly #server: Server;
  readonly #options: Http1Options;
  readonly #connections = new Set<PortConnection>();
  readonly #checks: NodeJS.Timeout;
  /** Closes connections that are not secure yet. */
  readonly #closeHandshakes: () => void = () => {};
  #address: Address = { host: "", port: 0 };
  #leaving = false;

  constructor(handler: Handler, limits: Limits) {
    const { budget = new MemoryBudget(limits), overload, tls, headerTime, bodyTime, keepAlive } = limits;
    const checkMs = Math.min(CHECK_MS, headerTime / 2, bodyTime / 2, keepAlive / 2);
    this.#options = {
      handler,
      limits,
      budget,
      checkMs,
      keepAlive: `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAlive / 1000)}\r\n`,
      webSockets: new WebSockets(limits, budget),
      responses: new ResponseBatch(),
      onHttp2: (connection, firstBytes) => {
        const { socket } = connection;
        this.#connections.delete(connection);
        this.#add(socket, serveHttp2(socket, firstBytes, this.#options));
      },
    };
    // A connection decides itself what the end of its client's bytes means.
    const accept = (socket: ClientSocket): void => this.#accept(socket);
    if (tls === undefined) {
      this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
        shareReads(socket);
        accept(socket);
      });
    } else {
      const accepts = { h2: (socket: ClientSocket) => this.#acceptHttp2(socket), "http/1.1": accept };
      const secure = createSecureServer({ tls, handshakeTime: headerTime, accepts });
      this.#server = secure.server;
      this.#closeHandshakes = secure.closeHandshakes;
    }
    if (overload !== undefined) this.#server.on("connection", () => overload.onConnection());
    this.#server.maxConnections = limits.maxConnections;
    // Timers run before sockets are read: where this process stood still, what is late may have arrived all the same.
    this.#checks = setInterval(() => setImmediate(() => this.#checkTime()), checkMs).unref();
  }

  open(wanted: Address): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ ...wanted, backlog: MAX_UNACCEPTED }, () => {
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
    for (const connection of this.#connections) connection.leave();
  }

  /**
   * Stops accepting, lets requests in flight finish, and rejects the others with 503 after `drainMs`. Resolves when all
   * connections are closed.
   */
  async close(drainMs: number): Promise<void> {
    this.leave();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const lastRequestMs = Math.min(LAST_REQUEST_MS, drainMs);
    const timers = [
      setTimeout(() => this.#closeIdle(), lastRequestMs),
      setTimeout(() => this.#abortAll(timers), drainMs),
    ];
    await closed;
    for (const timer of timers) clearTimeout(timer);
    clearInterval(this.#checks);
  }

  #accept(socket: ClientSocket): void {
    socket.on("error", () => {}); // The event "close" follows.
    this.#add(socket, new Http1Connection(socket, this.#options));
  }

  /** The protocol was agreed on by TLS. */
  #acceptHttp2(socket: ClientSocket): void {
    socket.on("error", () => {});
    this.#add(socket, serveHttp2(socket, NOTHING_READ, this.#options));
  }

  #add(socket: ClientSocket, connection: PortConnection): void {
    this.#connections.add(connection);
    socket.once("close", () => this.#connections.delete(connection));
    if (this.#leaving) connection.leave();
  }

  #checkTime(): void {
    for (const connection of this.#connections) connection.checkTime();
  }

  #closeIdle(): void {
    this.#closeHandshakes();
    for (const connection of this.#connections) connection.closeIdle();
  }

  /** Aborts the requests still in flight, and a little later cuts every connection. */
  #abortAll(timers: NodeJS.Timeout[]): void {
    const cut = (): void => {
      for (const connection of this.#connections) connection.destroy();
    };
    for (const connection of this.#connections) connection.abortAll(STOPPING);
    timers.push(setTimeout(cut, FLUSH_MS));
  }
}

const NOTHING_READ = Buffer.alloc(0);
const STOPPING = new HttpError(503, "Portico is stopping");
