/** Wall clocks that a test sets, by libfaketime. Monotonic clocks stay. */
import { existsSync, renameSync, writeFileSync } from "node:fs";

const LIBFAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
const PRELOADED = { LD_PRELOAD: LIBFAKETIME, FAKETIME_DONT_FAKE_MONOTONIC: "1", DONT_FAKE_MONOTONIC: "1" };

/** Why no clock can be set here; undefined if it can. */
export function noClocks(): string | undefined {
  return existsSync(LIBFAKETIME) ? undefined : "libfaketime is not installed (Debian: faketime)";
}

/** The environment of a process whose clock is set by an offset, such as `+2h`. */
export function at(offset: string): Record<string, string> {
  return { ...PRELOADED, FAKETIME: offset };
}

/** The clock of one process, set while the process runs. */
export class Clock {
  readonly #file: string;

  /** @param file where the offset is */
  constructor(file: string) {
    this.#file = file;
    this.set("+0s");
  }

  /** The environment of the process. */
  get env(): Record<string, string> {
    return { ...PRELOADED, FAKETIME_TIMESTAMP_FILE: this.#file, FAKETIME_NO_CACHE: "1" };
  }

  /** Sets the clock. @param offset from the machine's time, such as `-30m` */
  set(offset: string): void {
    // A process must not read half of it.
    writeFileSync(`${this.#file}.new`, `${offset}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
