/** A client that speaks HTTP/1.1 or HTTP/2, so that a test can send the same request over both. */
import { type ClientRequest, request as request1 } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Readable } from "node:stream";
import type { Test } from "tap";
import type { Address } from "../../src/address/address.js";
import { deferred } from "./deferred.js";

export type HttpVersion = "HTTP/1.1" | "HTTP/2";
export const HTTP_VERSIONS: readonly HttpVersion[] = ["HTTP/1.1", "HTTP/2"];

export interface Sent {
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Names in lower case. The default of `host` is "x". */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request in progress. */
export interface Open {
  /** Resolves with the status and the headers of the response; rejects if there is no response. */
  readonly head: Promise<Omit<Received, "body">>;
  /**
   * Writes a chunk of the body.
   * @returns false if the server accepts no more for now
   */
  write(chunk: string | Uint8Array): boolean;
  end(): void;
  /** Calls the listener each time the server says "100 Continue". */
  onContinue(listener: () => void): void;
  /** The body of the response. Reading it fails if the response is cut off. */
  readonly response: Promise<Readable>;
  /** Disconnects: resets the stream (HTTP/2), or closes the connection (HTTP/1.1). */
  leave(): void;
}

export interface Client {
  /** Opens a request. Unless it has no body, the caller writes the body next. */
  open(sent: Omit<Sent, "body">, hasBody?: boolean): Open;
  /** Sends a request, and waits for the whole response. */
  send(sent: Sent): Promise<Received>;
}

export function httpClient(t: Test, version: HttpVersion, address: Address): Client {
  const open = version === "HTTP/2" ? overHttp2(t, address) : overHttp1(t, address);
  return {
    open,
    async send(sent) {
      const { body: sending } = sent;
      const request = open(sending === undefined ? sent : withLength(sent, sending), sending !== undefined);
      if (sending !== undefined) request.write(sending);
      request.end();
      const { status, headers } = await request.head;
      let body = "";
      for await (const chunk of (await request.response).setEncoding("utf8")) body += chunk;
      return { status, headers, body };
    },
  };
}

function withLength(sent: Sent, body: string | Uint8Array): Sent {
  return { ...sent, headers: { "content-length": String(Buffer.byteLength(body)), ...sent.headers } };
}

function overHttp1(t: Test, { host, port }: Address): Client["open"] {
  return ({ method = "GET", path = "/", headers = {} }) => {
    const request: ClientRequest = request1({ host, port, method, path, headers: { host: "x", ...headers } });
    t.teardown(() => request.destroy());
    const { promise: response, resolve, reject } = deferred<Readable & { statusCode?: number; headers: object }>();
    request.on("response", resolve).on("error", reject);
    const head = response.then(({ statusCode = 0, headers: got }) => ({ status: statusCode, headers: { ...got } }));
    head.catch(() => {}); // Not every test waits for it.
    request.flushHeaders();
    return {
      head,
      response,
      write: (chunk) => request.write(chunk),
      end: () => request.end(),
      onContinue: (listener) => request.on("continue", listener),
      leave: () => request.destroy(),
    };
  };
}

function overHttp2(t: Test, { host, port }: Address): Client["open"] {
  let session: ClientHttp2Session | undefined;
  return ({ method = "GET", path = "/", headers = {} }, hasBody = true) => {
    if (session === undefined || session.closed || session.destroyed) {
      const opened = connect(`http://${host}:${port}`);
      opened.on("error", () => {});
      t.teardown(() => opened.destroy());
      session = opened;
    }
    const { host: authority = "x", ...others } = headers;
    const pseudo = { ":method": method, ":path": path, ":authority": authority };
    const stream: ClientHttp2Stream = session.request({ ...pseudo, ...others }, { endStream: !hasBody });
    const { promise: head, resolve, reject } = deferred<Omit<Received, "body">>();
    stream.on("response", ({ ":status": status = 0, ...got }) => resolve({ status, headers: { ...got } as never }));
    stream.on("error", reject);
    stream.on("close", () => reject(new Error(`reset with ${stream.rstCode}`)));
    const response = head.then(() => stream);
    response.catch(() => {}); // Not every test waits for it.
    return {
      head,
      response,
      write: (chunk) => stream.write(chunk),
      end: () => stream.end(),
      onContinue: (listener) => stream.on("continue", listener),
      leave: () => stream.close(constants.NGHTTP2_CANCEL),
    };
  };
}
