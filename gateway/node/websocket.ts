/**
 * WebSockets on the HTTP port, by the package ws. This file adds a limit of frames per second,
 * pings that the client must respond to, and writing that reports a slow client. It also reads a
 * little ahead, because only reading shows that a client has gone.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { ConnectionMemory, MemoryBudget } from "../../src/memory/memory-budget.js";
import { HttpError, NO_MEMORY } from "../http/errors.js";
import { SUBPROTOCOL } from "../http/handshake.js";
import type { MessageSocket, SocketSession } from "../http/message.js";
import { LINGER_MS, MAX_TEXT, MIN_RESERVED } from "./connection.js";
import { GONE } from "./request-errors.js";
import { SlowReaderTimeout } from "./slow-reader.js";

export interface WebSocketLimits {
  /** Maximum size of a message in bytes. */
  readonly maxBody: number;
  /**
   * The time between two pings, in which the client must respond with a pong, in milliseconds;
   * default 15 s.
   */
  readonly heartbeatMs?: number | undefined;
  /**
   * How long a client may read nothing while data is waiting for it, in milliseconds; default 30
   * min.
   */
  readonly stallMs?: number | undefined;
}

const HEARTBEAT_MS = 15_000;
/** When a client sends more frames in a second, it is not read again until the next second. */
const MAX_FRAMES_PER_SECOND = 10_000;
/** Bytes that are read ahead while the service reads nothing. Then the client has to wait. */
const MAX_HELD = 65_536;
/** Approximate memory of a message besides its bytes. */
const MESSAGE_OVERHEAD = 128;
/** Bytes of a control frame besides its data, as a client sends it (RFC 6455 §5.2). */
const CONTROL_HEADER = 6;

export class WebSockets {
  readonly #server: WebSocketServer;
  readonly #heartbeatMs: number;
  readonly #stallMs: number | undefined;
  readonly #budget: MemoryBudget;
  /** How many are open. */
  open = 0;
  /** Headers of the response that is being written. */
  #headers: readonly string[] = [];

  constructor({ maxBody, heartbeatMs = HEARTBEAT_MS, stallMs }: WebSocketLimits, budget: MemoryBudget) {
    this.#budget = budget;
    this.#heartbeatMs = heartbeatMs;
    this.#stallMs = stallMs;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      // Compression would let a few bytes become many, and needs memory for each connection.
      perMessageDeflate: false,
      maxPayload: maxBody,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
    this.#server.on("headers", (lines) => {
      for (let at = 0; at < this.#headers.length; at += 2) lines.push(`${this.#headers[at]}: ${this.#headers[at + 1]}`);
    });
  }

  /**
   * Responds to an upgrade with 101. `onAbort` is called when the WebSocket fails before the
   * session has closed it.
   */
  accept(
    upgrade: Upgrade,
    headers: readonly string[],
    session: SocketSession,
    onAbort: (reason: HttpError) => void,
  ): void {
    this.#headers = headers;
    const { req, socket, head, client } = upgrade;
    // A client may offer other protocols too (RFC 9110 §7.8). The package would reject such a
    // request.
    req.headers.upgrade = "websocket";
    this.#server.handleUpgrade(req as IncomingMessage, socket, head, (opened) => {
      const memory = this.#budget.open(client || "unix");
      this.open++;
      socket.once("close", () => {
        this.open--;
        memory.close();
      });
      const slowReader = new SlowReaderTimeout(socket, this.#stallMs, () => memory.isShort);
      session.open(new OpenWebSocket(opened, socket, session, onAbort, slowReader, memory, this.#heartbeatMs));
    });
  }
}

/** A request for a WebSocket. */
export interface Upgrade {
  readonly req: Pick<IncomingMessage, "method" | "headers">;
  readonly socket: Socket;
  /** Bytes that arrived after the request. */
  readonly head: Buffer;
  /** The client's IP address. */
  readonly client: string;
}

class OpenWebSocket implements MessageSocket {
  /** Bytes that this WebSocket has reserved. */
  #reserved = 0;
  readonly #heartbeat: NodeJS.Timeout;
  /**
   * Runs after the ping timer has expired and sockets have been read. Only then is it certain that
   * the pong is late.
   */
  #lateCheck: NodeJS.Immediate | undefined;
  /** Runs while the client is not read because it has sent too many frames in this second. */
  #throttle: NodeJS.Timeout | undefined;
  /** Whether anything has arrived since the last ping. */
  #isAlive = true;
  /**
   * Whether the session takes no messages at present; the messages that have arrived meanwhile, and
   * their size.
   */
  #paused = false;
  readonly #held: (Uint8Array | undefined)[] = [];
  #heldBytes = 0;
  /** Bytes of an incomplete message that have arrived. */
  #partialBytes = 0;
  /** There was no memory for data that the client sent or does not read. */
  #outOfMemory = false;
  /** Frames of this second, and when the second began. */
  #frames = 0;
  #second = performance.now();

  constructor(
    readonly opened: WebSocket,
    readonly socket: Socket,
    readonly session: SocketSession,
    readonly onAbort: (reason: HttpError) => void,
    readonly slowReader: SlowReaderTimeout,
    readonly memory: ConnectionMemory,
    heartbeatMs: number,
  ) {
    // Called before the package parses the bytes.
    socket.prependListener("data", (bytes: Buffer) => this.#received(bytes.length));
    opened.on("message", (data, isBinary) => this.#message(data, isBinary));
    opened.on("ping", (data) => this.#control(data.length));
    opened.on("pong", (data) => this.#control(data.length));
    opened.on("error", (error: Error & { code?: string }) => onAbort(toHttpError(error)));
    opened.on("close", () => this.#closed());
    socket.on("drain", () => {
      slowReader.stop();
      this.#reserve();
      session.onDrain();
    });
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs);
  }

  send(text: string): boolean {
    if (this.opened.readyState === this.opened.OPEN) {
      if (text.length > MAX_TEXT) this.opened.send(Buffer.from(text), { binary: false });
      else this.opened.send(text);
    }
    if (this.socket.writableLength > 0) this.#reserve();
    if (!this.socket.writableNeedDrain) return true;
    this.slowReader.start();
    return false;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    while (!this.#paused && this.#held.length > 0) {
      const text = this.#held.shift();
      this.#heldBytes -= sizeOf(text);
      this.#reserve();
      this.session.onMessage(text);
    }
    this.#readOn();
  }

  close(code: number, reason: string): void {
    this.opened.close(code, reason);
    // Until the client's own close frame arrives, its messages are read and dropped.
    this.resume();
  }

  #received(bytes: number): void {
    this.#partialBytes += bytes;
    if (this.#partialBytes > MIN_RESERVED) this.#reserve();
  }

  /**
   * Subtracts a control frame with its header and mask, because it may stand between the frames of
   * a message.
   */
  #control(bytes: number): void {
    this.#partialBytes = Math.max(this.#partialBytes - bytes - CONTROL_HEADER, 0);
    this.#count();
  }

  /**
   * Reserves memory for the data that waits now. Without memory the call ends, and a little later
   * the connection.
   */
  #reserve(): void {
    const held = this.#heldBytes + this.#partialBytes + this.socket.writableLength;
    const reserved = held > MIN_RESERVED ? held : 0;
    if (this.memory.tryResize(this.#reserved, reserved)) {
      this.#reserved = reserved;
      return;
    }
    if (this.#outOfMemory) return;
    this.#outOfMemory = true;
    this.opened.pause();
    this.onAbort(NO_MEMORY);
    setTimeout(() => this.opened.terminate(), LINGER_MS).unref();
  }

  #message(data: RawData, isBinary: boolean): void {
    this.#count();
    this.#partialBytes = 0;
    if (this.#reserved > 0) this.#reserve();
    const text = isBinary ? undefined : (data as Buffer);
    if (this.#paused) this.#hold(text);
    else this.session.onMessage(text);
  }

  #hold(text: Uint8Array | undefined): void {
    this.#held.push(text);
    this.#heldBytes += sizeOf(text);
    this.#reserve();
    if (this.#heldBytes >= MAX_HELD) this.opened.pause();
  }

  #readOn(): void {
    if (this.#outOfMemory) return;
    if (this.#throttle === undefined && this.#heldBytes < MAX_HELD) this.opened.resume();
  }

  #count(): void {
    this.#isAlive = true;
    const now = performance.now();
    if (now - this.#second >= 1000) {
      this.#second = now;
      this.#frames = 0;
    }
    if (++this.#frames !== MAX_FRAMES_PER_SECOND) return;
    this.opened.pause();
    this.#throttle = setTimeout(() => this.#endThrottle(), 1000 - (now - this.#second));
  }

  #endThrottle(): void {
    this.#throttle = undefined;
    this.#readOn();
  }

  /**
   * Pings the client, unless one side is too slow: then the ping or the pong would wait behind all
   * other data.
   */
  #beat(): void {
    if (this.socket.writableNeedDrain) {
      this.slowReader.start(); // The waiting data may be pongs, which the package itself sends.
      return;
    }
    if (this.#isAlive || this.opened.isPaused) {
      this.#ping();
      return;
    }
    // Timers run before sockets are read. After this process was blocked, the pong may already be
    // waiting in the socket.
    this.#lateCheck = setImmediate(() => (this.#isAlive ? this.#ping() : this.#giveUp()));
  }

  #giveUp(): void {
    this.onAbort(new HttpError(499, "The client did not respond to a ping"));
    this.opened.terminate();
  }

  #ping(): void {
    // While a client is not read, only a failed write shows that it has gone.
    this.#isAlive = this.opened.isPaused;
    this.opened.ping();
  }

  #closed(): void {
    clearInterval(this.#heartbeat);
    clearImmediate(this.#lateCheck);
    clearTimeout(this.#throttle);
    this.slowReader.stop();
    this.onAbort(GONE);
  }
}

function sizeOf(text: Uint8Array | undefined): number {
  return (text?.length ?? 0) + MESSAGE_OVERHEAD;
}

/**
 * Converts an error of the package. The package has already closed the WebSocket with 1009, 1008,
 * 1007 or 1002.
 */
function toHttpError({ code, message }: Error & { code?: string }): HttpError {
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return new HttpError(413, "The message is too large");
  if (code?.startsWith("WS_ERR_")) return new HttpError(400, `The frames are no WebSocket's: ${message}`);
  return GONE;
}
