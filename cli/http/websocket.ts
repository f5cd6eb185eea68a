/**
 * Calls an endpoint that takes a stream of messages, over a WebSocket (docs/streams.md): each
 * message is a frame, and an empty frame ends the messages.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createWebSocketStream, WebSocket } from "ws";
import { CommandError, interrupted } from "../terminal/exit.js";
import { CallFailure, failureOfFrame, toCommandError } from "./failure.js";
import { type HttpRequest, headersOf, readText, requestIdOf } from "./request.js";

const HANDSHAKE_TIMEOUT_MS = 30_000;
const OK = 1000;
const TOO_LARGE = 1009;

/**
 * Sends messages, and yields each response as it arrives.
 * @throws {CommandError}
 */
export async function* converse(
  base: URL,
  request: Pick<HttpRequest, "path" | "token" | "namespace" | "signal">,
  messages: AsyncIterable<string>,
): AsyncGenerator<string> {
  const { socket, requestId } = await open(base, request);
  const closed = once(socket, "close") as Promise<[code: number, reason: Buffer]>;
  const stop = (): void => socket.terminate();
  request.signal?.addEventListener("abort", stop);
  try {
    let unsent: Error | undefined;
    sendAll(socket, messages).catch((error) => {
      unsent = error;
      stop();
    });
    const responses = createWebSocketStream(socket, { encoding: "utf8", readableObjectMode: true });
    // A message may look like an error. It is one only if the gateway then closes with an error
    // code.
    let held: string | undefined;
    for await (const frame of responses as AsyncIterable<string>) {
      if (held !== undefined) yield held;
      held = failureOfFrame(frame, requestId) && frame;
      if (held === undefined) yield frame;
    }
    const [code] = await closed;
    if (code !== OK) throw unsent ?? (held && failureOfFrame(held, requestId)) ?? brokenOff(base, code);
    if (held !== undefined) yield held;
  } catch (error) {
    if (request.signal?.aborted) throw interrupted();
    throw error instanceof CommandError ? error : await toCommandError(base, error as NodeJS.ErrnoException);
  } finally {
    request.signal?.removeEventListener("abort", stop);
    stop();
  }
}

async function open(base: URL, request: Pick<HttpRequest, "path" | "token" | "namespace">) {
  const address = base.origin.replace(/^http/, "ws") + base.pathname.replace(/\/+$/, "") + request.path;
  const headers = headersOf(request);
  const socket = new WebSocket(address, { headers, perMessageDeflate: false, handshakeTimeout: HANDSHAKE_TIMEOUT_MS });
  const refused = new Promise<never>((_, reject) => {
    socket.on("unexpected-response", (_, response: IncomingMessage) => void refusal(response).then(reject, reject));
    socket.on("error", reject);
  });
  let requestId: string | undefined;
  socket.once("upgrade", (response: IncomingMessage) => {
    requestId = requestIdOf(response);
  });
  await Promise.race([once(socket, "open").catch(() => refused), refused]).catch(async (error) => {
    throw error instanceof CommandError ? error : await toCommandError(base, error);
  });
  refused.catch(() => {});
  return { socket, requestId };
}

async function refusal(response: IncomingMessage): Promise<CallFailure> {
  const requestId = requestIdOf(response);
  return new CallFailure({ status: response.statusCode ?? 0, body: await readText(response), requestId });
}

/** Sends messages in order. Each is sent after the one before has been written. */
async function sendAll(socket: WebSocket, messages: AsyncIterable<string>): Promise<void> {
  for await (const message of messages) {
    if (socket.readyState !== WebSocket.OPEN) return;
    await new Promise((resolve) => socket.send(message, resolve));
  }
  if (socket.readyState === WebSocket.OPEN) socket.send("");
}

function brokenOff(base: URL, code: number): CommandError {
  if (code === TOO_LARGE) return new CommandError("A message is larger than the gateway accepts");
  return new CommandError(`The call to ${base.origin} broke off (WebSocket close code ${code})`);
}
