/**
 * WebSockets on the HTTP port, spoken by the package ws. What is added to it here: how much may come in a second, pings
 * that must be answered, that writing tells when the client does not keep up, and a little reading ahead of a service
 * that takes nothing: that the client has gone can only be read.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { ConnectionMemory, MemoryBudget } from "../../src/memory-budget.js";
import { HttpError } from "../errors.js";
import { PROTOCOL } from "../handshake.js";
import type { MessageSocket, SocketSession } from "../http.js";
import { LINGER_MS } from "./connection.js";
import { MIN_RESERVED, memoryOf, NO_MEMORY } from "./connection-memory.js";
import { Stall } from "./slow-reader.js";

export interface WebSocketLimits {
  /** Most bytes of a message. */
  readonly maxBody: number;
  /** How often a client is pinged, and how long it has to answer, in milliseconds; default 15 s. */
  readonly heartbeatMs?: number | undefined;
  /** How long a client may take nothing of what waits for it, in milliseconds; default 60 s. */
  readonly stallMs?: number | undefined;
}

const HEARTBEAT_MS = 15_000;
/** A client that sends more messages in a second is read again in the next. */
const MOST_A_SECOND = 10_000;
/** So much is read ahead, in bytes; then the client waits too. */
const MOST_HELD = 65_536;
/** What a message takes beside its bytes, about. */
const MESSAGE = 128;
/** Bytes of a control frame beside its data, as a client sends it (RFC 6455 §5.2). */
const CONTROL_HEADER = 6;

export class WebSockets {
  readonly #server: WebSocketServer;
  readonly #heartbeatMs: number;
  readonly #stallMs: number | undefined;
  readonly #budget: MemoryBudget;
  /** Of the response that is being written. */
  #headers: readonly string[] = [];

  constructor({ maxBody, heartbeatMs = HEARTBEAT_MS, stallMs }: WebSocketLimits, budget: MemoryBudget) {
    this.#budget = budget;
    this.#heartbeatMs = heartbeatMs;
    this.#stallMs = stallMs;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      // Compression would let a few bytes become many, and holds memory for each connection.
      perMessageDeflate: false,
      maxPayload: maxBody,
      handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
    });
    this.#server.on("headers", (lines) => {
      for (let at = 0; at < this.#headers.length; at += 2) lines.push(`${this.#headers[at]}: ${this.#headers[at + 1]}`);
    });
  }

  /** Answers an upgrade with 101. `onGone` is called when the client has gone first. */
  accept(upgrade: Upgrade, headers: readonly string[], session: SocketSession, onGone: (why: HttpError) => void): void {
    this.#headers = headers;
    const { req, socket, head } = upgrade;
    // A client may offer others too, of which the package wants to know nothing (RFC 9110 §7.8).
    req.headers.upgrade = "websocket";
    this.#server.handleUpgrade(req, socket, head, (opened) => {
      const memory = memoryOf(socket, this.#budget);
      const stall = new Stall(socket, this.#stallMs, () => memory.isShort);
      const connected = new Connected(opened, socket, session, onGone, stall, memory, this.#heartbeatMs);
      session.open(connected);
    });
  }
}

/** What node tells of a request for another protocol. */
export interface Upgrade {
  readonly req: IncomingMessage;
  readonly socket: Socket;
  /** What came after the request. */
  readonly head: Buffer;
}

class Connected implements MessageSocket {
  readonly #opened: WebSocket;
  readonly #socket: Socket;
  readonly #session: SocketSession;
  readonly #onGone: (why: HttpError) => void;
  readonly #stall: Stall;
  readonly #memory: ConnectionMemory;
  /** Bytes of it that this WebSocket has reserved. */
  #reserved = 0;
  readonly #heartbeat: NodeJS.Timeout;
  #rest: NodeJS.Timeout | undefined;
  /** Whether anything has come since the last ping. */
  #heard = true;
  /** The session takes no messages for now; those that came meanwhile, and what they take. */
  #paused = false;
  readonly #held: (Uint8Array | undefined)[] = [];
  #heldBytes = 0;
  /** Bytes that have come of a message that is not whole yet. */
  #partialBytes = 0;
  /** There was no memory for what it sends or does not read. */
  #refused = false;
  /** Frames of this second, and when it began. */
  #frames = 0;
  #second = performance.now();

  constructor(
    opened: WebSocket,
    socket: Socket,
    session: SocketSession,
    onGone: (why: HttpError) => void,
    stall: Stall,
    memory: ConnectionMemory,
    heartbeatMs: number,
  ) {
    this.#opened = opened;
    this.#socket = socket;
    this.#session = session;
    this.#onGone = onGone;
    this.#stall = stall;
    this.#memory = memory;
    // Before the package has looked at them.
    socket.prependListener("data", (bytes: Buffer) => this.#received(bytes.length));
    opened.on("message", (data, isBinary) => this.#message(data, isBinary));
    opened.on("ping", (data) => this.#control(data.length));
    opened.on("pong", (data) => this.#control(data.length));
    opened.on("error", (error: Error & { code?: string }) => onGone(faultOf(error)));
    opened.on("close", () => this.#closed());
    socket.on("drain", () => {
      stall.end();
      this.#reserve();
      session.onDrain();
    });
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs);
  }

  send(text: string): boolean {
    if (this.#opened.readyState === this.#opened.OPEN) this.#opened.send(text);
    if (this.#socket.writableLength > 0) this.#reserve();
    if (!this.#socket.writableNeedDrain) return true;
    this.#stall.begin();
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
      this.#session.onMessage(text);
    }
    this.#readOn();
  }

  close(code: number, reason: string): void {
    this.#opened.close(code, reason);
    // What the client still sends is read, and dropped, until its own close comes.
    this.resume();
  }

  #received(bytes: number): void {
    this.#partialBytes += bytes;
    if (this.#partialBytes > MIN_RESERVED) this.#reserve();
  }

  /** A control frame, which may stand within a message, with its header and mask. */
  #control(bytes: number): void {
    this.#partialBytes = Math.max(this.#partialBytes - bytes - CONTROL_HEADER, 0);
    this.#count();
  }

  /** Reserves what is held now; where that does not fit the call ends, and a little later the connection. */
  #reserve(): void {
    const held = this.#heldBytes + this.#partialBytes + this.#socket.writableLength;
    const reserved = held > MIN_RESERVED ? held : 0;
    if (this.#memory.tryResize(this.#reserved, reserved)) {
      this.#reserved = reserved;
      return;
    }
    if (this.#refused) return;
    this.#refused = true;
    this.#opened.pause();
    this.#onGone(NO_MEMORY);
    setTimeout(() => this.#opened.terminate(), LINGER_MS).unref();
  }

  #message(data: RawData, isBinary: boolean): void {
    this.#count();
    this.#partialBytes = 0;
    if (this.#reserved > 0) this.#reserve();
    const text = isBinary ? undefined : (data as Buffer);
    if (this.#paused) this.#hold(text);
    else this.#session.onMessage(text);
  }

  #hold(text: Uint8Array | undefined): void {
    this.#held.push(text);
    this.#heldBytes += sizeOf(text);
    this.#reserve();
    if (this.#heldBytes >= MOST_HELD) this.#opened.pause();
  }

  #readOn(): void {
    if (this.#refused) return;
    if (this.#rest === undefined && this.#heldBytes < MOST_HELD) this.#opened.resume();
  }

  #count(): void {
    this.#heard = true;
    const now = performance.now();
    if (now - this.#second >= 1000) {
      this.#second = now;
      this.#frames = 0;
    }
    if (++this.#frames !== MOST_A_SECOND) return;
    this.#opened.pause();
    this.#rest = setTimeout(() => this.#rested(), 1000 - (now - this.#second));
  }

  #rested(): void {
    this.#rest = undefined;
    this.#readOn();
  }

  /** Where one side does not keep up no answer is to be expected: it, or the ping, would wait behind all the rest. */
  #beat(): void {
    if (this.#socket.writableNeedDrain) {
      this.#stall.begin(); // It may be for pongs, which the package sends.
      return;
    }
    if (!this.#heard && !this.#opened.isPaused) {
      this.#onGone(new HttpError(499, "The client did not answer a ping"));
      this.#opened.terminate();
      return;
    }
    // A client that is not read and has gone is known by the failure to write to it.
    this.#heard = this.#opened.isPaused;
    this.#opened.ping();
  }

  #closed(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#rest);
    this.#stall.end();
    this.#onGone(new HttpError(499, "The client has gone"));
  }
}

function sizeOf(text: Uint8Array | undefined): number {
  return (text?.length ?? 0) + MESSAGE;
}

/** An error of the package, which has closed the WebSocket already: with 1009, 1008, 1007 or 1002. */
function faultOf({ code, message }: Error & { code?: string }): HttpError {
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return new HttpError(413, "The message is too large");
  if (code?.startsWith("WS_ERR_")) return new HttpError(400, `The frames are no WebSocket's: ${message}`);
  return new HttpError(499, "The client has gone");
}
