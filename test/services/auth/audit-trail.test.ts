/**
 * The audit trail in its own collection: callers cannot overwrite the records of others, and no
 * record is lost or stored for too long.
 */

import t from "tap";
import { AuditKeeper } from "../../../services/auth/log/audit/audit-keeper.js";
import { MAX_ACCOUNT_RECORDS } from "../../../services/auth/log/audit/audit-records.js";
import type { LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { type Journal, PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { type AuditRecord, AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { ALL_RECORDS } from "../../support/audit.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { HASH, open, openJournal, silent } from "./open.js";

const DAY = 86_400_000;
const RULE = { scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };

const accountCreated = (name: string, scopes: string[] = []): LogEvent => ({
  $case: "accountCreated",
  value: { namespace: "default", name, scopes, password: HASH },
});
const ruleCreated = (id: string): LogEvent => ({
  $case: "ruleCreated",
  value: { namespace: "default", rule: { ...RULE, id } },
});
const ruleDeleted = (id: string): LogEvent => ({ $case: "ruleDeleted", value: { namespace: "default", id } });
const namespaceCreated = (name: string, id?: string): LogEvent => ({ $case: "namespaceCreated", value: { name, id } });
const failed: LogEvent = {
  $case: "loginsFailed",
  value: { namespace: "default", account: "", address: "192.0.2.1", count: 1n, requestId: "" },
};

/** A journal with three accounts: admin (an administrator), busy and quiet. */
async function opened(store: KeyValueStore, now?: () => number): Promise<Journal> {
  const journal = await openJournal(store, now);
  const accounts = [accountCreated("admin", ["admin"]), accountCreated("busy"), accountCreated("quiet")];
  await journal.commit(PORTICO, () => [namespaceCreated("default"), ...accounts]);
  return journal;
}

/** Makes changes by an account, one per log entry: creates and deletes a rule again and again. */
async function makeChanges(journal: Journal, account: string, count: number): Promise<void> {
  const author = { namespace: "default", account };
  for (let made = 0; made < count; made += 500) {
    const some = Array.from({ length: Math.min(500, count - made) }, (_, index) =>
      journal.commit(author, () => [index % 2 === 0 ? ruleCreated(account) : ruleDeleted(account)]),
    );
    await Promise.all(some);
  }
}

/** All records of a trail, newest first, read page by page. */
async function allRecords({ audit }: Journal, trail = "default"): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (let before: bigint | undefined; ; before = records.at(-1)!.revision) {
    const page = await audit.list(trail, { before, limit: 1_000 });
    records.push(...page);
    if (page.length < 1_000) return records;
  }
}

const rulesBy = (records: readonly AuditRecord[], actor: string) =>
  records.filter((record) => record.actor === actor && record.action.startsWith("rule"));

t.test("7,500 changes by an administrator overwrite no record", async (t) => {
  const store = await openStore("sqlite:", temporaryFolder(t));
  t.teardown(() => store.close());
  const journal = await opened(store);
  await journal.commit({ namespace: "default", account: "quiet" }, () => [ruleCreated("first")]);
  await makeChanges(journal, "admin", 7_500);
  const records = await allRecords(journal);
  t.equal(rulesBy(records, "admin").length, 7_500);
  t.equal(new Set(records.map(({ revision }) => revision)).size, 7_502, "each revision is there");
  t.match(rulesBy(records, "quiet"), [{ subject: "first" }]);
  await journal.close();
});

t.test("an account without the scope admin overwrites only its own oldest record", async (t) => {
  const store = await openStore("sqlite:", temporaryFolder(t));
  t.teardown(() => store.close());
  const journal = await opened(store);
  for (const account of ["admin", "quiet"]) await makeChanges(journal, account, 2);
  for (let count = 0; count < 3; count++) await journal.commit(PORTICO, () => [failed]);
  const { revision } = journal.state;
  await makeChanges(journal, "busy", MAX_ACCOUNT_RECORDS + 10);
  const records = await allRecords(journal);
  const busy = rulesBy(records, "busy");
  t.equal(busy.length, MAX_ACCOUNT_RECORDS);
  t.equal(busy.at(-1)?.revision, BigInt(revision + 11), "the oldest ten are gone");
  t.equal(records.length - busy.length, 4 + 2 + 2 + 3, "all others are there");
  const again = await openJournal(store);
  await makeChanges(again, "busy", 10);
  t.equal(rulesBy(await allRecords(again), "busy").length, MAX_ACCOUNT_RECORDS, "also after another start");
});

t.test("a record has the address, request ID and API key of its call", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const request = { name: "ci", lifetime: undefined, resources: [], from: [], admin: true };
  const key = await call(KeysService.create, request, token);
  const more = { clientAddress: "192.0.2.9", metadata: [["x-request-id", "request-9"]] as const };
  await call(RulesService.create, { rule: { ...RULE, id: "mine" } }, key.secret, more);
  await call(RulesService.delete, { id: "mine" }, token, more);
  const { records } = await call(AuditService.list, { ...ALL_RECORDS, before: 0n, limit: 4 }, token);
  const origin = { address: "192.0.2.9", requestId: "request-9" };
  t.match(records, [
    { action: "rule deleted", subject: "mine", actor: "admin", key: "", ...origin },
    { action: "rule created", subject: "mine", actor: "admin", key: key.key?.prefix, ...origin },
    { action: "key created", subject: key.key?.prefix, key: "" },
    { action: "logged in", subject: "admin" },
  ]);
});

t.test("a start does not change the trail, although replayed entries lack the origin of calls", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const journal = await opened(store);
  const author = { namespace: "default", account: "busy", origin: { address: "192.0.2.9", requestId: "request-9" } };
  await journal.commit(author, () => [ruleCreated("mine")]);
  await journal.commit(PORTICO, () => [failed]);
  const rows = collectionOf(store, "audit");
  const before = await rows.after("", 100);
  t.match(await allRecords(journal), [{}, { subject: "mine", address: "192.0.2.9" }]);
  const again = await openJournal(store);
  t.equal(again.state.revision, journal.state.revision);
  t.same(await rows.after("", 100), before);
});

t.test("a page has all records of its last revision, except those that their share has replaced", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const journal = await opened(store);
  await journal.commit({ namespace: "default", account: "quiet" }, () => ["one", "two", "three"].map(ruleCreated));
  const subjects = async () =>
    (await journal.audit.list("default", { limit: 1 })).map(({ subject }) => subject).join(", ");
  t.equal(await subjects(), "three, two, one");
  const rows = collectionOf(store, "audit");
  await rows.delete((await rows.keys()).filter((key) => key.endsWith(`${journal.state.revision}/0000`)));
  t.equal(await subjects(), "three, two");
});

t.test("records are deleted after the retention time, also in deleted namespaces", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  let now = 1_000 * DAY;
  const journal = await opened(store, () => now);
  const inTeam = { namespace: "team", account: "portico" };
  await journal.commit(PORTICO, () => [namespaceCreated("team", "id")]);
  await journal.commit(inTeam, () => [{ $case: "namespaceCreated", value: { name: "another" } }]);
  await journal.commit(PORTICO, () => [{ $case: "namespaceDeleted", value: { name: "team" } }]);
  await makeChanges(journal, "busy", 600);
  await journal.commit(PORTICO, () => [failed]);
  const rows = collectionOf(store, "audit");
  t.ok((await rows.keys()).some((key) => key.startsWith("records/team@id/")));
  const keeper = new AuditKeeper({
    ...{ trail: journal.audit, now: () => now, log: silent },
    limits: { retentionMs: 400 * DAY, maxBytes: Number.POSITIVE_INFINITY },
  });
  now += 400 * DAY;
  const before = await rows.keys();
  await keeper.keep();
  t.same(await rows.keys(), before, "not before");
  await makeChanges(journal, "quiet", 1);
  now += 1;
  await keeper.keep();
  t.match(await allRecords(journal), [{ actor: "quiet" }]);
  const left = (await rows.keys()).map((key) => key.split("/", 2).join("/"));
  t.same(left, ["deleted/default", "deleted/team@id", "records/default", "slots/default"], "and nothing else is left");
  await makeChanges(journal, "busy", 2);
  t.equal((await allRecords(journal)).length, 3);
});

t.test("a trail that is too large degrades the authority, but does not stop changes", async (t) => {
  const { call, login, authority } = await open(t, { audit: { retentionMs: 400 * DAY, maxBytes: 1024 } });
  await until(() => authority.errors().length > 0);
  t.match(authority.errors(), [/PORTICO_AUDIT_MAX is .*Changes go on.*PORTICO_AUDIT_RETENTION/]);
  const token = await login();
  await call(RulesService.create, { rule: { ...RULE, id: "mine" } }, token);
  const { records } = await call(AuditService.list, { ...ALL_RECORDS, before: 0n, limit: 1 }, token);
  t.match(records, [{ action: "rule created", subject: "mine" }]);
});

t.test("a namespace does not show the trail of an earlier namespace with the same name", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const journal = await opened(store);
  for (const id of ["one", "two"]) {
    await journal.commit(PORTICO, () => [namespaceCreated("team", id)]);
    await journal.commit({ namespace: "team", account: "portico" }, () => [
      { $case: "accountCreated", value: { namespace: "team", name: id, scopes: [], password: HASH } },
    ]);
    if (id === "one") await journal.commit(PORTICO, () => [{ $case: "namespaceDeleted", value: { name: "team" } }]);
  }
  t.match(await allRecords(journal, "team@two"), [{ subject: "two" }]);
});
