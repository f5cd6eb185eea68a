/**
 * A process hints to the other processes on its database that it has written entries, by Postgres's
 * NOTIFY and LISTEN.
 *
 * Hints use their own connection and are sent after the commit. A NOTIFY inside the commit's
 * transaction would hold a lock of the whole database until the disk and the standbys have
 * responded, so commits would wait for each other. Hints may be lost: after each loss of the
 * connection, all listeners are called.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

/** The time between a failure and the next attempt to connect, in milliseconds. */
const RETRY = 500;
/** How often an idle connection is tested, in milliseconds. */
const HEARTBEAT = 10_000;

interface Options {
  /** Opens a connection. `Hints` ends it. */
  readonly connect: () => Promise<pg.Client>;
  /** An identifier, quoted or not. */
  readonly channel: string;
}

/**
 * The connection for hints. The first listener or hint opens it. It is reopened after a loss, until
 * `close`.
 */
export class Hints {
  readonly #options: Options;
  readonly #listeners = new Set<{ readonly topic: string; readonly listener: () => void }>();
  /** The topics that other processes must still be notified of. */
  readonly #pending = new Set<string>();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #wake = (): void => undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Calls the listener when another process notifies of the topic, until the returned function is
   * called.
   */
  follow(topic: string, listener: () => void): () => void {
    const entry = { topic, listener };
    this.#listeners.add(entry);
    this.#running ??= this.#run();
    return () => this.#listeners.delete(entry);
  }

  /** Notifies other processes of a topic, soon. */
  notify(topic: string): void {
    this.#pending.add(topic);
    this.#running ??= this.#run();
    this.#wake();
  }

  /** Ends the connection, or the attempt to open one. */
  close(): void {
    this.#closing.abort();
    this.#wake();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#connected().catch(() => undefined);
      await sleep(RETRY, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Listens and notifies until the connection is lost. */
  async #connected(): Promise<void> {
    const { connect, channel } = this.#options;
    const client = await connect();
    const { signal } = this.#closing;
    const end = (): void => void client.end();
    signal.addEventListener("abort", end);
    try {
      const own: number | undefined = (await client.query("SELECT pg_backend_pid() AS pid")).rows[0]?.pid;
      client.on("notification", ({ payload, processId }) => {
        if (processId !== own) this.#callListeners((topic) => topic === payload);
      });
      client.on("end", () => this.#wake());
      await client.query("SET synchronous_commit = off");
      await client.query(`LISTEN "${channel}"`);
      this.#callListeners(() => true);
      while (!signal.aborted) {
        const topics = [...this.#pending];
        this.#pending.clear();
        await client.query("SELECT pg_notify($1, topic) FROM unnest($2::text[]) AS topic", [channel, topics]);
        if (this.#pending.size === 0) await this.#woken();
      }
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  }

  #callListeners(concerns: (topic: string) => boolean): void {
    for (const { topic, listener } of [...this.#listeners]) if (concerns(topic)) listener();
  }

  /** Resolves when there are topics to send, or the connection must be tested. */
  async #woken(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, HEARTBEAT).unref();
      this.#wake = resolve;
    });
    clearTimeout(timer);
    this.#wake = () => undefined;
  }
}
