/**
 * The callers of a cluster during a fault. They call at every gateway, and they create, use and
 * revoke keys, and use them again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../support/process.js";
import type { Cluster } from "./cluster.js";

/** What the callers saw. Times are in milliseconds. */
export interface Seen {
  calls: number;
  /** By gateway: calls that were neither granted nor refused by rules. */
  readonly failed: number[];
  /** Calls that were granted to a key after its revocation was acknowledged. */
  wrongful: number;
  /** From the request of each revocation to its response. */
  readonly acknowledged: number[];
  /** Changes that were refused, or whose outcome is unknown. */
  refused: number;
}

/** The statuses of calls that the rules or the service decided. */
const DECIDED = [200, 401, 403];

/** Makes calls until it is stopped. */
export class Load {
  readonly seen: Seen;
  readonly #cluster: Cluster;
  readonly #loops: Promise<void>[];
  #over = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.seen = { calls: 0, failed: cluster.gateways.map(() => 0), wrongful: 0, acknowledged: [], refused: 0 };
    this.#loops = cluster.gateways.map((_, index) => this.#repeat(() => this.#call(index), 10));
    this.#loops.push(this.#repeat(() => this.#revoke(), 100));
  }

  async stop(): Promise<Seen> {
    this.#over = true;
    await Promise.all(this.#loops);
    return this.seen;
  }

  async #repeat(once: () => Promise<void>, pauseMs: number): Promise<void> {
    while (!this.#over) {
      await once();
      await sleep(pauseMs);
    }
  }

  async #call(gateway: number): Promise<void> {
    const status = await this.#ask(gateway, "/v1/id/Generate", {}, this.#cluster.admin);
    this.seen.calls += 1;
    if (!DECIDED.includes(status.status)) this.seen.failed[gateway]! += 1;
  }

  async #revoke(): Promise<void> {
    const { admin, gateways } = this.#cluster;
    const created = await this.#ask(1, "/v1/auth/Keys/Create", { name: "short" }, admin);
    if (created.status !== 200) return this.#refuse();
    const { key, secret } = created.body as { key: { prefix: string }; secret: string };
    const bearer = { authorization: `Bearer ${secret}` };
    const use = () => Promise.all(gateways.map((_, index) => this.#ask(index, "/v1/id/Generate", {}, bearer)));
    await use();
    const began = performance.now();
    const revoked = await this.#ask(1, "/v1/auth/Keys/Revoke", { prefix: key.prefix }, admin);
    if (revoked.status !== 200) return this.#refuse();
    this.seen.acknowledged.push(performance.now() - began);
    this.seen.wrongful += (await use()).filter(({ status }) => status === 200).length;
  }

  #refuse(): void {
    this.seen.refused += 1;
  }

  /** Returns status 0 if there is no response. */
  async #ask(gateway: number, path: string, body: unknown, headers: Record<string, string>) {
    try {
      return await call(`${this.#cluster.gateways[gateway]!.http}${path}`, body, headers);
    } catch {
      return { status: 0, body: undefined };
    }
  }
}
