/**
 * How a caller of overload-client.ts sends its requests: over HTTP/1.1 on its own connection, over
 * HTTP/2 as streams of a connection that many callers share. It reads only the status and the end
 * of a response.
 */
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { ErrorCode } from "../../src/http2/errors.js";
import { ALPN, Flag, FrameReader, FrameType, PREFACE, writeFrameHeader } from "../../src/http2/frames.js";
import { HeaderNames } from "../../src/http2/header-fields.js";
import { HpackDecoder } from "../../src/http2/hpack-decoder.js";
import { HpackEncoder } from "../../src/http2/hpack-encoder.js";
import { OutputBuffer } from "../../src/http2/output.js";
import { MAX_STREAMS } from "../../src/http2/server-connection.js";
import { MAX_WINDOW, Setting, settingsFrame } from "../../src/http2/settings.js";

/** Where requests go. */
export interface Target {
  readonly port: number;
  readonly path: string;
  /** HTTP/1.1 by default. */
  readonly version?: "HTTP/2" | undefined;
  /** Whether the port speaks TLS. The certificate is not checked. */
  readonly tls?: boolean | undefined;
}

/** Sends the requests of one caller, one after the other. */
export interface Line {
  connect(onConnected: () => void): void;
  /**
   * Sends a request. Connects first if no connection is open.
   * @param onEnd is called once with the status; with 0 if there is no response
   */
  send(onEnd: (status: number) => void): void;
  /** Gives up the request: `onEnd` is not called any more. */
  giveUp(): void;
  /** Closes the connection if it belongs to this caller alone. */
  close(): void;
}

const HOST = "127.0.0.1";

function open({ port, tls = false }: Target, protocol: string, onConnected: () => void): Socket {
  const options = { host: HOST, port, noDelay: true };
  const socket = tls
    ? connectSecurely({ ...options, ALPNProtocols: [protocol], rejectUnauthorized: false }, onConnected)
    : connect(options, onConnected);
  return socket.on("error", () => {}); // The event "close" follows, and is handled.
}

export class Http1Line implements Line {
  readonly #target: Target;
  readonly #request: Buffer;
  #socket: Socket | undefined;
  #onEnd: ((status: number) => void) | undefined;
  #head = "";
  #status = 0;
  /** Bytes of the body that have not arrived yet; -1 before the head has arrived. */
  #left = -1;

  /** @param kept whether the server should keep the connection open */
  constructor(target: Target, kept: boolean) {
    this.#target = target;
    const closing = kept ? "" : "Connection: close\r\n";
    this.#request = Buffer.from(`GET ${target.path} HTTP/1.1\r\nHost: ${HOST}:${target.port}\r\n${closing}\r\n`);
  }

  send(onEnd: (status: number) => void): void {
    this.#onEnd = onEnd;
    this.#left = -1;
    this.#head = "";
    if (this.#socket === undefined) this.connect();
    this.#socket?.write(this.#request);
  }

  connect(onConnected = (): void => {}): void {
    const socket = open(this.#target, "http/1.1", onConnected);
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.on("close", () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#end(0);
    });
  }

  #onData(chunk: Buffer): void {
    if (this.#onEnd === undefined) return;
    if (this.#left >= 0) this.#left -= chunk.length;
    else {
      this.#head += chunk.toString("latin1");
      const headEnd = this.#head.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      this.#status = Number(this.#head.slice(9, 12));
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1] ?? 0);
      this.#left = length - (this.#head.length - headEnd - 4);
    }
    if (this.#left <= 0) this.#end(this.#status);
  }

  #end(status: number): void {
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.(status);
  }

  giveUp(): void {
    this.#onEnd = undefined;
    this.close();
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }
}

const NAMES = new HeaderNames({ kindOf: () => 0, indexed: [] });
/** More bytes than any response in these tests has in its headers. */
const MAX_HEADERS = 64 * 1024;

/** A request that waits for its response. */
interface OpenRequest {
  readonly onEnd: (status: number) => void;
  status: number;
}

class Http2Session {
  callers = 0;
  readonly #target: Target;
  readonly #block: Buffer;
  #socket: Socket | undefined;
  #decoder = new HpackDecoder(MAX_HEADERS, NAMES);
  #nextId = 1;
  #requests = new Map<number, OpenRequest>();
  #isCorked = false;

  constructor(target: Target) {
    this.#target = target;
    const { port, path, tls } = target;
    const output = new OutputBuffer();
    output.reserve(MAX_HEADERS);
    const encoder = new HpackEncoder(new Set());
    const pseudo = {
      ":method": "GET",
      ":scheme": tls ? "https" : "http",
      ":path": path,
      ":authority": `${HOST}:${port}`,
    };
    for (const [name, value] of Object.entries(pseudo)) encoder.field(output, name, value);
    this.#block = Buffer.from(output.buffer.subarray(0, output.at));
  }

  connect(onConnected = (): void => {}): void {
    if (this.#socket !== undefined) return void setImmediate(onConnected);
    const socket = open(this.#target, ALPN, onConnected);
    this.#socket = socket;
    this.#decoder = new HpackDecoder(MAX_HEADERS, NAMES);
    this.#nextId = 1;
    const reader = new FrameReader({ onFrame: (...frame) => this.#onFrame(...frame) });
    socket.on("data", (chunk: Buffer) => reader.read(chunk));
    socket.on("close", () => this.#onClose());
    socket.write(PREFACE);
    socket.write(settingsFrame([[Setting.INITIAL_WINDOW_SIZE, MAX_WINDOW]]));
    const window = Buffer.alloc(4);
    window.writeUInt32BE(MAX_WINDOW - 65_535);
    this.#write(FrameType.WINDOW_UPDATE, 0, 0, window);
  }

  /** @returns the ID of the stream */
  send(onEnd: (status: number) => void): number {
    if (this.#socket === undefined) this.connect();
    const id = this.#nextId;
    this.#nextId += 2;
    this.#requests.set(id, { onEnd, status: 0 });
    this.#write(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, id, this.#block);
    return id;
  }

  cancel(id: number): void {
    if (!this.#requests.delete(id)) return;
    const code = Buffer.alloc(4);
    code.writeUInt32BE(ErrorCode.CANCEL);
    this.#write(FrameType.RST_STREAM, 0, id, code);
  }

  /** Frames that are written in one turn of the event loop are sent together. */
  #write(type: number, flags: number, id: number, payload: Buffer): void {
    const socket = this.#socket as Socket;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      setImmediate(() => {
        this.#isCorked = false;
        socket.uncork();
      });
    }
    const header = Buffer.alloc(9);
    writeFrameHeader(header, 0, payload.length, type, flags, id);
    socket.write(header);
    socket.write(payload);
  }

  #onFrame(type: number, flags: number, id: number, buffer: Buffer, start: number, end: number): void {
    if (type === FrameType.SETTINGS && (flags & Flag.ACK) === 0) {
      this.#write(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(0));
      return;
    }
    if (type === FrameType.HEADERS) {
      const { fields } = this.#decoder.decode(buffer, start, end);
      const request = this.#requests.get(id);
      if (request !== undefined) request.status ||= Number(fields[0]?.value);
    }
    if (type === FrameType.RST_STREAM) this.#end(id, 0);
    else if ((type === FrameType.HEADERS || type === FrameType.DATA) && flags & Flag.END_STREAM) this.#end(id);
  }

  #end(id: number, status = this.#requests.get(id)?.status ?? 0): void {
    const request = this.#requests.get(id);
    this.#requests.delete(id);
    request?.onEnd(status);
  }

  #onClose(): void {
    this.#socket = undefined;
    const requests = this.#requests;
    this.#requests = new Map();
    for (const { onEnd } of requests.values()) onEnd(0);
  }
}

let session: Http2Session | undefined;

export class Http2Line implements Line {
  readonly #session: Http2Session;
  #streamId = 0;

  constructor(target: Target) {
    if (session === undefined || session.callers === MAX_STREAMS) session = new Http2Session(target);
    session.callers++;
    this.#session = session;
  }

  connect(onConnected: () => void): void {
    this.#session.connect(onConnected);
  }

  send(onEnd: (status: number) => void): void {
    this.#streamId = this.#session.send(onEnd);
  }

  giveUp(): void {
    this.#session.cancel(this.#streamId);
  }

  close(): void {}
}
