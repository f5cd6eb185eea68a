/**
 * The watch on one authority's registry, and the names of the instances that this registry knows.
 * While the registry cannot be reached, its names stay. A registry that comes back knows only the
 * instances that have registered again. So the other instances have some time to register again.
 */

import type { AuthorityLink } from "../../src/access/follow/authorities.js";
import type { SYSTEM } from "../../src/call/admission.js";
import type { Metadata } from "../../src/call/metadata.js";
import { type FollowAttempt, follow } from "../../src/follow.js";
import { type Instance, RegistryService, type WatchResponse } from "../../src/gen/portico/registry/v1/registry.js";
import { stream } from "../../src/rpc/client.js";
import type { Owners } from "./rpc-routes.js";

/** Pauses between attempts to reach the registry, in milliseconds. */
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5000;
const GRACE_MS = 10_000;

/** The preparations for news of the registry before the catalog applies it. */
export interface Arrival {
  /** Resolves when the news can be applied; undefined if it can be applied at once. */
  readonly ready: Promise<unknown> | undefined;
  /** Must be called when the news has been applied. */
  release(): void;
}

/** Is notified of what the registry announces. */
export interface WatchListener {
  /** News has arrived. `onNews` gets it when `ready` of the result has resolved. */
  onArrival(news: WatchResponse): Arrival;
  onNews(watch: RegistryWatch, news: WatchResponse): void;
  /** Called with the keys of the instances that the registry does not name any more. */
  onGone(watch: RegistryWatch, keys: readonly string[]): void;
  /** Called when the registry has named all its instances, and when it cannot be followed. */
  onTurn(watch: RegistryWatch): void;
}

export interface WatchOptions {
  /** The enrolment token, if the registry is in another process. */
  readonly metadata?: Metadata | undefined;
  readonly admission?: typeof SYSTEM | undefined;
  /**
   * How long an instance has to register again, if the registry does not know it after an
   * interruption; default 10 s.
   */
  readonly graceMs?: number;
}

/** The owner of each gRPC name, according to one registry. */
export interface KnownOwners {
  /**
   * The revision of the authority's log that last changed the owners. The registry with the higher
   * revision is right.
   */
  readonly revision: number;
  readonly byService: Owners;
}

/** The key of an instance, unique among the instances of all registries. */
export function keyOf({ service, id }: Pick<Instance, "service" | "id">): string {
  return `${service}/${id}`;
}

export class RegistryWatch {
  /** Keys of the instances that the registry knows, or knew when it was last reached. */
  readonly names = new Set<string>();
  /** The gRPC names that each service owns; undefined before the registry has sent them. */
  owners: KnownOwners | undefined;
  /** Whether the registry is followed now, and has named all its instances. */
  isComplete = false;
  /** Whether the registry has named all its instances once, or could not be reached. */
  hasResponded = false;
  /** Why the registry cannot be followed now. */
  fault: Error | undefined;
  #isFollowed = false;
  readonly #authority: AuthorityLink;
  readonly #options: WatchOptions;
  readonly #listener: WatchListener;
  readonly #closing = new AbortController();
  /**
   * Keys of instances that the registry named before the interruption, and has not named again yet.
   */
  #stale = new Set<string>();
  /** Owners as the present watch has sent them. */
  #sentOwners = new Map<string, readonly string[]>();
  #grace: NodeJS.Timeout | undefined;

  constructor(authority: AuthorityLink, options: WatchOptions, listener: WatchListener) {
    this.#authority = authority;
    this.#options = options;
    this.#listener = listener;
    void follow({
      source: "the registry",
      attempt: (attempt) => this.#watch(attempt),
      onFailure: ({ error, repeated, delayMs }) => {
        const about = { err: error, retryMs: Math.round(delayMs) };
        authority.log[repeated ? "debug" : "warn"](about, "the registry cannot be followed");
        this.#isFollowed = false;
        this.isComplete = false;
        this.fault = error;
        this.#turn();
      },
      firstDelayMs: FIRST_RETRY_MS,
      maxDelayMs: MAX_RETRY_MS,
      signal: this.#closing.signal,
    });
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#grace);
  }

  /**
   * Forgets an instance that has left another registry, unless this registry has named it since it
   * was last reached again.
   */
  forgetUnlessSent(key: string): void {
    if (!this.#isFollowed || this.#stale.has(key)) this.#forget(key);
  }

  async #watch({ signal, responded }: FollowAttempt): Promise<void> {
    const { metadata, admission } = this.#options;
    const watch = stream(this.#authority.channel, RegistryService.watch, { metadata, admission, signal });
    let applied = 0n;
    watch.send({ confirmed: applied });
    clearTimeout(this.#grace);
    this.#grace = undefined;
    this.#isFollowed = true;
    this.#stale = new Set(this.names);
    this.#sentOwners = new Map();
    for await (const news of watch.responses) {
      this.fault = undefined;
      const { ready, release } = this.#listener.onArrival(news);
      try {
        if (ready !== undefined) await ready;
        this.#take(news);
      } finally {
        release();
      }
      watch.send({ confirmed: ++applied });
      responded();
    }
  }

  #take(news: WatchResponse): void {
    if (this.#closing.signal.aborted) return;
    for (const instance of news.left) this.#forget(keyOf(instance));
    for (const instance of news.joined) {
      this.names.add(keyOf(instance));
      this.#stale.delete(keyOf(instance));
    }
    this.#takeOwners(news);
    if (news.complete) this.isComplete = true;
    this.#listener.onNews(this, news);
    if (!news.complete) return;
    this.#turn();
    if (this.#stale.size > 0) this.#grace ??= setTimeout(() => this.#dropStale(), this.#options.graceMs ?? GRACE_MS);
  }

  #takeOwners({ owners, ownersRevision }: WatchResponse): void {
    for (const { service, names } of owners) {
      if (names.length > 0) this.#sentOwners.set(service, names);
      else this.#sentOwners.delete(service);
    }
    const revision = Number(ownersRevision);
    if (revision === 0 || (owners.length === 0 && this.owners?.revision === revision)) return;
    this.owners = { revision, byService: new Map(this.#sentOwners) };
  }

  #dropStale(): void {
    this.#grace = undefined;
    const gone = [...this.#stale];
    for (const key of gone) this.#forget(key);
    this.#listener.onGone(this, gone);
  }

  #forget(key: string): void {
    this.names.delete(key);
    this.#stale.delete(key);
  }

  #turn(): void {
    this.hasResponded = true;
    this.#listener.onTurn(this);
  }
}
