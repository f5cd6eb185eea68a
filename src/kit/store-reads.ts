/**
 * The reads of the store that the services of a process share. What they return draws on the memory of the process, reads of
 * more than one entry take turns, and so do searches, which make many of them. Turns are fair between callers.
 */

import { resourceExhausted } from "../errors.js";
import { type ConnectionMemory, MemoryBudget } from "../memory/memory-budget.js";
import { mapPaced } from "../overload/pace.js";
import type { Context } from "../rpc/service.js";
import type { StoredEntry } from "../store/store.js";

import { FairTurns } from "./fair-turns.js";

/** Reads of more than one entry: as many at once as an engine has connections for reads. Each has up to some 5 MiB. */
const PAGES = { atOnce: 4, atOnceOfGroup: 2, maxWaiting: 4096, maxWaitingOfGroup: 1024 };
/** A search keeps what it has found while others read. */
const SEARCHES = { atOnce: 8, atOnceOfGroup: 4, maxWaiting: 1024, maxWaitingOfGroup: 256 };
/** For how long JSON of entries is read before other work has its turn, in milliseconds: several pages are read at once. */
const MAX_PARSE_MS = 2;
/** Bytes that a search may keep. */
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

  /** @param budget the memory of the process */
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

/** What is known of a call that reads. */
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
   * Makes something of an entry that was read.
   * @throws {StatusError} RESOURCE_EXHAUSTED where it does not fit into the memory of the process
   */
  one<R>(entry: StoredEntry, map: (entry: StoredEntry) => R): R {
    const bytes = this.#reserve([entry]);
    this.#releaseSoon(bytes);
    return map(entry);
  }

  /**
   * Reads in the turn of the caller, and makes something of each entry.
   * @throws {StatusError} (rejects) as `one`, and while too many wait
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

  /** Reads a number of entries in the turn of the caller. */
  count(read: () => Promise<number>): Promise<number> {
    return this.#shared.pages.run(this.#caller, this.#call, read);
  }

  /** Runs a search in the turn of the caller, with memory for what it keeps. @throws {StatusError} (rejects) as `page` */
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

  /** Releases bytes once what awaits them has gone on. What it makes of them for its client is reserved where it is sent. */
  #releaseSoon(bytes: number): void {
    setImmediate(() => this.#shared.memory.release(bytes));
  }
}

function noMemory() {
  return resourceExhausted(
    "the service has no memory left for what this call reads: ask for less at once, or try again",
  );
}
