/**
 * A WebSocket for Node 20, which has none: the part of RFC 6455 that a client of Portico needs, on
 * Node's own HTTP client. It offers no extension, sends text frames, and responds to pings.
 */
import { LIMITS } from "./lines.js";

/** The part of a WebSocket that is used here. Node 20 has no type for it. */
export interface WebSocketLike {
  readonly bufferedAmount: number;
  send(text: string): void;
  close(): void;
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  onclose: unknown;
}
export type WebSocketClass = new (url: string, options: unknown) => WebSocketLike;

/** The parts of Node's modules that are used here. A generated client must compile without them. */
interface NodeSocket {
  write(data: Uint8Array, done: () => void): void;
  end(data: Uint8Array): void;
  destroy(): void;
  on(event: string, listener: (data: Uint8Array) => void): void;
}
interface NodeRequest {
  on(event: "upgrade", listener: (response: NodeResponse, socket: NodeSocket, first: Uint8Array) => void): NodeRequest;
  on(event: "response", listener: (response: NodeResponse) => void): NodeRequest;
  on(event: "error", listener: (error: Error) => void): NodeRequest;
  end(): void;
  destroy(): void;
}
interface NodeResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
}
interface NodeHttp {
  request(url: URL, options: object): NodeRequest;
}
interface NodeCrypto {
  randomBytes(size: number): Uint8Array & { toString(encoding: string): string };
  createHash(name: string): { update(text: string): { digest(encoding: string): string } };
}

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [CONTINUATION, TEXT, CLOSE, PING, PONG] = [0, 1, 8, 9, 10];
const FINAL = 128;
const NORMAL = 1000;
const PROTOCOL_ERROR = 1002;
const ABNORMAL = 1006;
const TOO_LARGE = 1009;
/** How long the server may take to close the connection, in milliseconds. */
const CLOSE_TIMEOUT_MS = 3_000;

/** How a connection is opened: the subprotocols, and further headers. */
interface NodeSocketOptions {
  readonly protocols: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

export async function nodeWebSocketClass(): Promise<WebSocketClass> {
  // Not literals, so that bundlers and compilers for browsers do not resolve them.
  const [http, https, crypto] = ["node:http", "node:https", "node:crypto"];
  const modules = {
    http: (await import(http)) as NodeHttp,
    https: (await import(https)) as NodeHttp,
    crypto: (await import(crypto)) as NodeCrypto,
  };
  return class extends NodeWebSocket {
    constructor(url: string, options: unknown) {
      super(url, options as NodeSocketOptions, modules);
    }
  };
}

class NodeWebSocket implements WebSocketLike {
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  onclose: unknown;
  readonly #crypto: NodeCrypto;
  readonly #request: NodeRequest;
  #socket: NodeSocket | undefined;
  /** Received bytes that are in no frame yet, and how many bytes the next frame needs. */
  #chunks: Uint8Array[] = [];
  #size = 0;
  #needed = 2;
  /** The frames of a message whose last frame has not arrived yet. */
  #parts: Uint8Array[] = [];
  #partsSize = 0;
  /**
   * Bytes that the socket has not reported as written. It reports in a later turn of the event
   * loop, so a sender without pauses lets other work go on.
   */
  bufferedAmount = 0;
  #isClosed = false;
  #isClosing = false;

  constructor(
    url: string,
    { protocols, headers }: NodeSocketOptions,
    modules: { readonly http: NodeHttp; readonly https: NodeHttp; readonly crypto: NodeCrypto },
  ) {
    this.#crypto = modules.crypto;
    const address = new URL(url.replace(/^ws/, "http"));
    const key = modules.crypto.randomBytes(16).toString("base64");
    const upgrade = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": key,
      "Sec-WebSocket-Protocol": protocols.join(", "),
    };
    const http = address.protocol === "https:" ? modules.https : modules.http;
    this.#request = http.request(address, { headers: { ...headers, ...upgrade }, agent: false });
    const expected = modules.crypto
      .createHash("sha1")
      .update(key + GUID)
      .digest("base64");
    this.#request
      .on("upgrade", (response, socket, first) => {
        if (response.headers["sec-websocket-accept"] === expected) this.#open(socket, first);
        else this.#fail(new Error("the server responded, but did not open a WebSocket"));
      })
      .on("response", ({ statusCode }) => this.#fail(new Error(`it did not open (HTTP ${statusCode})`)))
      .on("error", (error) => this.#fail(error))
      .end();
  }

  send(text: string): void {
    if (!this.#isClosing) this.#write(TEXT, new TextEncoder().encode(text));
  }

  close(): void {
    if (this.#socket === undefined) this.#fail(new Error("it was closed before it opened"));
    else this.#end(NORMAL);
  }

  #open(socket: NodeSocket, first: Uint8Array): void {
    if (this.#isClosed) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    socket.on("data", (data) => this.#receive(data));
    socket.on("error", () => {}); // "close" follows.
    socket.on("close", () => this.#closed(ABNORMAL, "the connection broke"));
    (this.onopen as () => void)();
    if (first.length > 0) this.#receive(first);
  }

  #receive(data: Uint8Array): void {
    if (this.#isClosed) return;
    this.#chunks.push(data);
    this.#size += data.length;
    while (this.#size >= this.#needed && !this.#isClosed) {
      const frame = this.#next(joined(this.#chunks));
      if (frame !== undefined) this.#handle(frame.opcode, frame.isFinal, frame.payload);
    }
  }

  /**
   * Takes the next frame, or finds out how many bytes it needs. A server masks no frame (RFC 6455,
   * section 5.1).
   */
  #next(
    bytes: Uint8Array,
  ): { readonly opcode: number; readonly isFinal: boolean; readonly payload: Uint8Array } | undefined {
    this.#chunks = [bytes];
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const [first, short] = [view.getUint8(0), view.getUint8(1)];
    const start = short < 126 ? 2 : short === 126 ? 4 : 10;
    this.#needed = start;
    if (bytes.length < start) return undefined;
    const length = short < 126 ? short : short === 126 ? view.getUint16(2) : Number(view.getBigUint64(2));
    if ((first & 0x70) !== 0 || short > 127) return this.#refuse(PROTOCOL_ERROR, "a frame was malformed");
    if (length > LIMITS.maxUnread) return this.#refuse(TOO_LARGE, "a message is too large");
    this.#needed = start + length;
    if (bytes.length < this.#needed) return undefined;
    this.#chunks = [bytes.subarray(this.#needed)];
    this.#size -= this.#needed;
    this.#needed = 2;
    return { opcode: first & 15, isFinal: first >= FINAL, payload: bytes.subarray(start, start + length) };
  }

  #handle(opcode: number, isFinal: boolean, payload: Uint8Array): void {
    if (opcode === PING) this.#write(PONG, payload);
    else if (opcode === CLOSE) {
      const code = payload.length < 2 ? NORMAL : new DataView(payload.buffer, payload.byteOffset).getUint16(0);
      this.#end(NORMAL);
      this.#closed(code, new TextDecoder().decode(payload.subarray(2)));
    } else if (opcode === TEXT || opcode === CONTINUATION) {
      this.#parts.push(payload);
      this.#partsSize += payload.length;
      if (this.#partsSize > LIMITS.maxUnread) this.#refuse(TOO_LARGE, "a message is too large");
      else if (isFinal) this.#deliver();
    } else if (opcode !== PONG) this.#refuse(PROTOCOL_ERROR, "a frame was malformed");
  }

  #deliver(): void {
    const data = new TextDecoder().decode(joined(this.#parts));
    this.#parts = [];
    this.#partsSize = 0;
    (this.onmessage as (event: { data: string }) => void)({ data });
  }

  /** Writes a frame, masked, as a client must (RFC 6455, section 5.3). */
  #write(opcode: number, payload: Uint8Array): void {
    const frame = this.#frame(opcode, payload);
    this.bufferedAmount += frame.length;
    this.#socket?.write(frame, () => {
      this.bufferedAmount -= frame.length;
    });
  }

  #frame(opcode: number, payload: Uint8Array): Uint8Array {
    const { length } = payload;
    const start = length < 126 ? 2 : length < 65_536 ? 4 : 10;
    const frame = new Uint8Array(start + 4 + length);
    const view = new DataView(frame.buffer);
    view.setUint8(0, FINAL | opcode);
    view.setUint8(1, 128 | (length < 126 ? length : length < 65_536 ? 126 : 127));
    if (start === 4) view.setUint16(2, length);
    if (start === 10) view.setBigUint64(2, BigInt(length));
    const mask = this.#crypto.randomBytes(4);
    frame.set(mask, start);
    for (let at = 0; at < length; at++) frame[start + 4 + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
    return frame;
  }

  /** Sends the close frame, after which nothing is sent. */
  #end(code: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const socket = this.#socket;
    const late = setTimeout(() => socket?.destroy(), CLOSE_TIMEOUT_MS);
    socket?.on("close", () => clearTimeout(late));
    socket?.end(this.#frame(CLOSE, Uint8Array.of(code >> 8, code & 255)));
  }

  /** Ends the connection because of what the server sent. */
  #refuse(code: number, reason: string): undefined {
    this.#end(code);
    this.#closed(code, reason);
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.#request.destroy();
    (this.onerror as (event: { error: Error }) => void)({ error });
    this.#closed(ABNORMAL, error.message);
  }

  #closed(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isClosing = true;
    (this.onclose as (event: { code: number; reason: string }) => void)({ code, reason });
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(), ...others] = parts.filter(({ length }) => length > 0);
  if (others.length === 0) return first;
  const whole = new Uint8Array(parts.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
