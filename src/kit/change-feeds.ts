/**
 * The logs of changes that the watches of a process read. Watches of one log share its reads. A
 * write of this process wakes them at once, a write of another process by a hint of the engine, and
 * in any case after POLL_MS. Only what is read counts.
 */
import { Code, outOfRange, StatusError } from "../errors.js";
import {
  CHANGE_TTL_MS,
  changeKey,
  MAX_CHANGES,
  readChange,
  revisionOf,
  type StoredChange,
} from "../store/change-log.js";
import type { KeyValueStore } from "../store/store.js";
import type { CallReads, StoreReads } from "./store-reads.js";

/** How often the watches of a log look for changes that they were not notified of. */
const POLL_MS = 1000;
/** The number of changes that are read at once. */
const PAGE = 20;
const HOUR_MS = 3_600_000;

/** A change with its revision. */
export interface LoggedChange extends StoredChange {
  readonly revision: number;
}

/** The logs that the watches of a process read. */
export class ChangeFeeds {
  readonly #reads: StoreReads;
  readonly #feeds = new Map<string, Feed>();
  readonly #closing = new AbortController();

  /** @param reads the reads of the process */
  constructor(reads: StoreReads) {
    this.#reads = reads;
  }

  /** The number of logs that are followed. */
  get size(): number {
    return this.#feeds.size;
  }

  /** Call it after a commit of this process has appended to the log. */
  notify(log: string): void {
    this.#feeds.get(log)?.wake();
  }

  /** Begins to listen to a log, until `end` is called or the signal is aborted. */
  listen(store: KeyValueStore, { log, namespace, signal }: Listened): Listener {
    let feed = this.#feeds.get(log);
    if (feed === undefined) {
      const closing = this.#closing.signal;
      const reads = this.#reads.of({ caller: undefined, namespace, clientAddress: "watches", signal: closing });
      feed = new Feed(store, { log, reads, closing, onUnused: () => this.#feeds.delete(log) });
      this.#feeds.set(log, feed);
    }
    return feed.listen(signal);
  }

  /** Ends all watches. */
  close(): void {
    const reason = "the service is stopping; watch again after the last revision";
    this.#closing.abort(new StatusError(Code.UNAVAILABLE, reason));
    for (const feed of this.#feeds.values()) feed.wake();
  }
}

/** What a watch listens to. */
interface Listened {
  readonly log: string;
  readonly namespace: string;
  /** Of the call that watches. */
  readonly signal: AbortSignal;
}

/** A watch of a log. It listens first, then reads, then sleeps, so it misses no change. */
export interface Listener {
  /** Whether `end` was called, or the signal was aborted. */
  readonly isEnded: boolean;
  /**
   * The next changes after a revision; none if there are none yet.
   * @throws {StatusError} (rejects) OUT_OF_RANGE if the log does not have the change after this
   *   revision, UNAVAILABLE if the process stops
   * @throws {StoreError} (rejects)
   */
  read(after: number): Promise<readonly LoggedChange[]>;
  /** Resolves when there may be changes since the last `read` began, or the watch has ended. */
  sleep(): Promise<void>;
  end(): void;
}

interface FeedOptions {
  readonly log: string;
  readonly reads: CallReads;
  readonly closing: AbortSignal;
  readonly onUnused: () => void;
}

/** One log, as long as it has listeners. */
class Feed {
  readonly #store: KeyValueStore;
  readonly #options: FeedOptions;
  readonly #listeners = new Set<() => void>();
  /** The running reads, by the revision after which they read. */
  readonly #reading = new Map<number, Promise<readonly LoggedChange[]>>();
  /** Keeps the process running while a watch sleeps, but not for one that is not read. */
  readonly #timer: NodeJS.Timeout;
  #sleeping = 0;
  readonly #unfollow: () => void;

  constructor(store: KeyValueStore, options: FeedOptions) {
    this.#store = store;
    this.#options = options;
    this.#timer = setInterval(() => this.wake(), POLL_MS).unref();
    this.#unfollow = store.follow(options.log, () => this.wake());
  }

  wake(): void {
    // A read that has begun may miss the change.
    this.#reading.clear();
    for (const wake of [...this.#listeners]) wake();
  }

  listen(signal: AbortSignal): Listener {
    let isNotified = false;
    let resume = (): void => {};
    const wake = (): void => {
      isNotified = true;
      resume();
    };
    const listener = {
      isEnded: false,
      read: async (after: number) => {
        this.#options.closing.throwIfAborted();
        isNotified = false;
        return this.#read(after);
      },
      sleep: async () => {
        if (isNotified || listener.isEnded) return;
        this.#sleeping++;
        this.#timer.ref();
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
        this.#sleeping--;
        if (this.#sleeping === 0) this.#timer.unref();
      },
      end: () => {
        listener.isEnded = true;
        signal.removeEventListener("abort", listener.end);
        wake();
        if (this.#listeners.delete(wake) && this.#listeners.size === 0) this.#close();
      },
    };
    this.#listeners.add(wake);
    signal.addEventListener("abort", listener.end);
    if (signal.aborted) listener.end();
    return listener;
  }

  #close(): void {
    clearInterval(this.#timer);
    this.#unfollow();
    this.#options.onUnused();
  }

  #read(after: number): Promise<readonly LoggedChange[]> {
    const running = this.#reading.get(after);
    if (running !== undefined) return running;
    const reading = this.#readAfter(after).finally(() => {
      if (this.#reading.get(after) === reading) this.#reading.delete(after);
    });
    this.#reading.set(after, reading);
    return reading;
  }

  async #readAfter(after: number): Promise<readonly LoggedChange[]> {
    const { log, reads } = this.#options;
    const [head] = await this.#store.get([log]);
    const last = Number(head?.value);
    if (last === after) return [];
    const range = { from: changeKey(log, after), afterFrom: true, to: changeKey(log, last + 1), limit: PAGE };
    const read = () => this.#store.range(range);
    const { entries } = await reads.page(read, (entry) => ({ ...readChange(entry), revision: revisionOf(entry) }));
    // The log is read after its last revision, so it has this change unless it was dropped.
    if (entries[0]?.revision === after + 1) return entries;
    throw outOfRange(
      `after: the changes after revision ${after} are not kept (only the last ${MAX_CHANGES}, for ${CHANGE_TTL_MS / HOUR_MS} hours each, ` +
        "are): get the revision, read the entries again, and watch after that revision",
    );
  }
}
