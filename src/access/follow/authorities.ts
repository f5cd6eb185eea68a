/**
 * The authorities that a process knows. All are equal: any of them serves guards, changes and registrations. They are in an
 * order that is drawn at random in each process, so that the guards of many processes share the authorities.
 */
import type { Logger } from "../../log.js";
import type { Channel } from "../../rpc/channel.js";
import { Failover } from "../../rpc/failover.js";

/** One authority's process. */
export interface AuthorityLink {
  /** Its address, for messages. */
  readonly name: string;
  readonly channel: Channel;
  /** Names its address in each line, where it is another process. */
  readonly log: Logger;
}

/** The authorities, and the calls that any of them answers. */
export class Authorities {
  /** To the authority that is preferred, and to another while that one cannot be reached. */
  readonly channel: Channel;
  readonly #failover = new Failover("the authority");
  /** Where each authority comes in the order, and its channel as calls have it. */
  readonly #known = new WeakMap<AuthorityLink, { readonly rank: number; readonly channel: Channel }>();
  readonly #listeners = new Set<() => void>();
  #all: readonly AuthorityLink[] = [];

  constructor(all: readonly AuthorityLink[]) {
    this.channel = this.#failover;
    this.set(all);
  }

  /** As they are now, in the order of this process. */
  get all(): readonly AuthorityLink[] {
    return this.#all;
  }

  /** Replaces them; those that were there before keep their places. The channels are the caller's. */
  set(all: readonly AuthorityLink[]): void {
    this.#all = [...all].sort((a, b) => this.#detailsOf(a).rank - this.#detailsOf(b).rank);
    this.#failover.update(new Map(this.#all.map((one) => [one.name, this.#detailsOf(one).channel])));
    for (const listener of this.#listeners) listener();
  }

  /** Calls go to this one from now on. */
  prefer(authority: AuthorityLink): void {
    this.#failover.prefer(this.#detailsOf(authority).channel);
  }

  /** Calls the listener whenever they have changed; the returned function ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #detailsOf(authority: AuthorityLink) {
    let details = this.#known.get(authority);
    if (details === undefined) {
      details = { rank: Math.random(), channel: borrowed(authority.channel) };
      this.#known.set(authority, details);
    }
    return details;
  }
}

/** The same channel, which the balancer over it cannot close. */
function borrowed(channel: Channel): Channel {
  return {
    open: (start, listener) => channel.open(start, listener),
    get state() {
      return channel.state;
    },
    close() {},
  };
}
