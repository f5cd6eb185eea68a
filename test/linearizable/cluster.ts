/** Three servers on one Postgres database, each with its own authority. */
import { resolve } from "node:path";
import type { Test } from "tap";
import { startPostgres } from "../support/postgres.js";
import { administrator, call, type Portico, start } from "../support/process.js";

/** The servers, and the faults that can be caused. */
export class Cluster {
  readonly #data: readonly string[];
  readonly #url: string;
  readonly #servers: (Portico | undefined)[] = [];
  readonly database: Awaited<ReturnType<typeof startPostgres>>;
  #headers: Record<string, string> = {};

  private constructor(data: readonly string[], database: Cluster["database"]) {
    this.#data = data;
    this.#url = database.url();
    this.database = database;
  }

  static async start(t: Test): Promise<Cluster> {
    const folder = t.testdir({ a: {}, b: {}, c: {} });
    const data = ["a", "b", "c"].map((name) => resolve(folder, name));
    const cluster = new Cluster(data, await startPostgres(t));
    t.teardown(() => Promise.all(cluster.#servers.map((server) => server?.stop("SIGKILL"))));
    await cluster.run(0);
    await Promise.all([cluster.run(1), cluster.run(2)]);
    cluster.#headers = await administrator(cluster.#servers[0]!.address("HTTP"), data[0]!);
    return cluster;
  }

  get size(): number {
    return this.#data.length;
  }

  async run(index: number): Promise<void> {
    const env = { PORTICO_DATA: this.#data[index]!, PORTICO_STORE: this.#url, PORTICO_LEASE: "2s" };
    this.#servers[index] = await start(["server"], {
      ...env,
      PORTICO_OWN_SERVICES: "none",
      PORTICO_LOG_LEVEL: "fatal",
    });
  }

  signal(index: number, signal: NodeJS.Signals): void {
    this.#servers[index]?.child.kill(signal);
  }

  async kill(index: number): Promise<void> {
    const server = this.#servers[index];
    this.#servers[index] = undefined;
    await server?.stop("SIGKILL");
  }

  /**
   * Calls a random authority. Returns undefined if there is no response, or one that does not say
   * whether the change was made.
   */
  async ask(endpoint: string, body: object): Promise<{ status: number; body: unknown } | undefined> {
    const running = this.#servers.filter((server) => server !== undefined);
    const http = running[Math.floor(Math.random() * running.length)]!.address("HTTP");
    try {
      const response = await call(`${http}/v1/auth/Rules/${endpoint}`, body, this.#headers);
      return response.status >= 500 ? undefined : response;
    } catch {
      return undefined;
    }
  }
}
