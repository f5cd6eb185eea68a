/**
 * Serves a handler on an HTTP port. The port reads its connections itself: HTTP/1.1 in http1/,
 * HTTP/2 in http2/.
 */
import cluster from "node:cluster";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Address, HttpAddress } from "../../src/address/address.js";
import type { TrustedProxies } from "../../src/address/client-address.js";
import type { Certificates } from "../../src/config/certificates.js";
import type { Config } from "../../src/config/config.js";
import type { Logger } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { CallQueue } from "../../src/overload/call-queue.js";
import { HttpError } from "../http/errors.js";
import type { RequestHandler } from "../http/message.js";
import type { ClientSocket, ConnectionLimits, PortConnection } from "./connection.js";
import { Http1Connection, type Http1Options } from "./http1/connection.js";
import { ResponseBatch } from "./http1/response-batch.js";
import { serveHttp2 } from "./http2/connection.js";
import { Peer } from "./peer.js";
import { ProxiedConnections } from "./proxied-connections.js";
import { shareReads } from "./shared-reads.js";
import { createSecureServer } from "./tls.js";
import { listenAtPath } from "./unix-socket.js";
import { type WebSocketLimits, WebSockets } from "./websocket.js";

type Limits = ConnectionLimits &
  Pick<Config, "maxConnections"> &
  Pick<WebSocketLimits, "heartbeatMs"> & {
    /** The memory budget of this process; default: a budget of the port's own. */
    readonly budget?: MemoryBudget | undefined;
    /** Is notified of each connection. */
    readonly callQueue?: CallQueue | undefined;
    /** With certificates the port speaks TLS. */
    readonly tls?: Certificates | undefined;
    /**
     * Whether connections begin with a PROXY header; default `none`. Any other value needs
     * `trustedProxies` and `log`.
     */
    readonly proxyProtocol?: Config["proxyProtocol"] | undefined;
    /** Proxies whose headers the port believes when they name the clients. */
    readonly trustedProxies?: TrustedProxies | undefined;
    readonly log?: Pick<Logger, "warn"> | undefined;
  };

/** @throws {Error} (rejects) when the port cannot be opened at the address */
export async function listen(handler: RequestHandler, address: HttpAddress, limits: Limits): Promise<HttpPort> {
  const port = new HttpPort(handler, limits);
  await port.open(address);
  return port;
}

/**
 * Maximum connections that wait in the operating system until they are accepted. With more, a
 * process that serves less than a thousand connections a second would accept only connections whose
 * clients have already given up.
 */
const MAX_UNACCEPTED = 511;

/** How often time limits are checked, in milliseconds, unless one of them is shorter. */
const CHECK_MS = 1000;

/**
 * How long idle connections stay open after the port is closed, in milliseconds. The time is for
 * requests that are already on their way. Closing at once would reset the connection, and the
 * client could not know whether the call was made.
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
  /**
   * Closes connections that have not begun: their TLS handshake is not complete, or their PROXY
   * header has not arrived.
   */
  readonly #closeUnbegun: () => void;
  #address: Address = { host: "", port: 0 };
  /** Whether the port is a Unix socket, whose peers have no IP addresses. */
  #isUnix = false;
  #leaving = false;
  /** Stops listening. */
  #stop = (): void => void this.#server.close();

  constructor(handler: RequestHandler, limits: Limits) {
    const { budget = new MemoryBudget(limits), callQueue, headerTime, bodyTime, keepAlive } = limits;
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
        const { socket, remotePeer } = connection;
        this.#connections.delete(connection);
        this.#add(socket, serveHttp2(socket, remotePeer, firstBytes, this.#options));
      },
    };
    const { server, closeUnbegun } = this.#createServer(limits);
    this.#server = server;
    this.#closeUnbegun = closeUnbegun;
    if (callQueue !== undefined) this.#server.on("connection", () => callQueue.onConnection());
    this.#server.maxConnections = limits.maxConnections;
    // Timers run before sockets are read. After this process was blocked, a request that seems late
    // may already be waiting in its socket. So deadlines are compared with the time before the last
    // read: a block during that read makes nothing late.
    const check = (nowMs: number): void => void setImmediate(() => this.#checkTime(nowMs));
    this.#checks = setInterval(() => check(performance.now()), checkMs).unref();
  }

  async open(wanted: HttpAddress): Promise<void> {
    this.#isUnix = "path" in wanted;
    const listening = once(this.#server, "listening");
    // In a cluster the primary opens the socket, and has prepared the path.
    if ("path" in wanted && cluster.isPrimary)
      this.#stop = await listenAtPath(this.#server, wanted.path, MAX_UNACCEPTED);
    else this.#server.listen({ ...wanted, backlog: MAX_UNACCEPTED });
    await listening;
    if ("path" in wanted) {
      this.#address = { host: wanted.path, port: 0 };
      return;
    }
    const { address: host, port } = this.#server.address() as AddressInfo;
    this.#address = { host, port };
  }

  /**
   * The address at which the port listens. For port 0 it has the port that the system chose. For a
   * Unix socket it has the path, and port 0.
   */
  get address(): Address {
    return this.#address;
  }

  /** How many connections are open, by protocol. */
  get connections(): readonly (readonly [protocol: string, count: number])[] {
    const { open: webSockets } = this.#options.webSockets;
    const http1 = [...this.#connections].filter((connection) => connection instanceof Http1Connection).length;
    return [
      ["http1", http1 - webSockets],
      ["http2", this.#connections.size - http1],
      ["websocket", webSockets],
    ];
  }

  /**
   * From now on each response is the last one of its connection. Requests are still accepted, also
   * on new connections.
   */
  leave(): void {
    this.#leaving = true;
    for (const connection of this.#connections) connection.leave();
  }

  /**
   * Stops accepting, lets requests in flight finish, and rejects the others with 503 after
   * `drainMs`. Resolves when all connections are closed.
   */
  async close(drainMs: number): Promise<void> {
    this.leave();
    const closed = new Promise<void>((resolve) => this.#server.once("close", () => resolve()));
    this.#stop();
    const lastRequestMs = Math.min(LAST_REQUEST_MS, drainMs);
    const timers = [
      setTimeout(() => this.#closeIdle(), lastRequestMs),
      setTimeout(() => this.#abortAll(timers), drainMs),
    ];
    await closed;
    for (const timer of timers) clearTimeout(timer);
    clearInterval(this.#checks);
  }

  /** @returns the server, and a function that closes connections that have not begun */
  #createServer(limits: Limits): { readonly server: Server; readonly closeUnbegun: () => void } {
    const { tls, headerTime, proxyProtocol = "none", trustedProxies, log } = limits;
    const isProxied = proxyProtocol !== "none" && trustedProxies !== undefined && log !== undefined;
    /** The peers that PROXY headers name, by the TCP socket of the connection. */
    const peers = new WeakMap<Socket, Peer>();
    const direct = (socket: Socket): Peer =>
      this.#isUnix ? Peer.unix(trustedProxies) : Peer.of(socket, trustedProxies);
    const peerOf = (socket: Socket): Peer => peers.get(socket) ?? direct(socket);
    const accepts = {
      h2: (socket: ClientSocket, below: Socket) => this.#acceptHttp2(socket, peerOf(below)),
      "http/1.1": (socket: ClientSocket, below: Socket) => this.#accept(socket, peerOf(below)),
    };
    const secure = tls && createSecureServer({ tls, handshakeTime: headerTime, accepts });
    if (!isProxied) {
      if (secure !== undefined) return { server: secure.server, closeUnbegun: secure.closeHandshakes };
      const server = createServer(ACCEPTED, (socket) => this.#acceptPlain(socket, direct(socket)));
      return { server, closeUnbegun() {} };
    }
    const onPeer = (socket: Socket, peer: Peer): void => {
      if (secure === undefined) {
        this.#acceptPlain(socket, peer);
        socket.resume();
        return;
      }
      peers.set(socket, peer);
      secure.server.emit("connection", socket);
    };
    const proxied = new ProxiedConnections({
      mode: proxyProtocol,
      proxies: trustedProxies,
      peerOf: direct,
      headerTime,
      log,
      onPeer,
    });
    const closeUnbegun = (): void => {
      proxied.close();
      secure?.closeHandshakes();
    };
    return { server: createServer(ACCEPTED, (socket) => proxied.accept(socket)), closeUnbegun };
  }

  #acceptPlain(socket: Socket, peer: Peer): void {
    shareReads(socket);
    this.#accept(socket, peer);
  }

  #accept(socket: ClientSocket, peer: Peer): void {
    socket.on("error", () => {}); // The event "close" follows.
    this.#add(socket, new Http1Connection(socket, peer, this.#options));
  }

  /** Serves a connection for which TLS has negotiated HTTP/2. */
  #acceptHttp2(socket: ClientSocket, peer: Peer): void {
    socket.on("error", () => {});
    this.#add(socket, serveHttp2(socket, peer, NOTHING_READ, this.#options));
  }

  #add(socket: ClientSocket, connection: PortConnection): void {
    this.#connections.add(connection);
    socket.once("close", () => this.#connections.delete(connection));
    if (this.#leaving) connection.leave();
  }

  #checkTime(nowMs: number): void {
    for (const connection of this.#connections) connection.checkTime(nowMs);
  }

  #closeIdle(): void {
    this.#closeUnbegun();
    for (const connection of this.#connections) connection.closeIdle();
  }

  /** Aborts the requests still in flight, and closes every connection a little later. */
  #abortAll(timers: NodeJS.Timeout[]): void {
    const cut = (): void => {
      for (const connection of this.#connections) connection.destroy();
    };
    for (const connection of this.#connections) connection.abortAll(STOPPING);
    timers.push(setTimeout(cut, FLUSH_MS));
  }
}

/**
 * Half-open: the socket stays open for writing when its client sends no more. Each connection
 * decides what to do then.
 */
const ACCEPTED = { allowHalfOpen: true, noDelay: true };
const NOTHING_READ = Buffer.alloc(0);
const STOPPING = new HttpError(503, "Portico is stopping");
