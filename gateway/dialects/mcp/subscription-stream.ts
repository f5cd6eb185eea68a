/**
 * The response to `subscriptions/listen`: an acknowledgement, then an event each time the list of
 * tools has changed, and a result when the gateway ends it
 * (https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions).
 */
import type { Admission, FollowedStream, Guard, StreamListener } from "../../../src/call/admission.js";
import type { BodySink, BodyStream } from "../../http/body.js";
import { resultText } from "./message.js";
import { subscriptionEnded } from "./server-info.js";
import { event } from "./stream-format.js";
import type { Subscriptions } from "./subscriptions.js";

/** Interval of heartbeats in milliseconds, so that no proxy closes a silent stream. */
const HEARTBEAT_MS = 15_000;

export interface SubscriptionOptions {
  readonly id: string | number;
  /**
   * Whether the client asked for notifications of changes of the tool list. There are no others.
   */
  readonly toolsListChanged: boolean;
  readonly admission: Admission;
  /** Re-authorizes the caller. @throws {Error} (rejects) if the caller may not listen any more */
  readonly admit: () => Promise<Admission>;
  readonly guard: Guard;
  readonly subscriptions: Subscriptions;
}

export class SubscriptionStream implements BodyStream, StreamListener {
  readonly #options: SubscriptionOptions;
  readonly #followed: FollowedStream;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #unwatch: () => void;
  #sink: BodySink | undefined;
  /** The client does not read at present. It is notified of a change as soon as it reads again. */
  #full = false;
  #changed = false;
  /** The HTTP status to record, set when the stream has ended. */
  #ended: number | undefined;
  #onClosed: (status: number) => void = () => {};

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    const { admission, admit, guard, subscriptions, toolsListChanged } = options;
    this.#followed = guard.follow(admission, this);
    this.#heartbeat = setInterval(() => this.#full || this.#sink?.write(":\n\n"), HEARTBEAT_MS);
    const refuse = (): void => this.onRefused();
    this.#unwatch = toolsListChanged
      ? subscriptions.watch(admission, { admit, onChange: () => this.#onChange(), onEnd: refuse })
      : () => {};
  }

  open(sink: BodySink): void {
    this.#sink = sink;
    const { toolsListChanged } = this.#options;
    this.#notify("subscriptions/acknowledged", { notifications: toolsListChanged ? { toolsListChanged } : {} });
    if (this.#ended !== undefined) this.#writeEnd(sink);
  }

  onClosed(listener: (status: number) => void): void {
    if (this.#ended === undefined) this.#onClosed = listener;
    else listener(this.#ended);
  }

  onDrain(): void {
    this.#full = false;
    if (this.#changed) this.#onChange();
  }

  onRefused(): void {
    this.end(401);
  }

  onResumed(): void {
    if (this.#changed) this.#onChange();
  }

  /** Ends the stream. The client may listen again. @param status HTTP status to record */
  end(status: number): void {
    if (this.#ended !== undefined) return;
    this.#ended = status;
    clearInterval(this.#heartbeat);
    this.#unwatch();
    this.#followed.end();
    if (this.#sink !== undefined) this.#writeEnd(this.#sink);
    this.#onClosed(status);
  }

  #writeEnd(sink: BodySink): void {
    const { id } = this.#options;
    sink.write(event(resultText(id, subscriptionEnded(id))));
    sink.end();
  }

  #onChange(): void {
    this.#changed = true;
    if (this.#ended !== undefined || this.#full || this.#sink === undefined || !this.#followed.mayPass()) return;
    this.#changed = false;
    this.#notify("tools/list_changed", {});
  }

  #notify(name: string, params: object): void {
    const _meta = { "io.modelcontextprotocol/subscriptionId": this.#options.id };
    const message = { jsonrpc: "2.0", method: `notifications/${name}`, params: { _meta, ...params } };
    this.#full = this.#sink?.write(event(JSON.stringify(message))) === false;
  }
}
