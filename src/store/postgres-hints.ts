/**
 * Hints that entries were written, among the processes on a database: NOTIFY and LISTEN of Postgres.
 *
 * They travel by a connection of their own, after the commit that they tell of. In the commit's own transaction a NOTIFY
 * would hold a lock of the whole database until the disk and the standbys have answered, and so commits would wait for
 * each other. Hints may be lost; who listens is called after each loss of the connection.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

/** How long after a failure the connection is made anew, in milliseconds. */
const RETRY = 500;
/** How often the connection is tried when nothing is told, in milliseconds. */
const HEARTBEAT = 10_000;

interface Options {
  /** Opens a connection, which the hints end. */
  readonly connect: () => Promise<pg.Client>;
  /** An identifier without quotes. */
  readonly channel: string;
}

/** The connection for hints. It is opened with the first listener or hint, and reopened until it is closed. */
export class Hints {
  readonly #options: Options;
  readonly #listeners = new Set<{ readonly topic: string; readonly listener: () => void }>();
  /** To be told to others. */
  readonly #untold = new Set<string>();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #wake = (): void => undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Calls the listener when another process tells of the topic, until the returned function is called. */
  follow(topic: string, listener: () => void): () => void {
    const entry = { topic, listener };
    this.#listeners.add(entry);
    this.#running ??= this.#run();
    return () => this.#listeners.delete(entry);
  }

  /** Tells other processes of a topic, soon. */
  notify(topic: string): void {
    this.#untold.add(topic);
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

  /** Listens and tells until the connection is lost. */
  async #connected(): Promise<void> {
    const { connect, channel } = this.#options;
    const client = await connect();
    const { signal } = this.#closing;
    const end = (): void => void client.end();
    signal.addEventListener("abort", end);
    try {
      const own: number | undefined = (await client.query("SELECT pg_backend_pid() AS pid")).rows[0]?.pid;
      client.on("notification", ({ payload, processId }) => {
        if (processId !== own) this.#hear((topic) => topic === payload);
      });
      client.on("end", () => this.#wake());
      await client.query("SET synchronous_commit = off");
      await client.query(`LISTEN ${channel}`);
      this.#hear(() => true);
      while (!signal.aborted) {
        const topics = [...this.#untold];
        this.#untold.clear();
        await client.query("SELECT pg_notify($1, topic) FROM unnest($2::text[]) AS topic", [channel, topics]);
        if (this.#untold.size === 0) await this.#woken();
      }
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  }

  #hear(concerns: (topic: string) => boolean): void {
    for (const { topic, listener } of [...this.#listeners]) if (concerns(topic)) listener();
  }

  /** Resolves when there is something to tell, or the connection is to be tried. */
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
