/** Helpers for the tests of channels: calls, and what the tests wait for. */
import type { Test } from "tap";
import type { Metadata } from "../../../src/call/metadata.js";
import type { StatusError } from "../../../src/errors.js";
import type { CallListener, CallStart, Channel, Status } from "../../../src/rpc/channel.js";
import { unary } from "../../../src/rpc/client.js";
import type { Context } from "../../../src/rpc/service.js";
import { type RawImplementation, RawService } from "../../rpc/raw-service.js";
import { deferred } from "../../support/deferred.js";

/** The maximum size of a message, in bytes. `open` must set it on both sides. */
export const MAX_BODY = 1_000_000;

/**
 * A test of one behaviour. `serve` starts a service with these endpoints, and returns a channel to
 * it.
 */
export type Behaviour = (t: Test, serve: Serve) => Promise<void>;
export type Serve = (endpoints: Partial<RawImplementation>) => Promise<Channel>;

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

export const never = (): Promise<never> => new Promise(() => {});

/**
 * An endpoint that never responds. `reached` and `stopped` resolve when a call begins and when it
 * is cancelled.
 */
export function lasting() {
  const reached = deferred();
  const stopped = deferred();
  const one = async (_request: Buffer, { signal }: Context): Promise<never> => {
    reached.resolve();
    await aborted(signal);
    stopped.resolve();
    return never();
  };
  return { one, reached, stopped };
}

export const rejection = (promise: Promise<unknown>): Promise<StatusError> =>
  promise.then(
    () => Promise.reject(new Error("the call did not fail")),
    (error) => error as StatusError,
  );

/**
 * Waits for the response of a call, so that a short deadline does not include the time to connect.
 */
export async function connected(channel: Channel): Promise<void> {
  await rejection(unary(channel, { ...RawService.one, path: "/raw.Raw/Unknown" }, Buffer.alloc(0)));
}

export async function collect(responses: AsyncIterable<Buffer>): Promise<string[]> {
  const texts: string[] = [];
  for await (const response of responses) texts.push(text(response));
  return texts;
}

/** Records everything that the listener of a call is notified of. */
export class Recorded implements CallListener {
  readonly messages: Uint8Array[] = [];
  readonly ends: Status[] = [];
  headers: Metadata | undefined;
  readonly #ended = deferred<Status>();
  /** Is called at each message. */
  react: (message: Uint8Array) => void = () => {};
  drained: () => void = () => {};

  /** Resolves 20 ms after the end, so that later notifications are recorded too. */
  get ended(): Promise<Status> {
    return this.#ended.promise.then((status) => new Promise((resolve) => setTimeout(resolve, 20, status)));
  }
  onHeaders(headers: Metadata): void {
    this.headers = headers;
  }
  onMessage(message: Uint8Array): void {
    this.messages.push(message);
    this.react(message);
  }
  onDrain(): void {
    this.drained();
  }
  onEnd(status: Status): void {
    this.ends.push(status);
    this.#ended.resolve(status);
  }
}

export const start = (method: { path: string }, extra: Partial<CallStart> = {}): CallStart => ({
  path: method.path,
  metadata: [],
  deadlineMonotonicMs: performance.now() + 10_000,
  ...extra,
});

/** The text values of a name, joined by commas: gRPC lets a transport join them. */
export const textOf = (metadata: Metadata | undefined, name: string): string =>
  (metadata ?? [])
    .filter(([key]) => key === name)
    .map(([, value]) => value)
    .join(", ");
export const bytesOf = (metadata: Metadata | undefined, name: string): unknown[] =>
  (metadata ?? []).filter(([key]) => key === name).map(([, value]) => [...value]);

export const SENT: Metadata = [
  ["x-text", "one"],
  ["x-text", "two"],
  ["x-bytes-bin", Uint8Array.of(0, 255, 128)],
  ["x-bytes-bin", Uint8Array.of(7)],
];

export const TYPE_URL = "type.googleapis.com/google.rpc.ErrorInfo";
