/** A finished stream, as a client's EventSource sees it. */
import type { Test } from "tap";
import { type Scene, scene } from "./client.js";

/** The class of browsers, and its replacements in Node.js. */
export type EventSourceClass = new (
  url: string,
) => {
  readonly readyState: number;
  onmessage: ((event: { readonly data: string }) => void) | null;
  onerror: ((event: unknown) => void) | null;
  addEventListener(type: string, listener: (event: { readonly data: string }) => void): void;
  close(): void;
};

const CLOSED = 2;
const MESSAGES = 2;

/** Checks that a client reads a stream to its end, connects again as it must, and then stops. */
export async function checkEndsOnce(t: Test, Client: EventSourceClass): Promise<void> {
  const it: Scene = await scene(t);
  const source = new Client(`http://127.0.0.1:${it.port}/helloworld/stream?name=Ada&messages=${MESSAGES}`);
  t.teardown(() => source.close());
  let messages = 0;
  let ends = 0;
  await new Promise<void>((resolve) => {
    source.onmessage = () => {
      messages++;
      // More messages than the stream has: the client ran the stream again.
      if (messages > MESSAGES) resolve();
    };
    source.addEventListener("complete", () => ends++);
    // Version 2 closes after it has reported the error.
    source.onerror = () => queueMicrotask(() => source.readyState === CLOSED && resolve());
  });
  t.same({ messages, ends, readyState: source.readyState }, { messages: MESSAGES, ends: 1, readyState: CLOSED });
}
