/** The iterator of `watch`: reads a log of changes, page by page, and waits at its end. */
import type { Listener, LoggedChange } from "./change-feeds.js";
import type { ChangeWatch, EntryChange } from "./store.js";

/** What a watch reads. */
interface LogWatchOptions {
  readonly listen: () => Promise<Listener>;
  /** Reads the next changes. */
  readonly read: (listener: Listener, after: number) => Promise<readonly LoggedChange[]>;
  readonly after: number | Promise<number>;
  /** The part of a key in the store that stands before the collection's own key. */
  readonly place: string;
  /** Only collection keys with this prefix. */
  readonly prefix: string;
}

export function watchLog<T>(options: LogWatchOptions): ChangeWatch<T> {
  let listener: Listener | undefined;
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    listener?.end();
  };
  const changes = (async function* () {
    listener = await options.listen();
    if (isEnded) listener.end();
    try {
      yield* changesOf<T>(listener, options);
    } finally {
      listener.end();
    }
  })();
  return {
    next: () => changes.next(),
    return() {
      end();
      return changes.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* changesOf<T>(
  listener: Listener,
  { read, after: start, place, prefix }: LogWatchOptions,
): AsyncGenerator<EntryChange<T>, void> {
  let after = await start;
  while (!listener.isEnded) {
    const changes = await read(listener, after);
    for (const { revision, key: stored, value } of changes) {
      if (listener.isEnded) return;
      after = revision;
      const key = stored.slice(place.length);
      if (key.startsWith(prefix)) yield { revision, key, value: value === undefined ? value : JSON.parse(value) };
    }
    if (changes.length === 0) await listener.sleep();
  }
}
