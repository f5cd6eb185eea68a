/**
 * The running version of a service, and its replacement: the old version stops when the new one has
 * registered.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { DevGateway } from "./dev-gateway.js";
import { Version, type VersionOptions } from "./version.js";

/** Maximum time in which a new version must register, in milliseconds. */
const START_MS = 15_000;
/**
 * Maximum time that an old version has to leave the registry, in milliseconds. Its calls may take
 * longer.
 */
const LEAVE_MS = 2_000;

export interface RunningOptions extends Omit<VersionOptions, "onLine"> {
  readonly instances: DevGateway["instances"];
  /**
   * Called with each line that a version prints. Lines that are printed before the version serves
   * are passed once it serves.
   */
  readonly onLine: (line: string) => void;
  /** Called when the running version has ended by itself. */
  readonly onEnded: (how: string, printed: readonly string[]) => void;
}

/**
 * The result of starting a new version: it serves under a name, or it ended or never registered, or
 * it was abandoned for a newer version.
 */
export type RunOutcome =
  | { readonly service: string }
  | { readonly failure: string; readonly printed: readonly string[] }
  | "given up";

/** An instance in the registry. */
interface Registered {
  readonly service: string;
  readonly id: string;
}

/** A version whose process was started. */
interface Started {
  readonly version: Version;
  /** The last lines that it has printed. */
  readonly printed: readonly string[];
  /** Passes on the lines printed so far, and then each further line. */
  show(): void;
}

export class RunningService {
  readonly #options: RunningOptions;
  readonly #stopping = new Set<Promise<void>>();
  #current: { readonly version: Version; readonly instance: Registered } | undefined;
  /** The process of the next version. */
  #next: Started | undefined;

  constructor(options: RunningOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Starts a version from the last build.
   * @param names names under which it may register.
   * @param signal abandons the version when aborted.
   */
  async replace(names: readonly string[], signal: AbortSignal): Promise<RunOutcome> {
    const { instances } = this.#options;
    const known = new Set(names.flatMap((name) => [...instances.of(name)]));
    this.prepare();
    const { version, printed, show } = this.#next!;
    this.#next = undefined;
    version.run();
    const fresh = (): Registered | undefined =>
      names
        .flatMap((service) => [...instances.of(service)].map((id) => ({ service, id })))
        .find(({ id }) => !known.has(id));
    const instance = await this.#first(fresh, version, signal);
    if (instance === undefined) {
      const failure = version.how ?? `has not registered within ${START_MS / 1000} s`;
      version.kill();
      return signal.aborted ? "given up" : { failure, printed };
    }
    const old = this.#current;
    const current = { version, instance };
    this.#current = current;
    if (old !== undefined) await this.#retire(old);
    show();
    void version.ended.then((how) => {
      if (this.#current !== current) return;
      this.#current = undefined;
      this.#options.onEnded(how, printed);
    });
    return { service: instance.service };
  }

  /** Starts the process of the next version, unless it has been started already. */
  prepare(): void {
    if (this.#next === undefined || this.#next.version.how !== undefined) this.#next = this.#start();
  }

  /** Stops every version. */
  async close(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    this.#next?.version.kill();
    if (current !== undefined) this.#stop(current.version);
    await Promise.all(this.#stopping);
  }

  #start(): Started {
    const printed: string[] = [];
    let onLine = (_line: string): void => {};
    const version = new Version({
      ...this.#options,
      onLine(line) {
        if (printed.push(line) > MAX_PRINTED) printed.shift();
        onLine(line);
      },
    });
    const show = (): void => {
      for (const line of printed) this.#options.onLine(line);
      onLine = this.#options.onLine;
    };
    return { version, printed, show };
  }

  /**
   * Resolves with the instance that `find` returns, or with undefined if the version ends first or
   * too much time passes.
   */
  async #first(
    find: () => Registered | undefined,
    version: Version,
    signal: AbortSignal,
  ): Promise<Registered | undefined> {
    const found = new AbortController();
    const late = wait(START_MS, undefined, { signal: AbortSignal.any([signal, found.signal]) }).catch(() => {});
    let isOver = false;
    const over = Promise.race([late, version.ended]).then(() => {
      isOver = true;
    });
    try {
      for (;;) {
        const { change } = this.#options.instances;
        const instance = find();
        if (instance !== undefined || isOver) return instance;
        await Promise.race([change, over]);
      }
    } finally {
      found.abort();
    }
  }

  /** Stops a version. Resolves when it takes no new calls. */
  async #retire({ version, instance }: { version: Version; instance: Registered }): Promise<void> {
    const { instances } = this.#options;
    const stopped = this.#stop(version);
    const late = new AbortController();
    const over = Promise.race([stopped, wait(LEAVE_MS, undefined, { signal: late.signal }).catch(() => {})]);
    let isOver = false;
    void over.then(() => {
      isOver = true;
    });
    while (instances.of(instance.service).has(instance.id) && !isOver) await Promise.race([instances.change, over]);
    late.abort();
  }

  #stop(version: Version): Promise<void> {
    const stopped = version.stop().finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
    return stopped;
  }
}

/** The number of printed lines that are stored for each version. They are shown if it ends. */
const MAX_PRINTED = 100;
