/**
 * Every acknowledged change is there after `kill -9` at any moment, and no change is there in part:
 * it is in the audit trail exactly if it is in the log.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { FULL } from "../../support/full.js";
import { bundleWriter, readStore } from "./writers.js";

const ROUNDS = FULL ? 200 : 40;
const LANES = 2;
/** Maximum time from the first acknowledgement to the kill, in milliseconds. */
const LONGEST = 60;

t.test(`kill -9 during writes, ${ROUNDS} times`, async (t) => {
  const root = t.testdir();
  const startWriter = await bundleWriter(root);
  let acknowledged = 0;
  let killed = 0;
  await Promise.all(
    Array.from({ length: LANES }, async (_, lane) => {
      const folder = join(root, `${lane}`);
      mkdirSync(folder);
      const known: string[] = [];
      for (let round = 0; round < ROUNDS / LANES; round++) {
        const writer = startWriter(folder, `${round}`);
        await writer.begun;
        await sleep(Math.random() * LONGEST);
        writer.process.kill("SIGKILL");
        const end = await writer.ended;
        if (end === "SIGKILL") killed++;
        else t.fail(`round ${round} ended with ${end}`);
        known.push(...writer.acknowledged);
        const { ids, recorded } = await readStore(folder);
        const lost = known.filter((id) => !ids.has(id));
        if (lost.length > 0) t.fail(`round ${round} lost ${lost.join(", ")}`);
        const halves = [...ids, ...recorded].filter((id) => ids.has(id) !== recorded.has(id));
        if (halves.length > 0) t.fail(`round ${round} has only the rule or only the record of ${halves.join(", ")}`);
      }
      acknowledged += known.length;
    }),
  );
  t.equal(killed, ROUNDS);
  t.ok(acknowledged > ROUNDS, `${acknowledged} changes were acknowledged`);
});
