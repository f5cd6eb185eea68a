/** A helper of generated code for map fields. */

/**
 * Sets an own property of the object. A plain assignment to `__proto__` would set the object's
 * prototype and lose the entry.
 */
export function setEntry<V>(map: { [key: string | number]: V }, key: string | number, value: V): void {
  if (key !== "__proto__") map[key] = value;
  else Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}
