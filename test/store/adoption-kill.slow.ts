/**
 * A process may be killed at any moment while it adopts a store. Either the store is adopted or it
 * is not, and no data is lost.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { recordInstallationId } from "../../src/store/installation.js";
import { openServiceStore } from "../../src/store/open.js";
import { openOwnedServices } from "../../src/store/owned-services.js";
import { bundleInto } from "../support/bundle.js";

const ROUNDS = 30;
const ID = "aaaaaaaa-0000-4000-8000-000000000000";
const ENTRIES = 50;

t.test(`kill -9 during the adoption of a store, ${ROUNDS} times`, async (t) => {
  const folder = t.testdir();
  const program = await bundleInto(folder, "test/store/adopting.ts");
  const data = join(folder, "data");
  recordInstallationId(data, ID);
  let taken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(data, `services.sqlite${suffix}`), { force: true });
    const before = await openServiceStore("sqlite:", data);
    const keys = Array.from({ length: ENTRIES }, (_, number) => `cache/default/entries/${number}`);
    await before.commit(keys.map((key) => ({ kind: "set", key, value: '"kept"', expires: undefined })));
    await before.close();
    const child = spawn(process.execPath, [program, data, ID], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    // Each round kills at another moment of the opening, some rounds after it.
    await sleep(round * 4);
    child.kill("SIGKILL");
    await once(child, "exit");
    const after = await openServiceStore("sqlite:", data);
    const owner = await after.owner();
    if (owner !== undefined) taken += 1;
    t.ok(owner === undefined || owner === ID, `the owner is ${owner}`);
    await after.close();
    const next = await openOwnedServices({ url: "sqlite:", dataFolder: data, installation: ID });
    t.equal(await next.owner(), ID, "the next start has it");
    t.equal(await next.count("", "~"), ENTRIES);
    await next.close();
  }
  t.ok(taken > 0, `${taken} of ${ROUNDS} had been taken`);
  t.ok(taken < ROUNDS, "and others had not");
});
