/** A guard's stream that the test controls: it decides what is sent, and when. */
import type { Test } from "tap";
import { RESTRICTIONS } from "../../../src/access/decide/restrictions.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { PolicyService, type WatchRequest, type WatchResponse } from "../../../src/gen/portico/auth/v1/policy.js";
import type { Channel } from "../../../src/rpc/channel.js";
import { type CallOptions, type CallStream, stream } from "../../../src/rpc/client.js";

type Case = NonNullable<WatchResponse["message"]>["$case"];
type Value<C extends Case> = Extract<NonNullable<WatchResponse["message"]>, { $case: C }>["value"];

export class Watch {
  readonly #stream: CallStream<WatchRequest, WatchResponse>;
  readonly #responses: AsyncIterator<WatchResponse>;
  readonly #restrictions: readonly string[];
  #sequence = 0n;

  /**
   * With an enrolment token, the guard belongs to another process; without one, to the authority's
   * process.
   * @param restrictions the kinds that it says it understands
   */
  constructor(t: Test, channel: Channel, enrolment?: string, restrictions = RESTRICTIONS) {
    this.#restrictions = restrictions;
    const options: CallOptions = enrolment
      ? { metadata: [["authorization", `Bearer ${enrolment}`]] }
      : { admission: SYSTEM };
    this.#stream = stream(channel, PolicyService.watch, options);
    this.#responses = this.#stream.responses[Symbol.asyncIterator]();
    t.teardown(() => this.#stream.cancel());
  }

  start(): void {
    this.#stream.send({ message: { $case: "start", value: { service: "", restrictions: [...this.#restrictions] } } });
  }

  /** Pings, and returns the pong; skips messages before it. */
  async ping(usedKeys: Buffer[] = []): Promise<Value<"pong">> {
    this.sendPing(usedKeys);
    for (;;) {
      const pong = await this.next("pong");
      if (pong.sequence === this.#sequence) return pong;
    }
  }

  sendPing(usedKeys: Buffer[] = []): void {
    this.#sequence += 1n;
    this.#stream.send({ message: { $case: "ping", value: { sequence: this.#sequence, usedKeys } } });
  }

  applied(revision: bigint): void {
    this.#stream.send({ message: { $case: "applied", value: { revision } } });
  }

  /** The next response of any kind. */
  async first(): Promise<WatchResponse["message"]> {
    return (await this.#responses.next()).value?.message;
  }

  /** The next response of a kind; skips others. */
  async next<C extends Case>(kind: C): Promise<Value<C>> {
    for (;;) {
      const { done, value } = await this.#responses.next();
      if (done) throw new Error(`the stream ended before ${kind}`);
      if (value.message?.$case === kind) return value.message.value as Value<C>;
    }
  }

  /** Says that the guard makes no more decisions. */
  end(): void {
    this.#stream.end();
  }

  /** As if the connection broke. */
  cancel(): void {
    this.#stream.cancel();
  }
}
