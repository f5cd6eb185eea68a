/** Things that must not come back: an expired token, or a deleted rule after its store was lost. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { at, noClocks } from "./clocks.js";
import { Administrator, type Cluster, HELLO } from "./cluster.js";
import type { Fault, Figures } from "./fault.js";

const clockBack: Fault = {
  title: "the clock goes back by two hours after a token expired",
  lease: "2s",
  safeguards: [
    {
      name: "the authority's time is at least the newest in the store",
      file: "services/auth/log/time/clock.ts",
      edits: [["this.#time = accept ? clock : Math.max(clock, stored ?? clock);", "this.#time = clock;"]],
    },
  ],
  skip: noClocks,
  async run(cluster) {
    let authority = await cluster.authority();
    const near = await cluster.near();
    await cluster.service();
    const admin = await Administrator.login(near, cluster.data);
    if ((await admin.createRule("before")) !== 200) throw new Error("the token is no good");
    await authority.stop();
    authority = await cluster.authority(at("+2h"));
    const expired = await cluster.until(
      () => admin.createRule("expired"),
      (status) => status === 401,
    );
    await authority.stop();
    await cluster.authority();
    await sleep(3_000); // The gateway then decides by the time of the new authority.
    const again = await cluster.until(
      () => admin.createRule("again"),
      (status) => status !== 503,
    );
    return { calls: 3, failed: expired === 401 ? 0 : 1, wrongful: again === 200 ? 1 : 0 };
  },
};

const lostStore: Fault = {
  title: "the store's file is deleted between two starts, the data folder stays",
  lease: "2s",
  safeguards: [
    {
      name: "a folder that was ever set up does not start without its store",
      file: "src/store/installation.ts",
      edits: [
        ['if (existsSync(file)) return { store: readFileSync(file, "utf8").trim() };', ""],
        ["existsSync(join(dataFolder, ID_FILE)) ? { store: undefined } : undefined", "undefined"],
        ["FIRST_ENROLMENTS.every(isLeft) ? { store: undefined } : undefined", "undefined"],
      ],
    },
  ],
  async run(cluster) {
    const authority = await cluster.authority();
    const near = await cluster.near();
    const service = await cluster.service();
    const admin = await Administrator.login(near, cluster.data);
    await cluster.responses(near);
    const { took } = await admin.deletePublicRule();
    for (const process of [near, service, authority]) await process.stop();
    for (const file of readdirSync(cluster.data)) if (/sqlite/.test(file)) rmSync(join(cluster.data, file));
    return { ...(await startAgain(cluster)), acknowledged: took };
  },
};

async function startAgain(cluster: Cluster): Promise<Figures> {
  try {
    await cluster.authority();
  } catch {
    return { calls: 1, failed: 0, wrongful: 0 }; // It refuses to start.
  }
  const near = await cluster.near();
  await cluster.service();
  const status = await cluster.until(
    async () => (await fetch(near.address("HTTP") + HELLO)).status,
    (status) => status === 200 || status === 401,
  );
  return { calls: 1, failed: 0, wrongful: status === 200 ? 1 : 0 };
}

export const PAST: readonly Fault[] = [clockBack, lostStore];
