/**
 * An authority with 100,000 keys: the work between two turns of the event loop is limited, whatever
 * the number of keys. The tests measure amounts of work, not time, so they also pass on a busy
 * computer. `bench/authority.ts` measures time.
 */

import { createHash } from "node:crypto";
import t from "tap";
import { MIN_SNAPSHOT_INTERVAL } from "../../../services/auth/log/changelog/change-log.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { partsOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { MAX_FORGOTTEN, type State } from "../../../services/auth/log/state/state.js";
import type { Event } from "../../../src/gen/portico/auth/log/v1/log.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { toTimestamp } from "../../../src/time.js";
import { temporaryFolder } from "../../support/temporary.js";
import { HASH, openJournal } from "./open.js";

type Events = NonNullable<Event["event"]>;

const KEYS = 100_000;
const ACCOUNTS = 1_000;
const BATCH = 50;
const START = 1_800_000_000_000;
const DAY = 86_400_000;
const namespace = "default";

const hashOf = (key: number) => createHash("sha256").update(`${key}`).digest();

function keyCreated(key: number): Events {
  const name = `key ${key % 10}`;
  const value = {
    ...{ sha256: hashOf(key), prefix: `ptk_${key}`, namespace, account: `user${key % ACCOUNTS}`, name },
    ...{ created: toTimestamp(START), expires: toTimestamp(START + DAY), lastUsed: undefined },
    ...{ resources: [], from: [], lifetimeMs: BigInt(DAY) },
  };
  return { $case: "keyCreated", value: { key: value } };
}

const touch: Events = { $case: "keysUsed", value: { uses: [] } };

function countKeys(state: State): number {
  return state.accounts(namespace).reduce((sum, { keys }) => sum + keys.length, 0);
}

function digestOf(state: State): string {
  const frozen = state.freeze();
  const digest = createHash("sha256");
  for (const part of partsOf(frozen)) digest.update(part);
  frozen.release();
  return digest.digest("hex");
}

t.test(`${KEYS} keys`, async (t) => {
  let now = START;
  const folder = temporaryFolder(t);
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  const journal = await openJournal(store, () => now);
  const accounts = Array.from({ length: ACCOUNTS }, (_, index): Events => {
    return { $case: "accountCreated", value: { namespace, name: `user${index}`, scopes: [], password: HASH } };
  });
  await journal.commit(PORTICO, () => [{ $case: "namespaceCreated", value: { name: namespace } }, ...accounts]);
  for (let key = 0; key < KEYS; key += BATCH) {
    await journal.commit(PORTICO, () => Array.from({ length: BATCH }, (_, index) => keyCreated(key + index)));
  }
  t.equal(countKeys(journal.state), KEYS);
  const rows = collectionOf(store, "snapshots");
  while ((await rows.keys()).includes("writing")) await new Promise((resolve) => setTimeout(resolve, 20));

  await t.test("the parts of a snapshot are small, and a start from them gives the same state", async (t) => {
    const keys = await rows.keys();
    t.ok(keys.length > 15, `${keys.length} rows`);
    const lengths = (await rows.getMany(keys)).map((text) => text?.length ?? 0);
    t.ok(Math.max(...lengths) < 400_000, `${Math.max(...lengths)} characters at most`);
    const other = await openJournal(store, () => now);
    t.equal(digestOf(other.state), digestOf(journal.state));
    t.ok(journal.state.callerOf(hashOf(KEYS - 1), now));
    await other.close();
  });

  await t.test("keys that all expire at one moment are removed in steps", async (t) => {
    now = START + DAY;
    t.equal(journal.state.callerOf(hashOf(0), now), undefined, "but refused at once");
    for (let left = KEYS; left > 0; ) {
      await journal.commit(PORTICO, () => [touch]);
      const after = countKeys(journal.state);
      if (left - after !== Math.min(left, MAX_FORGOTTEN)) t.fail(`${left - after} were removed by one entry`);
      left = after;
    }
    for (let count = 0; count < MIN_SNAPSHOT_INTERVAL; count++) await journal.commit(PORTICO, () => [touch]);
    t.equal(digestOf(journal.state), digestOf((await openJournal(store, () => now)).state));
  });
  await journal.close();
});
