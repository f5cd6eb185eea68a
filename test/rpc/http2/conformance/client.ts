/**
 * The client under test of connectrpc's conformance runner. It makes the calls that the runner asks
 * for over Portico's HTTP/2, and reports their results.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Metadata } from "../../../../src/call/metadata.js";
import { Code } from "../../../../src/errors.js";
import type { CallListener, Status } from "../../../../src/rpc/channel.js";
import { Http2Channel } from "../../../../src/rpc/http2/channel.js";
import { status } from "../../../../src/rpc/status.js";
import { fromHeaders, METHODS, type Message, make, readMessages, SERVICE, toHeaders, writeMessage } from "./schema.js";

const FULL_DUPLEX = 5;

/** The events of a call, and a function that waits for messages. */
class CallEvents implements CallListener {
  headers: Metadata = [];
  readonly messages: Uint8Array[] = [];
  status: Status | undefined;
  onChange: () => void = () => {};

  onHeaders(metadata: Metadata): void {
    this.headers = metadata;
  }
  onMessage(message: Uint8Array): void {
    this.messages.push(message);
    this.onChange();
  }
  onEnd(status: Status): void {
    this.status = status;
    this.onChange();
  }

  /** Waits until this number of messages has arrived, or the call has ended. */
  async reached(messages: number): Promise<void> {
    while (this.messages.length < messages && this.status === undefined) {
      await new Promise<void>((resolve) => {
        this.onChange = resolve;
      });
    }
  }
}

function channelFor(asked: Message): Http2Channel {
  const { host, port, serverTlsCert, clientTlsCreds, messageReceiveLimit } = asked;
  const own = clientTlsCreds && { cert: Buffer.from(clientTlsCreds.cert), key: Buffer.from(clientTlsCreds.key) };
  const tls = serverTlsCert.length > 0 ? { ca: Buffer.from(serverTlsCert), ...own } : undefined;
  return new Http2Channel({ host, port }, { maxBody: messageReceiveLimit || undefined, tls });
}

async function call(channel: Http2Channel, asked: Message): Promise<CallEvents> {
  const events = new CallEvents();
  const { case: timing, value: when } = asked.cancel?.cancelTiming ?? {};
  const start = {
    path: `/${asked.service ?? SERVICE}/${asked.method}`,
    metadata: fromHeaders(asked.requestHeaders),
    deadlineMonotonicMs: asked.timeoutMs === undefined ? undefined : performance.now() + asked.timeoutMs,
  };
  const opened = channel.open(start, events);
  for (const [index, { value }] of asked.requestMessages.entries()) {
    if (asked.requestDelayMs > 0) await wait(asked.requestDelayMs);
    opened.send(value);
    if (asked.streamType === FULL_DUPLEX) await events.reached(index + 1);
    if (timing === "afterNumResponses" && events.messages.length >= when) opened.cancel();
  }
  if (timing === "beforeCloseSend") opened.cancel();
  opened.end();
  if (timing === "afterCloseSendMs") void wait(when).then(() => opened.cancel());
  if (timing === "afterNumResponses") {
    await events.reached(when);
    opened.cancel();
  }
  await events.reached(Number.POSITIVE_INFINITY);
  return events;
}

const methodOf = (name: string) => METHODS[(name[0]?.toLowerCase() + name.slice(1)) as keyof typeof METHODS];

async function run(asked: Message): Promise<object> {
  const channel = channelFor(asked);
  const events = await call(channel, asked);
  channel.close();
  const { responseStream, responseDeserialize } = methodOf(asked.method);
  let ended = events.status as Status;
  if (!responseStream && ended.code === Code.OK && events.messages.length !== 1) {
    ended = status(Code.UNIMPLEMENTED, `${events.messages.length} responses where there must be one`);
  }
  const { code, message, details, trailers } = ended;
  const messages = responseStream || code === Code.OK ? events.messages : [];
  return {
    responseHeaders: toHeaders(events.headers),
    payloads: messages.map((bytes) => responseDeserialize(bytes as Buffer).payload ?? make("ConformancePayload", {})),
    error: code === Code.OK ? undefined : { code, message, details },
    responseTrailers: toHeaders(trailers),
  };
}

/** Maximum number of concurrent calls: deadlines run while hundreds of connections are opened. */
const MAX_CONCURRENT_CALLS = 8;

const running = new Set<Promise<void>>();
for await (const asked of readMessages("ClientCompatRequest")) {
  if (running.size >= MAX_CONCURRENT_CALLS) await Promise.race(running);
  const done: Promise<void> = run(asked)
    .then(
      (value) => ({ case: "response", value }),
      (thrown) => ({ case: "error", value: { message: `${thrown.stack}` } }),
    )
    .then((result) => {
      running.delete(done);
      writeMessage("ClientCompatResponse", { testName: asked.testName, result });
    });
  running.add(done);
}
await Promise.all(running);
