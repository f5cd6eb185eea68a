/**
 * One stream from one authority (Policy.Watch): the rules that it has brought, and its pings.
 * policy.ts decides whether the guard uses them.
 */
import { PolicyService, type WatchRequest, type WatchResponse } from "../../gen/portico/auth/v1/policy.js";
import { type CallStream, stream } from "../../rpc/client.js";
import { RESTRICTIONS } from "../decide/restrictions.js";
import type { AuthorityLink } from "./authorities.js";
import type { AuthorityAccess } from "./authority-access.js";
import { type AnsweredPing, Pings } from "./lease.js";
import { type Applied, PolicyState } from "./policy-state.js";

/** How long the authority has to end the stream after we have ended our side, in milliseconds. */
const LEAVE_TIME = 1_000;

/** Notified of what arrives on a stream, in order. */
export interface PolicyStreamListener {
  /** A message has changed the stream's state. */
  onApplied(stream: PolicyStream, applied: Applied): void;
  /** A pong has arrived, and its revision is applied to the stream's state. */
  onPong(stream: PolicyStream, response: AnsweredPing): void;
  /** The stream is late, or its authority stops: see `isLate` and `isStopping`. */
  onTrouble(stream: PolicyStream): void;
  /** The last event: why the stream has ended. */
  onEnd(stream: PolicyStream, error: Error | undefined): void;
}

/** How a stream is opened. */
export interface PolicyStreamOptions {
  readonly authority: AuthorityLink;
  readonly access: Pick<AuthorityAccess, "metadata" | "admission" | "service">;
  /** In milliseconds, until the first pong states it. */
  readonly leaseTime: number;
  readonly takeUsedKeys: () => Buffer[];
  /** The revision that the guard has applied, on any stream; 0 for none. */
  readonly applied: () => bigint;
  readonly listener: PolicyStreamListener;
}

export class PolicyStream {
  readonly authority: AuthorityLink;
  readonly state = new PolicyState();
  /** Its authority has announced that it will stop. */
  isStopping = false;
  /**
   * When the last message arrived, or the stream was opened, in milliseconds of
   * `performance.now()`.
   */
  heard = performance.now();
  /** How many messages of this stream the guard has applied and not yet acknowledged. */
  unacknowledged = 0;
  readonly #call: CallStream<WatchRequest, WatchResponse>;
  readonly #pings: Pings;
  readonly #listener: PolicyStreamListener;
  #open = true;
  #failure: Error | undefined;
  #leaving: NodeJS.Timeout | undefined;

  constructor({ authority, access, leaseTime, takeUsedKeys, applied, listener }: PolicyStreamOptions) {
    this.authority = authority;
    this.#listener = listener;
    const { metadata, admission, service = "" } = access;
    this.#call = stream(authority.channel, PolicyService.watch, { metadata, admission });
    this.#pings = new Pings({
      send: (request) => this.#call.send(request),
      cancel: () => this.#call.cancel(),
      takeUsedKeys,
      isAcknowledged: () => this.unacknowledged === 0,
      applied,
      onLate: () => listener.onTrouble(this),
      log: authority.log,
    });
    void this.#run(leaseTime, service);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Whether the next ping is due and there is still no pong, nor any other message since. */
  get isLate(): boolean {
    return this.#pings.isLate;
  }

  /** Sets how often to ping, from the lease's time in milliseconds. */
  setPace(leaseTime: number): void {
    this.#pings.setPace(leaseTime);
  }

  /** Reports to the authority that the state is applied. */
  acknowledge(revision: bigint): void {
    if (this.#leaving !== undefined) return;
    this.#call.send({ message: { $case: "applied", value: { revision } } });
  }

  /**
   * Reports to the authority that this guard no longer decides by its lease, so it need not wait
   * for it.
   */
  leave(): void {
    if (!this.#open || this.#leaving !== undefined) return;
    this.#pings.stop();
    this.#call.end();
    this.#leaving = setTimeout(() => this.#call.cancel(), LEAVE_TIME);
  }

  /** Ends the stream because of an error. The guard may still decide by a lease from it. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#call.cancel();
  }

  async #run(leaseTime: number, service: string): Promise<void> {
    try {
      this.#call.send({ message: { $case: "start", value: { service, restrictions: [...RESTRICTIONS] } } });
      this.#pings.start(leaseTime);
      for await (const { message } of this.#call.responses) {
        this.heard = performance.now();
        this.#pings.heard();
        if (this.#leaving === undefined) this.#take(message);
        if (!this.#open) return;
      }
    } catch (error) {
      this.#failure ??= error as Error;
    }
    this.#finish();
  }

  #finish(): void {
    if (!this.#open) return;
    this.#open = false;
    clearTimeout(this.#leaving);
    this.#pings.stop();
    this.#call.cancel();
    this.#listener.onEnd(this, this.#failure);
  }

  #take(message: WatchResponse["message"]): void {
    if (message?.$case === "pong") {
      this.#pings.responded(message.value);
      if (message.value.stopping && !this.isStopping) {
        this.isStopping = true;
        this.#listener.onTrouble(this);
      }
    } else {
      const applied = this.#apply(message);
      if (applied !== undefined) this.#listener.onApplied(this, applied);
    }
    for (const response of this.#pings.takePongs(this.state.revision)) this.#listener.onPong(this, response);
  }

  /**
   * A message that does not fit may be applied in part. The stream then ends in the same turn,
   * before a call is decided by that part.
   */
  #apply(message: WatchResponse["message"]): Applied | undefined {
    try {
      return this.state.apply(message);
    } catch (error) {
      this.#failure ??= error as Error;
      this.#finish();
      return undefined;
    }
  }
}
