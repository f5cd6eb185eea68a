/** The messages of a server stream: one JSON object in each line (docs/streams.md). */
import { type ErrorObject, PorticoError, readErrorObject, requestIdOf, toConnectionError } from "./error.js";
import type { CallScope } from "./scope.js";

/** Limits of a stream. An object, so that tests can shorten the time. */
export const LIMITS = {
  /** Portico sends an empty line every 15 s while a stream has no message. */
  maxSilenceMs: 45_000,
  /** Maximum wait for the token function. */
  maxTokenMs: 30_000,
  /**
   * Maximum characters of one message, and of all messages that were received by WebSocket and not
   * read yet.
   */
  maxUnread: 64 * 1024 * 1024,
};

/** The bytes of a body, as they arrive. */
export async function* piecesOf(scope: CallScope, response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  for (;;) {
    const { done, value } = await scope.within(read(scope, response, reader), LIMITS.maxSilenceMs);
    if (done) return;
    yield value;
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function read({ service, signal }: CallScope, { url }: Response, reader: Reader) {
  try {
    return await reader.read();
  } catch (error) {
    throw signal.aborted ? signal.reason : toConnectionError(service, new URL(url).origin, error);
  }
}

/** @throws {PorticoError} the error in the last line */
export async function* messagesOf(scope: CallScope, response: Response): AsyncGenerator<unknown> {
  const requestId = requestIdOf(response);
  for await (const line of linesOf(scope, response)) {
    if (line === "") continue; // A heartbeat.
    const failure = line.startsWith('{"error":{"Id":') ? errorOf(line) : undefined;
    if (failure !== undefined) throw new PorticoError(failure, { requestId });
    yield JSON.parse(line);
  }
}

function errorOf(line: string): ErrorObject | undefined {
  const { error, ...others } = JSON.parse(line) as { readonly error: unknown };
  return Object.keys(others).length === 0 ? readErrorObject(JSON.stringify(error)) : undefined;
}

async function* linesOf(scope: CallScope, response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  let size = 0;
  for await (const chunk of piecesOf(scope, response)) {
    const text = decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf("\n");
    if (end >= 0) {
      yield* `${rest.join("")}${text.slice(0, end)}`.split("\n");
      rest = [];
      size = 0;
    }
    rest.push(text.slice(end + 1));
    size += text.length - end - 1;
    if (size > LIMITS.maxUnread) {
      throw toConnectionError(scope.service, new URL(response.url).origin, "a message is longer than 64 MiB");
    }
  }
}
