/** Lets callers wait for news, such as a hint of the store that something was written. */
export class News {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next news, or after `ms`. */
  next(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(ms, 0));
      this.#waiting.add(done);
    });
  }

  tell(): void {
    for (const done of [...this.#waiting]) done();
  }
}
