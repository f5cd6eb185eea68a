/** Failed logins take at most their share of the audit trail, and overwrite no other records. */

import t from "tap";
import { droppedRecords, MAX_FAILED_RECORDS } from "../../../services/auth/log/audit/audit-records.js";
import type { LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { FULL } from "../../support/full.js";
import { temporaryFolder } from "../../support/temporary.js";
import { openJournal } from "./open.js";

const FAILURES = FULL ? 100_000 : MAX_FAILED_RECORDS + 1_000;
/** Maximum size of all failed logins, in bytes, as documented. */
const SHARE = 64 * 1024 ** 2;
/** Maximum bytes that SQLite needs for a row in addition to its text, which is also in an index. */
const ROW_OVERHEAD = 24;

t.test(`${FAILURES} failed logins take at most their share of the audit trail`, async (t) => {
  const store = await openStore("sqlite:", temporaryFolder(t));
  t.teardown(() => store.close());
  const journal = await openJournal(store);
  // Each with its maximum length: the names of an account and a namespace, an address, a request
  // ID.
  const [namespace, account] = ["n".repeat(63), "a".repeat(128)];
  const id = "00000000-0000-4000-8000-000000000000";
  await journal.commit(PORTICO, () => [
    { $case: "namespaceCreated", value: { name: namespace, id } },
    { $case: "accountCreated", value: { namespace, name: account, scopes: [], password: undefined } },
  ]);
  await journal.commit({ namespace, account: "portico" }, () => [
    { $case: "ruleDeleted", value: { namespace, id: "none" } },
    { $case: "scopesSet", value: { namespace, name: account, scopes: ["staff"] } },
  ]);
  const address = "2001:0db8:1111:2222:3333:4444:255.255.255.255";
  const value = { namespace, account, address, count: 1n, requestId: "r".repeat(128) };
  const failed: LogEvent = { $case: "loginsFailed", value };
  const first = journal.state.revision + 1;
  for (let count = 0; count < FAILURES; count += 500) {
    await Promise.all(Array.from({ length: 500 }, () => journal.commit(PORTICO, () => [failed])));
  }
  const rows = collectionOf(store, "audit");
  let [records, size, oldest, changes] = [0, 0, Number.POSITIVE_INFINITY, 0];
  for (let last = ""; ; ) {
    const entries = await rows.after(last, 1_000);
    for (const [key, text] of entries) {
      // The key counts twice, because it is in the table and in its index. Keyv adds the rest.
      size += 2 * (key.length + "audit:".length) + text.length + '{"value":""}'.length + ROW_OVERHEAD;
      const revision = Number(key.split("/").at(-2));
      if (key.startsWith("records/") && revision >= first) {
        records++;
        oldest = Math.min(oldest, revision);
      } else if (key.startsWith("records/")) changes++;
    }
    if (entries.length < 1_000) break;
    last = entries.at(-1)![0];
  }
  t.equal(records, MAX_FAILED_RECORDS);
  t.equal(oldest, first + FAILURES - MAX_FAILED_RECORDS, "the oldest gave way");
  t.same(
    droppedRecords(journal.state.auditShares)[0],
    ["failed_logins", FAILURES - MAX_FAILED_RECORDS],
    "and are counted",
  );
  t.ok(size <= SHARE, `${size} bytes`);
  t.equal(changes, 1, "the record of a change is there");
  await journal.close();
});
