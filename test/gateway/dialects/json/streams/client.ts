/**
 * Clients of streams, and the Portico that they call: the deployment of the gateway's tests, with
 * the service feed.
 */
import { once } from "node:events";
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  IncomingMessage,
  type OutgoingHttpHeaders,
  request,
} from "node:http";
import { connect, constants } from "node:http2";
import type { Readable } from "node:stream";
import type { Test } from "tap";
import { WebSocket } from "ws";
import { MAX_WAIT } from "../../../../support/until.js";
import { type Deployment, type DeployOptions, deploy, login, post } from "../../../deployment.js";
import { Feed } from "./feed.js";

export interface Scene extends Deployment {
  readonly feed: Feed;
  readonly port: number;
  readonly admin: string;
}

export async function scene(t: Test, options: DeployOptions = {}): Promise<Scene> {
  const feed = new Feed();
  const deployment = await deploy(t.testdir(), { ...options, services: [feed.service, ...(options.services ?? [])] });
  t.teardown(() => deployment.close());
  const admin = await login(deployment.handler, "admin");
  return { ...deployment, feed, port: deployment.gateway.address.port, admin };
}

export interface Ask {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: unknown;
}

/** A response whose headers have arrived. */
export interface Opened {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly response: Readable;
  /** The text of the body, until its end or a break. */
  text(): Promise<string>;
  /** Whether the body has arrived completely, when the response is over. */
  isComplete(): boolean;
}

const OVER_HTTP2 = process.env.TEST_HTTP_VERSION === "2";

/** The headers that say that the length of a body is not known. */
export const OF_UNKNOWN_LENGTH = OVER_HTTP2 ? { "content-length": undefined } : { "transfer-encoding": "chunked" };

/**
 * Opens a stream over HTTP, in the version of the environment variable TEST_HTTP_VERSION. Resolves
 * when the headers have arrived.
 */
export async function open(scene: Scene, path: string, ask: Ask = {}): Promise<Opened> {
  if (OVER_HTTP2) return openHttp2(scene, path, ask);
  const { port } = scene;
  const { method, headers, body } = ask;
  const raw = body === undefined || Buffer.isBuffer(body);
  const typed: OutgoingHttpHeaders = raw ? {} : { "content-type": "application/json" };
  const outgoing: ClientRequest = request({
    ...{ host: "127.0.0.1", port, path, agent: false },
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...typed, ...headers },
  });
  outgoing.on("error", () => {}); // The response, or `once` below, reports it.
  outgoing.on("upgrade", (response, socket) => {
    outgoing.emit("response", response); // So a test fails at once if the upgrade is not refused.
    socket.destroy();
  });
  outgoing.end(raw ? body : JSON.stringify(body));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  response.on("error", () => {}); // A body that breaks off counts as an end here.
  const { statusCode: status, headers: received } = response;
  const isComplete = (): boolean => response.complete;
  return { status, headers: received, response, text: () => textOf(response), isComplete };
}

/** Opens a stream over HTTP/2, on a connection of its own. */
async function openHttp2({ port }: Scene, path: string, { method, headers, body }: Ask): Promise<Opened> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const raw = body === undefined || Buffer.isBuffer(body);
  const typed: OutgoingHttpHeaders = raw ? {} : { "content-type": "application/json" };
  const sent = raw ? body : Buffer.from(JSON.stringify(body));
  const length = sent === undefined ? {} : { "content-length": sent.length };
  const { host = "127.0.0.1", ...others } = { ...typed, ...length, ...headers };
  const pseudo = { ":path": path, ":method": method ?? (body === undefined ? "GET" : "POST"), ":authority": `${host}` };
  const stream = session.request({ ...pseudo, ...others }, { endStream: sent === undefined });
  if (sent !== undefined) stream.end(sent);
  stream.on("close", () => session.close());
  stream.on("error", () => {}); // See above.
  const [{ ":status": status, ...received }] = await once(stream, "response");
  const isComplete = (): boolean => stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted;
  return { status, headers: received, response: stream, text: () => textOf(stream), isComplete };
}

/** The text of the body, until its end or a break. */
async function textOf(response: Readable): Promise<string> {
  let text = "";
  response.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  // A stream of HTTP/2 counts as closed before all of it has been read.
  const isOver = response instanceof IncomingMessage ? response.closed : response.destroyed;
  if (!isOver) await new Promise((resolve) => response.once("close", resolve));
  return text;
}

/** Resolves with the received text when it matches. */
export async function until(response: Readable, pattern: RegExp): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (pattern.test(text)) return text;
  }
  throw new Error(`it ended before ${pattern}: ${text}`);
}

export interface Dialled {
  readonly socket: WebSocket;
  /** The received frames. */
  readonly frames: string[];
  /** Resolves when at least this many frames have arrived. */
  count(minimum: number): Promise<void>;
  /** Resolves with the code and the reason when it is closed. */
  readonly closed: Promise<[code: number, reason: string]>;
}

/** Opens a WebSocket. */
export async function dial({ port }: Scene, path: string, protocols: string[] = [], headers = {}): Promise<Dialled> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers });
  const frames: string[] = [];
  socket.on("message", (data) => frames.push(String(data)));
  const closed = new Promise<[number, string]>((resolve) =>
    socket.once("close", (code, reason) => resolve([code, String(reason)])),
  );
  await once(socket, "open");
  return {
    socket,
    frames,
    closed,
    async count(least) {
      while (frames.length < least) await once(socket, "message");
    },
  };
}

/** The response to an upgrade that is refused. */
export async function refused({ port }: Scene, path: string, headers = {}, protocols: string[] = []) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers });
  const [, response] = (await once(socket, "unexpected-response")) as [ClientRequest, IncomingMessage];
  const { statusCode, headers: answered } = response;
  return { status: statusCode, headers: answered, error: JSON.parse(await textOf(response)) };
}

/** Creates and deletes rules as the administrator. The change is effective when this returns. */
export async function createRule({ handler, admin }: Scene, rule: object): Promise<void> {
  await post(handler, "/v1/auth/Rules/Create", { rule }, admin);
}

export async function deleteRule({ handler, admin }: Scene, id: string): Promise<void> {
  await post(handler, "/v1/auth/Rules/Delete", { id }, admin);
}

/** The line of the log about a path's request, when it has been written. */
export async function logLine({ logged }: Scene, endpoint: string): Promise<Record<string, unknown>> {
  for (;;) {
    const line = logged.find((one) => one.endpoint === endpoint);
    if (line !== undefined) return line;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Maximum milliseconds until a service learns that its client has left. */
const PROMPT_MS = 50;

/** Checks that one of many attempts is prompt. A busy computer may delay the others. */
export async function checkPrompt(t: Test, attempt: () => Promise<number>): Promise<void> {
  let ms = await attempt();
  for (const late = performance.now() + MAX_WAIT; performance.now() < late && ms >= PROMPT_MS; ) ms = await attempt();
  t.ok(ms < PROMPT_MS, `${ms.toFixed(1)} ms`);
}
