/**
 * The reads of the store that the services of a process share. Their results reserve memory from
 * the budget of the process. Reads of more than one entry take turns, and so do searches, which
 * make many reads. The turns are fair between callers.
 */

import { resourceExhausted } from "../errors.js";
import { type ConnectionMemory, MemoryBudget } from "../memory/memory-budget.js";
import { mapPaced } from "../overload/pace.js";
import type { Context } from "../rpc/service.js";
import type { StoredEntry } from "../store/store.js";

import { FairTurns } from "./fair-turns.js";

/**
 * Reads of more than one entry, of up to 5 MiB each. As many run at once as a process has
 * connections for reads to Postgres.
 */
const PAGES = { atOnce: 4, atOnceOfGroup: 2, maxWaiting: 4096, maxWaitingOfGroup: 1024 };
/** A search keeps its results in memory while other searches read. */
const SEARCHES = { atOnce: 8, atOnceOfGroup: 4, maxWaiting: 1024, maxWaitingOfGroup: 256 };
/**
 * How long JSON of entries is parsed before other work runs, in milliseconds. Several pages may be
 * read at once.
 */
const MAX_PARSE_MS = 2;
/** How much a search may keep in memory, in bytes. */
const SEARCH_BYTES = 4 * 1024 ** 2;

export class StoreReads {
  readonly #pages = new FairTurns({
    ...PAGES,
    refusal: "too many reads of this caller wait: make fewer calls at once",
  });
  readonly #searches = new FairTurns({
    ...SEARCHES,
    refusal: "too many searches of this caller wait: make fewer at once, or index the fields that they compare",
  });
  readonly #memory: ConnectionMemory;

  /** @param budget the memory budget of the process */
  constructor(budget = new MemoryBudget()) {
    this.#memory = budget.openUpstream();
  }

  /** The reads of a call. */
  of(call: ReadingCall): CallReads {
    return new CallReads(call, { pages: this.#pages, searches: this.#searches, memory: this.#memory });
  }

  close(): void {
    this.#memory.close();
  }
}

/** The properties of a call that its reads need. */
type ReadingCall = Pick<Context, "caller" | "namespace" | "clientAddress" | "signal">;

interface Shared {
  readonly pages: FairTurns;
  readonly searches: FairTurns;
  readonly memory: ConnectionMemory;
}

/** The reads of one call. */
export class CallReads {
  readonly #call: ReadingCall;
  readonly #shared: Shared;

  constructor(call: ReadingCall, shared: Shared) {
    this.#call = call;
    this.#shared = shared;
  }

  /**
   * Applies `map` to an entry that was read.
   * @throws {StatusError} RESOURCE_EXHAUSTED if the entry does not fit into the memory budget of
   *   the process
   */
  one<R>(entry: StoredEntry, map: (entry: StoredEntry) => R): R {
    const bytes = this.#reserve([entry]);
    this.#releaseSoon(bytes);
    return map(entry);
  }

  /**
   * Reads in a turn of the caller, and applies `map` to each entry.
   * @throws {StatusError} (rejects) as `one`, and while too many reads wait
   */
  page<T extends { readonly entries: readonly (StoredEntry | undefined)[] }, R>(
    read: () => Promise<T>,
    map: (entry: T["entries"][number]) => R,
  ): Promise<{ readonly found: T; readonly entries: R[] }> {
    return this.#shared.pages.run(this.#caller, this.#call, async () => {
      const found = await read();
      const bytes = this.#reserve(found.entries);
      try {
        return { found, entries: await mapPaced(found.entries, map, MAX_PARSE_MS) };
      } finally {
        this.#releaseSoon(bytes);
      }
    });
  }

  /** Counts entries in a turn of the caller. */
  count(read: () => Promise<number>): Promise<number> {
    return this.#shared.pages.run(this.#caller, this.#call, read);
  }

  /**
   * Runs a search in a turn of the caller, with memory for what it keeps.
   * @throws {StatusError} (rejects) as `page`
   */
  search<T>(act: () => Promise<T>): Promise<T> {
    const { searches, memory } = this.#shared;
    return searches.run(this.#caller, this.#call, async () => {
      if (!memory.tryReserve(SEARCH_BYTES)) throw noMemory();
      try {
        return await act();
      } finally {
        this.#releaseSoon(SEARCH_BYTES);
      }
    });
  }

  get #caller(): string {
    const { caller, namespace, clientAddress } = this.#call;
    return `${namespace}/${caller?.account || caller?.enrolment || clientAddress}`;
  }

  #reserve(entries: readonly (StoredEntry | undefined)[]): number {
    let bytes = 0;
    for (const entry of entries) if (entry !== undefined) bytes += entry.key.length + entry.value.length;
    if (!this.#shared.memory.tryReserve(bytes)) throw noMemory();
    return bytes;
  }

  /**
   * Releases the bytes after the code that awaits them has run. A response that is made from them
   * reserves its own memory when it is sent.
   */
  #releaseSoon(bytes: number): void {
    setImmediate(() => this.#shared.memory.release(bytes));
  }
}

function noMemory() {
  return resourceExhausted(
    "the service has no memory left for what this call reads: ask for less at once, or try again",
  );
}
