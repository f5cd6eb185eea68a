/** All keys of a large store are valid after a restore (bench/backup.ts measures a million). */
import { statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { changeStore } from "../../../services/auth/change-store.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { hashToken } from "../../../src/call/token.js";
import { openStore } from "../../../src/store/open.js";
import { toTimestamp } from "../../../src/time.js";
import { silent } from "../../services/auth/open.js";
import { FULL } from "../../support/full.js";
import { installation } from "../../support/installation.js";
import { temporaryFolder } from "../../support/temporary.js";
import { portico } from "../command-line.js";

const KEYS = FULL ? 200_000 : 10_000;
const IN_AN_ENTRY = 500;
const DAY = 86_400_000;

function keyCreated(number: number) {
  const key = {
    ...{ sha256: hashToken(`key ${number}`), prefix: `ptk_${number}`, namespace: "default", account: "admin" },
    ...{ name: "nightly", created: toTimestamp(Date.now()), expires: toTimestamp(Date.now() + DAY) },
    ...{ lastUsed: undefined, resources: [], from: [], lifetimeMs: BigInt(DAY) },
  };
  return { $case: "keyCreated" as const, value: { key } };
}

t.test(`${KEYS} keys are backed up and restored`, async (t) => {
  const data = await installation(join(temporaryFolder(t), "data"));
  const file = join(data, "..", "portico.backup");
  const env = { PORTICO_DATA: data };
  const within = async <T>(act: Parameters<typeof changeStore<T>>[2]): Promise<T> => {
    const store = await openStore("sqlite:", data, { mustExist: true });
    return changeStore(store, silent, act).finally(() => store.close());
  };
  await within(async (journal) => {
    for (let first = 0; first < KEYS; first += IN_AN_ENTRY) {
      const events = Array.from({ length: IN_AN_ENTRY }, (_, at) => keyCreated(first + at));
      await journal.commit(PORTICO, () => events);
    }
  });
  t.equal((await portico(["backup", file], { env })).exit, 0);
  const store = join(data, "portico.sqlite");
  t.ok(statSync(file).size <= 1.1 * statSync(store).size, "a backup is not larger than the store");
  await within((journal) =>
    journal.commit(PORTICO, () => [{ $case: "keyRevoked", value: { sha256: hashToken("key 0") } }]),
  );
  const { exit, stderr } = await portico(["restore", file, "--yes"], { env });
  t.equal(exit, 0, stderr);
  t.match(stderr, /key revoked ptk_0\n/);
  const missing = await within(async ({ state }) =>
    Array.from({ length: KEYS }, (_, number) => number).filter(
      (number) => state.token(hashToken(`key ${number}`)) === undefined,
    ),
  );
  t.same(missing, []);
});
