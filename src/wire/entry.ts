/** What generated code writes into the object of a map field. */

/** Sets a property of the object itself. To assign `__proto__` would set its prototype, and lose the entry. */
export function setEntry<V>(map: { [key: string | number]: V }, key: string | number, value: V): void {
  if (key !== "__proto__") map[key] = value;
  else Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}
