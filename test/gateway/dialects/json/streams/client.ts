/** Clients of streams, and the Portico they call: that of the gateway's tests, with the service feed. */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import type { Test } from "tap";
import { WebSocket } from "ws";
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
  return { ...deployment, feed, port: deployment.door.address.port, admin };
}

export interface Ask {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: unknown;
}

/** Opens a stream over HTTP; resolves when its headers have come. */
export async function open({ port }: Scene, path: string, { method, headers, body }: Ask = {}) {
  const raw = body === undefined || Buffer.isBuffer(body);
  const typed: OutgoingHttpHeaders = raw ? {} : { "content-type": "application/json" };
  const outgoing: ClientRequest = request({
    ...{ host: "127.0.0.1", port, path, agent: false },
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...typed, ...headers },
  });
  outgoing.on("error", () => {}); // Told by the response, or by `once` below.
  outgoing.on("upgrade", (response, socket) => {
    outgoing.emit("response", response); // So that a test says that it was not refused, instead of waiting for that.
    socket.destroy();
  });
  outgoing.end(raw ? body : JSON.stringify(body));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  response.on("error", () => {}); // A body that breaks off is an end like any other here.
  return { status: response.statusCode, headers: response.headers, response, text: () => textOf(response) };
}

/** All that comes, until the end or a break. */
async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8").on("data", (piece) => {
    text += piece;
  });
  if (!response.closed) await new Promise((resolve) => response.once("close", resolve));
  return text;
}

/** Resolves with what has come when it matches. */
export async function until(response: IncomingMessage, pattern: RegExp): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const piece of response.iterator({ destroyOnReturn: false })) {
    text += piece;
    if (pattern.test(text)) return text;
  }
  throw new Error(`it ended before ${pattern}: ${text}`);
}

export interface Dialled {
  readonly socket: WebSocket;
  /** What has come. */
  readonly frames: string[];
  /** Resolves when so many have come. */
  count(least: number): Promise<void>;
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

/** What an upgrade that is refused is answered with. */
export async function refused({ port }: Scene, path: string, headers = {}, protocols: string[] = []) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers });
  const [, response] = (await once(socket, "unexpected-response")) as [ClientRequest, IncomingMessage];
  const { statusCode, headers: answered } = response;
  return { status: statusCode, headers: answered, error: JSON.parse(await textOf(response)) };
}

/** Creates and deletes rules as the administrator; the change holds when this returns. */
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

/** How soon a service must hear that its client has left, in milliseconds. */
const PROMPT_MS = 50;
const ATTEMPTS = 5;

/** Whether what `attempt` measures is prompt, once in a few attempts: a busy machine may hold up any one of them. */
export async function checkPrompt(t: Test, attempt: () => Promise<number>): Promise<void> {
  let ms = await attempt();
  for (let more = 1; more < ATTEMPTS && ms >= PROMPT_MS; more++) ms = await attempt();
  t.ok(ms < PROMPT_MS, `${ms.toFixed(1)} ms`);
}
