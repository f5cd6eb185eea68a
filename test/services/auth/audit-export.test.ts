// An export of the audit trail: every record once, in order, also where it was broken off and goes
// on later. It ends with the right to see the trail.

import t, { type Test } from "tap";
import { AuditKeeper } from "../../../services/auth/log/audit/audit-keeper.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import {
  type AuditRecord,
  AuditService,
  type ExportAuditRequest,
  type ExportAuditResponse,
} from "../../../src/gen/portico/auth/v1/audit.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { stream } from "../../../src/rpc/client.js";
import { toTimestamp } from "../../../src/time.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { until } from "../../support/until.js";
import { type Open, open, openJournal, PASSWORD, silent } from "./open.js";

const DAY = 86_400_000;
const RULE = { scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
const ALL: ExportAuditRequest = { after: "", until: undefined, follow: false };

/** Opens an export; `records` and `ended` change as it goes on. */
function exporting({ channel }: Pick<Open, "channel">, token: string, request: Partial<ExportAuditRequest> = {}) {
  const call = stream(channel, AuditService.export, { metadata: [["authorization", `Bearer ${token}`]] });
  call.send({ ...ALL, ...request });
  call.end();
  const responses: ExportAuditResponse[] = [];
  const done = (async () => {
    for await (const response of call.responses) responses.push(response);
  })();
  const ended = done.then(
    () => "ended",
    (error: Error) => error.message,
  );
  const records = (): AuditRecord[] => responses.flatMap((response) => response.records);
  return { done, ended, responses, records, cursors: () => records().map(({ cursor }) => cursor), cancel: call.cancel };
}

async function exported(from: Pick<Open, "channel">, token: string, request: Partial<ExportAuditRequest> = {}) {
  const run = exporting(from, token, request);
  await run.done;
  return run;
}

/** An authority with an entry that has several records. */
async function opened(t: Test, clock?: () => number) {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const authority = await open(t, { store, ...(clock && { clock }) });
  const journal = await openJournal(store, clock);
  const rules = ["one", "two", "three"].map((id) => ({
    $case: "ruleCreated" as const,
    value: { namespace: "default", rule: { ...RULE, id } },
  }));
  await journal.commit(PORTICO, () => rules);
  return { ...authority, store, journal, token: await authority.login() };
}

t.test("an export that goes on after any of its records has every later record, and each once", async (t) => {
  const mesh = await opened(t);
  const whole = await exported(mesh, mesh.token);
  t.ok(whole.records().length >= 5);
  t.ok(
    whole.cursors().some((cursor) => cursor.endsWith(".2")),
    "a revision has several records",
  );
  t.match(whole.records().at(-1), { action: "logged in", namespace: "default", actor: "admin" });
  for (const [index, after] of whole.cursors().entries()) {
    const rest = await exported(mesh, mesh.token, { after });
    t.same(rest.records(), whole.records().slice(index + 1), `after ${after}`);
  }
  const [revision] = whole.cursors().at(-2)!.split(".");
  t.same((await exported(mesh, mesh.token, { after: revision! })).cursors(), whole.cursors().slice(-1), "a revision");
});

t.test("until ends the export before a time", async (t) => {
  let now = 1_000 * DAY;
  const mesh = await opened(t, () => now);
  const before = (await exported(mesh, mesh.token)).cursors();
  now += 1;
  await mesh.call(RulesService.create, { rule: { ...RULE, id: "late" } }, mesh.token);
  t.same((await exported(mesh, mesh.token, { until: toTimestamp(now) })).cursors(), before);
  t.equal((await exported(mesh, mesh.token, { until: toTimestamp(now + 1) })).cursors().length, before.length + 1);
});

t.test("an export that follows gets each change when it is made, also by another authority", async (t) => {
  const mesh = await opened(t);
  const run = exporting(mesh, mesh.token, { follow: true });
  await until(() => run.records().some(({ action }) => action === "logged in"));
  await mesh.call(RulesService.create, { rule: { ...RULE, id: "mine" } }, mesh.token);
  await until(() => run.records().at(-1)?.subject === "mine");
  await mesh.journal.commit(PORTICO, () => [{ $case: "ruleDeleted", value: { namespace: "default", id: "mine" } }]);
  await until(() => run.records().at(-1)?.action === "rule deleted");
  t.same(run.records(), (await exported(mesh, mesh.token)).records());
  run.cancel();
  t.match(await run.ended, /cancel/i);
});

const REVOCATIONS: Readonly<Record<string, (mesh: Open, admin: string) => Promise<unknown>>> = {
  "its scope": ({ call }, admin) => call(AccountsService.setScopes, { name: "bob", scopes: [] }, admin),
  "its account": ({ call }, admin) => call(AccountsService.delete, { name: "bob" }, admin),
  "its account's use": ({ call }, admin) => call(AccountsService.setDisabled, { name: "bob", disabled: true }, admin),
};
for (const [what, revoke] of Object.entries(REVOCATIONS)) {
  t.test(`an export ends when its caller loses ${what}, and has no record of a later change`, async (t) => {
    const mesh = await opened(t);
    const bob = { name: "bob", password: PASSWORD, scopes: ["admin:audit"], withoutPassword: false };
    await mesh.call(AccountsService.create, bob, mesh.token);
    const run = exporting(mesh, await mesh.login("bob"), { follow: true });
    await until(() => run.records().at(-1)?.actor === "bob");
    await revoke(mesh, mesh.token);
    await mesh.call(RulesService.create, { rule: { ...RULE, id: "secret" } }, mesh.token);
    t.match(await run.ended, /(?:Unauthorized|Forbidden) call made to auth:Audit.Export/);
    t.notOk(run.records().some(({ subject }) => subject === "secret"));
  });
}

t.test("who may export: admin and admin:audit, in their own namespace", async (t) => {
  const mesh = await opened(t);
  const { call, token } = mesh;
  for (const scopes of [["admin:rules"], []]) {
    const name = scopes.length > 0 ? "ruler" : "nobody";
    await call(AccountsService.create, { name, password: PASSWORD, scopes, withoutPassword: false }, token);
    await t.rejects(exported(mesh, await mesh.login(name)), { message: /Forbidden call made to auth:Audit.Export/ });
  }
  const request = { name: "ci", lifetime: undefined, resources: [], from: [], admin: false };
  const { secret } = await call(KeysService.create, request, token);
  await t.rejects(exported(mesh, secret), { message: /Forbidden/ }, "a key that only calls");
  const { adminPassword } = await call(NamespacesService.create, { name: "team" }, token);
  const team = await exported(mesh, await mesh.login("admin", adminPassword, "team"));
  t.ok(team.records().length > 0);
  t.ok(team.records().every(({ namespace }) => namespace === "team"));
});

t.test("what was deleted because of its age is said, where the export goes on before it", async (t) => {
  let now = 1_000 * DAY;
  const mesh = await opened(t, () => now);
  const whole = (await exported(mesh, mesh.token)).records();
  now += 400 * DAY + 1;
  await mesh.journal.commit(PORTICO, () => [{ $case: "ruleDeleted", value: { namespace: "default", id: "one" } }]);
  const limits = { retentionMs: 400 * DAY, maxBytes: Number.POSITIVE_INFINITY };
  await new AuditKeeper({ trail: mesh.journal.audit, now: () => now, log: silent, limits }).keep();
  const token = await mesh.login();
  const [first, last] = [whole[0]!.cursor, whole.at(-1)!];
  const late = await exported(mesh, token, { after: first });
  t.match(late.responses[0], { records: [], deleted: { after: first, until: last.cursor, time: last.time } });
  t.match(late.records(), [{ action: "rule deleted" }, { action: "logged in" }]);
  t.same((await exported(mesh, token, { after: last.cursor })).responses.length, 1, "nothing is missing after it");
  t.same((await exported(mesh, token)).responses.length, 1, "nor from the oldest on");
});

const BAD: readonly (readonly [request: Partial<ExportAuditRequest>, message: RegExp])[] = [
  [{ after: "x" }, /after: must be the cursor of a record, such as 512.0, or a revision, such as 512/],
  [{ after: "-1" }, /after: must be the cursor/],
  [{ after: "1.2.3" }, /after: must be the cursor/],
  [{ after: "9".repeat(40) }, /after: must be the cursor/],
  [{ after: "999999" }, /after: 999999 is later than the newest change, \d+: .*restored from a backup/],
  [{ follow: true, until: toTimestamp(0) }, /until: leave it out to follow the trail, or leave out follow/],
];
t.test("requests that cannot be met say what is wrong", async (t) => {
  const mesh = await opened(t);
  for (const [request, message] of BAD) await t.rejects(exported(mesh, mesh.token, request), { message });
});

t.test("a following export ends when the authority is about to stop, so that its client goes elsewhere", async (t) => {
  const mesh = await opened(t);
  const run = exporting(mesh, mesh.token, { follow: true });
  await until(() => run.records().length > 0);
  mesh.authority.announceStop();
  t.match(await run.ended, /about to stop/);
});

t.test("at most 100 exports follow the trail at once; those that have ended do not count", async (t) => {
  const mesh = await opened(t);
  const bob = { name: "bob", password: PASSWORD, scopes: ["admin:audit"], withoutPassword: false };
  await mesh.call(AccountsService.create, bob, mesh.token);
  const token = await mesh.login("bob");
  const follow = () => exporting(mesh, token, { follow: true });
  const first = Array.from({ length: 100 }, follow);
  await until(() => first.every(({ records }) => records().length > 0));
  t.match(await follow().ended, /100 exports follow the audit trail here already; end one of them, and try again/);
  first[0]!.cancel();
  await first[0]!.ended;
  const next = follow();
  await until(() => next.records().length > 0);
  // The others end by the loss of the right.
  await mesh.call(AccountsService.setScopes, { name: "bob", scopes: [] }, mesh.token);
  await Promise.all([...first, next].map(({ ended }) => ended));
  const again = Array.from({ length: 100 }, () => exporting(mesh, mesh.token, { follow: true }));
  await until(() => again.every(({ records }) => records().length > 0));
  for (const { cancel } of again) cancel();
});
