/** A value outside of components. A component that uses it is drawn again when it changes. */
import { useEffect, useState } from "preact/hooks";

export class Store<Value> {
  #value: Value;
  readonly #listeners = new Set<(value: Value) => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    this.#value = value;
    for (const listener of this.#listeners) listener(value);
  }

  /** Calls a listener at each change. @returns a function that stops it */
  follow(listener: (value: Value) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState(() => store.value);
  useEffect(() => {
    setValue(() => store.value);
    return store.follow((changed) => setValue(() => changed));
  }, [store]);
  return value;
}
