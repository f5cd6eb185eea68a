/**
 * A call by WebSocket: one JSON message in each text frame in both directions, and an empty frame
 * after the last message (docs/streams.md).
 */
import { type ErrorObject, PorticoError, readErrorObject, toConnectionError } from "./error.js";
import { LIMITS } from "./lines.js";
import { nodeWebSocketClass, type WebSocketClass, type WebSocketLike } from "./node-websocket.js";
import type { Messages } from "./options.js";
import type { CallScope } from "./scope.js";
import { toJson } from "./values.js";

/** Maximum characters of messages that wait to be sent. */
const MAX_UNSENT = 64 * 1024;
const UNSENT_LOOK_MS = 10;
/** A close code of Portico is this number plus an HTTP status. */
const STATUS_CODES = 4000;
const OK = 1000;

/** The parameters for opening a WebSocket. */
export interface Handshake {
  /** `http:` or `https:`. */
  readonly url: string;
  readonly token: string | undefined;
  /** Headers other than the one with the token. */
  readonly headers: Readonly<Record<string, string>>;
}

const isNode =
  typeof (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node === "string";

/** Node 20 has no WebSocket class. */
async function webSocketClass(): Promise<WebSocketClass> {
  const own = (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
  return own ?? nodeWebSocketClass();
}

/**
 * Whether a frame has the members of an error and no others. A service's own message may have the
 * same members.
 */
function looksLikeError(frame: string): boolean {
  if (!frame.startsWith('{"Id":') || readErrorObject(frame) === undefined) return false;
  return Object.keys(JSON.parse(frame) as object).every((name) => ERROR_MEMBERS.has(name));
}

const ERROR_MEMBERS: ReadonlySet<string> = new Set(["Id", "Code", "Detail", "Status", "Details"]);

export class Socket {
  readonly #scope: CallScope;
  readonly #socket: WebSocketLike;
  readonly #url: string;
  readonly #frames: string[] = [];
  #unread = 0;
  #closed: { readonly code: number; readonly reason: string } | undefined;
  #wake = (): void => {};

  private constructor(scope: CallScope, url: string, socket: WebSocketLike) {
    this.#scope = scope;
    this.#url = url;
    this.#socket = socket;
    socket.onmessage = ({ data }: { data: string }) => this.#receive(data);
  }

  /** @throws {PorticoError} 503 when it does not open. The WebSocket API does not say why */
  static async open(scope: CallScope, { url, token, headers }: Handshake): Promise<Socket> {
    const Class = await webSocketClass();
    const protocols = token === undefined ? ["portico"] : ["portico", `bearer.${token}`];
    if (!isNode && "Platform-Namespace" in headers) {
      throw new Error("A page cannot name a namespace with a WebSocket: leave the option namespace out");
    }
    const made = new Class(url.replace(/^http/, "ws"), isNode ? { protocols, headers } : protocols);
    const socket = new Socket(scope, url, made);
    const opened = new Promise<void>((resolve, reject) => {
      made.onopen = resolve;
      made.onerror = ({ error }: { error?: unknown }) =>
        reject(toConnectionError(scope.service, url, error ?? "it did not open"));
      made.onclose = ({ code, reason }: { code: number; reason: string }) => {
        reject(toConnectionError(scope.service, url, `it was closed with ${code} ${reason}`));
        socket.#closed ??= { code, reason };
        socket.#wake();
      };
    });
    try {
      await scope.within(opened, LIMITS.maxSilenceMs);
      return socket;
    } catch (error) {
      made.close();
      throw error;
    }
  }

  /** Sends all messages in order, and then the empty frame. Stops when the call is over. */
  async sendAll(messages: Messages<unknown>): Promise<void> {
    const iterator = Symbol.asyncIterator in messages ? messages[Symbol.asyncIterator]() : messages[Symbol.iterator]();
    try {
      for (;;) {
        const { done, value } = await this.#scope.within(Promise.resolve(iterator.next()));
        if (this.#closed !== undefined) return;
        this.#socket.send(done ? "" : toJson(value));
        if (done) return;
        while (this.#socket.bufferedAmount > MAX_UNSENT && this.#closed === undefined)
          await this.#scope.wait(UNSENT_LOOK_MS);
      }
    } finally {
      // Not awaited: if the generator is waiting for its next message, it ends only afterwards.
      Promise.resolve(iterator.return?.()).catch(() => {});
    }
  }

  /** @throws {PorticoError} the error that Portico closed with */
  async *messages(): AsyncGenerator<unknown> {
    // A message may look like an error. It is one only if Portico then closes with an error code.
    let held: string | undefined;
    for await (const frame of this.#received()) {
      if (held !== undefined) yield JSON.parse(held);
      held = looksLikeError(frame) ? frame : undefined;
      if (held === undefined) yield JSON.parse(frame);
    }
    if (this.#closed?.code !== OK) throw this.#failure(held);
    if (held !== undefined) yield JSON.parse(held);
  }

  close(): void {
    this.#socket.close();
  }

  #receive(frame: string): void {
    if (this.#closed !== undefined) return; // Frames still arrive until the other side has closed too.
    this.#unread += frame.length;
    if (this.#unread > LIMITS.maxUnread) {
      this.#closed = { code: STATUS_CODES + 503, reason: "Messages came faster than they were read" };
      this.close();
    } else this.#frames.push(frame);
    this.#wake();
  }

  async *#received(): AsyncGenerator<string> {
    for (;;) {
      for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
        this.#unread -= frame.length;
        yield frame;
      }
      if (this.#closed !== undefined) return;
      await this.#scope.within(
        new Promise<void>((resolve) => {
          this.#wake = resolve;
        }),
      );
    }
  }

  #failure(held: string | undefined): PorticoError {
    const { code = 0, reason = "" } = this.#closed ?? {};
    const sent: ErrorObject | undefined = held === undefined ? undefined : readErrorObject(held);
    if (sent !== undefined && code > STATUS_CODES) return new PorticoError(sent);
    if (code <= STATUS_CODES) {
      return toConnectionError(this.#scope.service, this.#url, `the WebSocket was closed with ${code} ${reason}`);
    }
    return new PorticoError({ Id: this.#scope.service, Code: code - STATUS_CODES, Detail: reason, Status: "Closed" });
  }
}
