/**
 * The authorities that a process knows. All are equal: each serves guards, changes and
 * registrations. Each process orders them at random, so that the guards of many processes share the
 * authorities.
 */
import type { Logger } from "../../log.js";
import type { Channel } from "../../rpc/channel.js";
import { Failover } from "../../rpc/failover.js";

/** One authority's process. */
export interface AuthorityLink {
  /** Its address, for messages. */
  readonly name: string;
  readonly channel: Channel;
  /** States its address in each line, if the authority is another process. */
  readonly log: Logger;
}

/** The authorities, and a channel for calls that any of them can serve. */
export class Authorities {
  /** Leads to the preferred authority, or to another one while that cannot be reached. */
  readonly channel: Channel;
  readonly #failover = new Failover("the authority");
  /** The position of each authority in the order, and its channel for calls. */
  readonly #known = new WeakMap<AuthorityLink, { readonly rank: number; readonly channel: Channel }>();
  readonly #listeners = new Set<() => void>();
  #all: readonly AuthorityLink[] = [];

  constructor(all: readonly AuthorityLink[]) {
    this.channel = this.#failover;
    this.set(all);
  }

  /** The current authorities, in the order of this process. */
  get all(): readonly AuthorityLink[] {
    return this.#all;
  }

  /**
   * Replaces the authorities; those that were known before keep their positions. The caller of this
   * function closes their channels.
   */
  set(all: readonly AuthorityLink[]): void {
    this.#all = [...all].sort((a, b) => this.#detailsOf(a).rank - this.#detailsOf(b).rank);
    this.#failover.update(new Map(this.#all.map((one) => [one.name, this.#detailsOf(one).channel])));
    for (const listener of this.#listeners) listener();
  }

  /** Makes calls go to this authority from now on. */
  prefer(authority: AuthorityLink): void {
    this.#failover.prefer(this.#detailsOf(authority).channel);
  }

  /**
   * Calls the listener whenever the authorities have changed, until the returned function is
   * called.
   */
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

/** The same channel, without its `close`: the Failover that uses it must not close it. */
function borrowed(channel: Channel): Channel {
  return {
    open: (start, listener) => channel.open(start, listener),
    get state() {
      return channel.state;
    },
    close() {},
  };
}
