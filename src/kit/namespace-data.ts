/**
 * Keeps what services store for a namespace apart from what an earlier namespace of the same name has left, and deletes the
 * latter.
 *
 * In the store's keys a namespace is `acme@<id>`: it has an identity from its creation on. For `default`, and for those that a
 * version before identities created, it is the name alone. What is under another identity cannot be reached by any call.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { AuthorityAccess } from "../access/authority-access.js";
import { PolicyService } from "../gen/portico/auth/v1/policy.js";
import { repeated } from "../rpc/client.js";
import type { ServiceStore } from "../store/service-store.js";

/** When a process first deletes what is left, after it has opened the store, and how often then; in milliseconds. */
const FIRST_MS = 60_000;
const INTERVAL_MS = 600_000;
/** Entries that one commit deletes. */
const MAX_DELETED = 100;
/** Between two commits, so that others are not kept waiting; in milliseconds. */
const PAUSE_MS = 20;

/** The identities of the namespaces that there are, by their names; empty for one without. */
export type ListNamespaces = () => Promise<ReadonlyMap<string, string>>;

/** The segment of the store's keys that stands for a namespace. @param id as in Admission */
export function namespaceSegment(name: string, id: string | undefined): string {
  return id ? `${name}@${id}` : name;
}

/** Asks the authority. The answer is as of a moment after the question. */
export function listNamespacesOf(access: Pick<AuthorityAccess, "channel" | "metadata" | "admission">): ListNamespaces {
  const { channel, metadata, admission } = access;
  return async () => {
    const { namespaces } = await repeated(channel, PolicyService.listNamespaceIds, {}, { metadata, admission });
    return new Map(namespaces.map(({ name, id }) => [name, id ?? ""]));
  };
}

/**
 * Deletes all that is kept for namespaces that are gone and were gone the last time, too. Once is not enough: during a failover of
 * its database, an authority's list may be an older one. May be ended and begun again at any time, by several processes at once.
 * @param goneBefore what the last time returned
 * @returns the prefixes of what is kept for namespaces that are gone
 * @throws {StoreError} {StatusError} (rejects) where the store or the authority fails
 */
export async function deleteLeft(
  store: ServiceStore,
  list: ListNamespaces,
  { goneBefore, signal }: { readonly goneBefore: ReadonlySet<string>; readonly signal: AbortSignal },
): Promise<ReadonlySet<string>> {
  // What is in the store is read first: a namespace that has kept something was there before the authority is asked.
  const kept = await keptFor(store);
  if (kept.length === 0) return new Set();
  const present = await list();
  const gone = kept.filter(({ segment }) => isGone(segment, present)).map(({ prefix }) => prefix);
  for (const prefix of gone) if (goneBefore.has(prefix)) await deleteAll(store, prefix, signal);
  return new Set(gone);
}

/** Each service's namespaces that have entries. Keys begin with a service's name: with a digit or a small letter. */
async function keptFor(store: ServiceStore): Promise<{ prefix: string; segment: string }[]> {
  const kept: { prefix: string; segment: string }[] = [];
  for (let from = "0"; ; ) {
    const { entries } = await store.range({ from, afterFrom: false, to: "{", limit: 1, reverse: false });
    const [entry] = entries;
    if (entry === undefined) return kept;
    const [service, segment = ""] = entry.key.split("/", 2);
    const prefix = `${service}/${segment}/`;
    kept.push({ prefix, segment });
    from = endOf(prefix);
  }
}

function isGone(segment: string, present: ReadonlyMap<string, string>): boolean {
  const [name = "", id = ""] = segment.split("@", 2);
  const current = present.get(name);
  // A namespace without identity never comes after one that had: an authority of an older version has lost it then.
  return current === undefined || (current !== "" && current !== id);
}

async function deleteAll(store: ServiceStore, prefix: string, signal: AbortSignal): Promise<void> {
  const range = { from: prefix, afterFrom: false, to: endOf(prefix), limit: MAX_DELETED, reverse: false };
  for (;;) {
    signal.throwIfAborted();
    const { entries, more } = await store.range(range);
    if (entries.length > 0)
      await store.commit(entries.map(({ key }) => ({ key, condition: undefined, kind: "delete" })));
    if (!more) return;
    await pause(PAUSE_MS, undefined, { signal });
  }
}

/** The first key after all that begin with the prefix, which ends in `/`. */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

/** Deletes what is left of namespaces again and again, until it is closed. */
export class LeftData {
  readonly #store: ServiceStore;
  readonly #list: ListNamespaces;
  readonly #end = new AbortController();
  #timer: NodeJS.Timeout;
  #running: Promise<void> = Promise.resolve();
  #gone: ReadonlySet<string> = new Set();

  constructor(store: ServiceStore, list: ListNamespaces) {
    this.#store = store;
    this.#list = list;
    this.#timer = this.#after(FIRST_MS);
  }

  /** Resolves when the store is not used any more. */
  close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#end.abort();
    return this.#running;
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => {
      // What fails is done the next time: nothing can reach the data meanwhile.
      const last = { goneBefore: this.#gone, signal: this.#end.signal };
      this.#running = deleteLeft(this.#store, this.#list, last)
        .catch(() => new Set<string>())
        .then((gone) => {
          this.#gone = gone;
          if (!this.#end.signal.aborted) this.#timer = this.#after(INTERVAL_MS);
        });
    }, milliseconds).unref();
  }
}
