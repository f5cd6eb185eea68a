/**
 * Which of several values, such as certificates, belongs to a name that a client asks for. A name
 * may begin with `*.`, which stands for exactly one label (RFC 6125 §6.4.3). The name itself counts
 * before such a name, and an earlier value before a later one.
 */
export class ServerNames<T> {
  readonly #values = new Map<string, T>();

  /** @param entries names in lower case, and their value */
  constructor(entries: Iterable<readonly [names: readonly string[], value: T]>) {
    for (const [names, value] of entries) {
      for (const name of names) if (!this.#values.has(name)) this.#values.set(name, value);
    }
  }

  /** The value of a name in any case; undefined if no value has it. */
  find(name: string): T | undefined {
    const asked = name.toLowerCase();
    const dot = asked.indexOf(".");
    return this.#values.get(asked) ?? (dot > 0 ? this.#values.get(`*${asked.slice(dot)}`) : undefined);
  }
}
