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
/** An account has at most 100. */
const OF_AN_ACCOUNT = 100;
const ACCOUNTS_IN_AN_ENTRY = 5;
const DAY = 86_400_000;

const accountOf = (number: number) => `account-${Math.floor(number / OF_AN_ACCOUNT)}`;

/** An account with its keys. @param first the number of its first key */
function accountWithKeys(first: number) {
  const account = { namespace: "default", name: accountOf(first), scopes: [], password: undefined };
  const keys = Array.from({ length: OF_AN_ACCOUNT }, (_, at) => keyCreated(first + at));
  return [{ $case: "accountCreated" as const, value: account }, ...keys];
}

function keyCreated(number: number) {
  const key = {
    ...{
      sha256: hashToken(`key ${number}`),
      prefix: `ptk_${number}`,
      namespace: "default",
      account: accountOf(number),
    },
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
    for (let first = 0; first < KEYS; first += ACCOUNTS_IN_AN_ENTRY * OF_AN_ACCOUNT) {
      const firsts = Array.from({ length: ACCOUNTS_IN_AN_ENTRY }, (_, at) => first + at * OF_AN_ACCOUNT);
      const events = firsts.flatMap(accountWithKeys);
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
