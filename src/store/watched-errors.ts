/** Watches a store for operations that fail. */
import { type KeyValueStore, StoreError } from "./store.js";

/**
 * The same store.
 * @param onError is called for each operation that rejects with StoreError
 */
export function watchErrors(store: KeyValueStore, onError: () => void): KeyValueStore {
  const watch = (error: unknown): void => {
    if (error instanceof StoreError) onError();
  };
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const result: unknown = member.apply(target, args);
        if (result instanceof Promise) result.catch(watch);
        return result;
      };
    },
  });
}
