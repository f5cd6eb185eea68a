/**
 * The channel over Portico's HTTP/2. It has one connection. It connects at once, and again whenever
 * the connection is lost, with a growing pause after each failure. Calls wait while the channel
 * connects, and while the server allows no more streams. During the pause after a failure, calls
 * fail at once, so a balancer can choose another instance. A balancer that has no other instance
 * ends the pause (`connectSoon`).
 *
 * When the server ends a connection with GOAWAY, new calls wait for a new connection, and the old
 * one closes after its last call. The channel opens the new connection at once if calls were open,
 * and otherwise for the next call. So a server that closes idle connections is not asked for new
 * ones.
 */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { formatAddress, type GrpcTarget } from "../../address/address.js";
import { validityOf } from "../../config/certificates.js";
import { Code } from "../../errors.js";
import { backOff } from "../../follow.js";
import { ErrorCode } from "../../http2/errors.js";
import { ALPN } from "../../http2/frames.js";
import { MemoryBudget } from "../../memory/memory-budget.js";
import type { CallListener, CallStart, Channel, OutgoingCall, Verify } from "../channel.js";
import { Deadlines } from "../open-calls.js";
import { channelClosed, closedDuringCall, deadlineExceeded, status, unreachable, unsendable } from "../status.js";
import { type ChannelOptions, DEFAULT_MAX_BODY, MAX_RECONNECT_MS, MAX_WAITING, RECONNECT_MS } from "../transport.js";
import { type ChannelCalls, ClientCall } from "./client-call.js";
import { ClientConnection, type ConnectionOwner } from "./client-connection.js";
import { checkMetadata, requestHeaders } from "./headers.js";

interface Http2ChannelOptions extends ChannelOptions {
  /** Maximum bytes of a response's headers, and of its trailers. */
  readonly maxHeaders?: number | undefined;
  /** The memory budget of this process. Default: a budget for this channel only. */
  readonly budget?: MemoryBudget | undefined;
}

const DEFAULT_MAX_HEADERS = 16 * 2 ** 10;

/**
 * The maximum time until a server has accepted a connection and sent its SETTINGS, in milliseconds.
 */
const CONNECT_MS = 10_000;

const ENDED_AT_ONCE = "it ended the connection at once";
const ENDED = new Error(`${ENDED_AT_ONCE}: it may want TLS, or not believe the certificate of this end`);
const TOO_SLOW = new Error(`there was no connection within ${CONNECT_MS / 1000} s`);
const NO_HTTP2 = new Error("it speaks TLS, but not HTTP/2");
const NO_HTTP2_IN_PLAIN = new Error("it responds, but not in HTTP/2: it is no gRPC server, or wants TLS");
const NO_TLS = "it responds without TLS";

/** Maximum bytes of one read; the same as in Node. */
const READ_SIZE = 64 * 1024;

/**
 * The read buffer of all connections without TLS: node:net delivers the bytes of one connection
 * before it reads from another one.
 */
const sharedRead = Buffer.allocUnsafeSlow(READ_SIZE);

/**
 * See client-connection.ts. While calls are open, a connection that does not respond to a PING is
 * closed after 5 s.
 */
const KEEPALIVE = { after: 2_500, timeout: 2_500 };

/**
 * How long a connection may be idle before TCP sends keepalive probes, in milliseconds. TCP sends
 * up to ten probes, one a second.
 */
const TCP_KEEPALIVE_MS = 15_000;

export class Http2Channel implements Channel, ConnectionOwner {
  readonly #address: GrpcTarget;
  readonly #options: Http2ChannelOptions;
  readonly #calls: ChannelCalls;
  readonly #budget: MemoryBudget;
  /** All open connections, including those that accept no more calls. */
  readonly #connections = new Set<ClientConnection>();
  /** The connection for new calls; it may not be ready yet. */
  #current: ClientConnection | undefined;
  #socket: Socket | undefined;
  #state: Channel["state"] = "idle";
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** When the last connection failed, in milliseconds of `performance.now()`. */
  #failedAt = 0;
  /**
   * The server responded, but cannot be used. The channel does not connect again before the pause
   * is over.
   */
  #unusable = false;
  #keepAlive: typeof KEEPALIVE | undefined = KEEPALIVE;
  #reason = ENDED;

  /** Connects at once, so the first call waits less. */
  constructor(address: GrpcTarget, options: Http2ChannelOptions = {}) {
    this.#address = address;
    this.#options = options;
    const { maxBody = DEFAULT_MAX_BODY, maxHeaders = DEFAULT_MAX_HEADERS } = options;
    const { budget = new MemoryBudget({ maxBody }) } = options;
    this.#budget = budget;
    const authority = "path" in address ? "localhost" : formatAddress(address);
    const headersOf = requestHeaders(options.tls === undefined ? "http" : "https", authority);
    this.#calls = { waiting: [], deadlines: new Deadlines(), headersOf, maxMessage: maxBody, maxHeaders };
    this.#connect();
  }

  get target(): GrpcTarget {
    return this.#address;
  }

  get state(): Channel["state"] {
    return this.#state;
  }

  open(start: CallStart, listener: CallListener): OutgoingCall {
    const call = new ClientCall(start, listener, this.#calls);
    try {
      checkMetadata(call.metadata);
    } catch (error) {
      call.fail(unsendable(error as Error));
      return call;
    }
    if (start.deadlineMonotonicMs !== undefined && start.deadlineMonotonicMs <= performance.now()) {
      call.fail(deadlineExceeded());
    } else if (this.#current?.hasCapacity && this.#calls.waiting.length === 0) {
      this.#current.open(call);
    } else {
      this.#wait(call);
    }
    return call;
  }

  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearTimeout(this.#timer);
    this.#socket?.destroy();
    for (const call of this.#calls.waiting.splice(0)) call.fail(closedDuringCall(true));
    for (const connection of this.#connections) {
      for (const call of connection.streams) (call as ClientCall).fail(closedDuringCall());
      connection.close();
    }
    this.#calls.deadlines.close();
  }

  #wait(call: ClientCall): void {
    if (this.#state === "idle") this.#connect();
    if (this.#state === "closed") {
      call.fail(channelClosed());
    } else if (this.#state === "broken") {
      call.fail(unreachable(this.#reason));
    } else if (this.#calls.waiting.length >= MAX_WAITING) {
      const message = "too many calls are waiting for the service";
      call.fail(status(Code.UNAVAILABLE, message, { neverSent: true }));
    } else {
      this.#calls.waiting.push(call);
    }
  }

  // Connecting.

  connectSoon(): void {
    if (this.#state !== "broken" || this.#unusable) return;
    clearTimeout(this.#timer);
    this.#state = "connecting";
    const pause = this.#failedAt + RECONNECT_MS - performance.now();
    this.#timer = setTimeout(() => this.#connect(), Math.max(0, pause));
  }

  #connect(): void {
    this.#state = "connecting";
    this.#unusable = false;
    const socket = this.#openSocket();
    this.#socket = socket;
    const failed = (): void => {
      if (this.#socket === socket) this.#onFailure();
    };
    this.#reason = endedBecauseOf(this.#options.tls?.cert);
    socket.on("error", (error) => {
      // When a name has several addresses, there is one error for each.
      this.#reason = error instanceof AggregateError ? error.errors.at(-1) : inOneLine(error);
    });
    this.#timer = setTimeout(() => socket.destroy(TOO_SLOW), CONNECT_MS);
    socket.once("error", failed);
    socket.once("close", failed);
    socket.once(this.#options.tls === undefined ? "connect" : "secureConnect", () => {
      if (this.#state === "closed") return;
      if (this.#options.tls !== undefined && (socket as TLSSocket).alpnProtocol !== ALPN) {
        socket.destroy(NO_HTTP2);
        return;
      }
      socket.off("error", failed);
      socket.off("close", failed);
      this.#socket = undefined;
      this.#current = new ClientConnection(socket, this.#connectionOptions(), this);
      this.#connections.add(this.#current);
    });
  }

  /**
   * Opens a socket that always reads into the same memory. By default Node allocates 64 KiB for
   * each read: most of the garbage that the process would make. So the bytes of a "data" event are
   * valid only while it is handled.
   */
  #openSocket(): Socket {
    const { tls } = this.#options;
    // With TLS, a write may cause another read while the bytes of the previous read are still used.
    const read = tls === undefined ? sharedRead : Buffer.allocUnsafeSlow(READ_SIZE);
    const socketAddress = this.#socketAddress();
    const onRead = (size: number): boolean => socket.emit("data", read.subarray(0, size));
    const options = { ...socketAddress, onread: { buffer: read, callback: onRead } };
    const socket = tls === undefined ? connectTcp(options) : connectTls({ ...options, ...tls, ALPNProtocols: [ALPN] });
    return socket.setNoDelay(true).setKeepAlive(true, TCP_KEEPALIVE_MS);
  }

  /**
   * Node's options for the address. The certificate must be for the name, even when `ip` is set.
   */
  #socketAddress(): { path: string } | { host: string; port: number; servername?: string } {
    const { ip } = this.#options;
    if ("path" in this.#address) return { path: this.#address.path };
    return ip === undefined
      ? { ...this.#address }
      : { host: ip, port: this.#address.port, servername: this.#address.host };
  }

  #connectionOptions(): ConstructorParameters<typeof ClientConnection>[1] {
    return {
      maxHeaders: this.#calls.maxHeaders,
      keepAlive: this.#keepAlive,
      memory: this.#budget.openUpstream(),
    };
  }

  #onFailure(): void {
    clearTimeout(this.#timer);
    this.#socket = undefined;
    this.#current = undefined;
    if (this.#state === "closed") return;
    this.#state = "broken";
    this.#failedAt = performance.now();
    for (const call of this.#calls.waiting.splice(0)) call.fail(unreachable(this.#reason));
    this.#connectLater();
    // No call waits for the next connection, so its timer need not keep the process alive.
    this.#timer?.unref();
  }

  #connectLater(): void {
    const { maxReconnectMs = MAX_RECONNECT_MS } = this.#options;
    this.#timer = setTimeout(() => this.#connect(), backOff(this.#failures++, RECONNECT_MS, maxReconnectMs));
  }

  // Events of a connection.

  onReady(connection: ClientConnection): void {
    if (connection !== this.#current) return;
    clearTimeout(this.#timer);
    const { verify } = this.#options;
    if (verify === undefined) this.#take(connection);
    else void this.#verify(connection, verify);
  }

  async #verify(connection: ClientConnection, verify: Verify): Promise<void> {
    let mayServeWaiting: boolean;
    try {
      mayServeWaiting = await verify(channelOn(connection, this.#calls));
    } catch (error) {
      this.#reason = error as Error;
      this.#unusable = true;
      // The connection cannot be used, so the next one must not be opened at once.
      connection.served = false;
      connection.close();
      return;
    }
    if (connection !== this.#current || connection.closed) return;
    if (!mayServeWaiting) for (const call of this.#calls.waiting.splice(0)) call.fail(unreachable());
    this.#take(connection);
  }

  #take(connection: ClientConnection): void {
    connection.ready = true;
    this.#state = "ready";
    this.onCapacity(connection);
  }

  onCapacity(connection: ClientConnection): void {
    if (connection !== this.#current) return;
    while (this.#calls.waiting.length > 0 && connection.hasCapacity)
      connection.open(this.#calls.waiting.shift() as ClientCall);
  }

  onDraining(connection: ClientConnection, errorCode: number, debug: string): void {
    // The server does not accept PINGs as a test (gRFC A8).
    if (errorCode === ErrorCode.ENHANCE_YOUR_CALM && debug === "too_many_pings") this.#keepAlive = undefined;
    if (connection !== this.#current) return;
    if (errorCode === ErrorCode.NO_ERROR && connection.ready && connection.streams.size === 0) {
      this.#current = undefined;
      this.#failures = 0;
      this.#state = "idle";
    } else if (connection.served || errorCode !== ErrorCode.NO_ERROR) {
      this.#replace(connection);
    } else {
      this.#current = undefined;
      this.#state = "connecting";
      this.#connectLater();
    }
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
    if (connection !== this.#current) return;
    if (connection.malformedStart) this.#reason = NO_HTTP2_IN_PLAIN;
    this.#replace(connection);
  }

  /**
   * Connects again. If no call was served on the connection, it first pauses as after a failure.
   */
  #replace(connection: ClientConnection): void {
    this.#current = undefined;
    clearTimeout(this.#timer);
    if (this.#state === "closed") return;
    if (!connection.served) {
      this.#onFailure();
      return;
    }
    this.#failures = 0;
    this.#connect();
  }
}

/**
 * The most likely reason why a server ended a connection without an error, given this end's
 * certificate.
 */
function endedBecauseOf(cert: Buffer | undefined): Error {
  const { from, to, fault } = cert === undefined ? { fault: undefined } : validityOf(cert);
  if (fault === undefined) return ENDED;
  const span = `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
  return new Error(`${ENDED_AT_ONCE}: the certificate of this process ${fault} (${span}); is its clock right?`);
}

/** Messages of OpenSSL have several lines, with places in its source; `reason` is the words. */
function inOneLine(error: Error & { readonly reason?: string }): Error {
  const { reason } = error;
  if (reason === undefined) return error;
  return new Error(reason === "wrong version number" ? NO_TLS : reason, { cause: error });
}

/** A channel over one connection, for the calls that verify it. */
function channelOn(connection: ClientConnection, calls: ChannelCalls): Channel {
  return {
    open(start, listener) {
      const call = new ClientCall(start, listener, calls);
      if (connection.closed) call.fail(unreachable());
      else connection.open(call);
      return call;
    },
    get state() {
      return connection.closed ? "closed" : "ready";
    },
    close() {},
  };
}
