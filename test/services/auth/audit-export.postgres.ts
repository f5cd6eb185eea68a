// Exports of several authorities on one Postgres: each record once, in the order of revisions,
// however the commits of the authorities are interleaved.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { exportAudit } from "../../../services/auth/endpoints/audit-export.js";
import { AuditLog } from "../../../services/auth/log/audit/audit-log.js";
import { outputTo } from "../../../services/auth/log/audit/audit-output.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { Access } from "../../../src/gen/portico/auth/v1/rules.js";
import type { BuiltInContext } from "../../../src/rpc/service.js";
import { openStore } from "../../../src/store/open.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { openJournal, silent } from "./open.js";

const AUTHORITIES = 3;
const CHANGES = 150;
const NAMESPACES = ["default", "team"];
const RULE = { scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };

t.test("no record of a slower commit is passed over", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { max_connections: "200" } });
  const database = await server.createDatabase();
  const file = join(temporaryFolder(t), "audit.jsonl");
  const authorities = await Promise.all(
    Array.from({ length: AUTHORITIES }, async (_, index) => {
      const store = await openStore(server.url(database), "");
      t.teardown(() => store.close());
      const journal = await openJournal(store);
      const unfollow = store.follow("log", () => void journal.sync().catch(() => undefined));
      t.teardown(unfollow);
      const output = outputTo(`${file}.${index}`);
      return {
        store,
        journal,
        log: new AuditLog({ output, journal, store, id: `${index}`, log: silent, retryMs: 50 }),
      };
    }),
  );
  const [first] = authorities as [(typeof authorities)[number]];
  await first.journal.commit(PORTICO, () =>
    NAMESPACES.map((name) => ({ $case: "namespaceCreated", value: { name, id: undefined } })),
  );
  for (const { journal } of authorities) await journal.sync();

  // Each authority follows the trail of `default`, while all of them change both namespaces.
  const ending = new AbortController();
  const followed = authorities.map(({ journal }) => {
    const cursors: string[] = [];
    const options = { journal, stopping: new AbortController().signal };
    const caller = Object.assign(Object.create(KnownCaller.prototype), { namespace: "default", account: "admin" });
    const context = { caller, signal: ending.signal, endpoint: "auth:Audit.Export" } as BuiltInContext;
    const done = (async () => {
      const request = { after: "", until: undefined, follow: true };
      for await (const { records } of exportAudit(options)(request, context)) {
        cursors.push(...records.map(({ cursor }) => cursor));
      }
    })();
    return { cursors, done };
  });
  for (const { log } of authorities) log.open();
  await Promise.all(
    authorities.map(async ({ journal }, index) => {
      for (let change = 0; change < CHANGES; change++) {
        const namespace = NAMESPACES[change % 2]!;
        const rule = { ...RULE, id: `${index}-${change}` };
        await journal.commit({ namespace, account: "portico" }, () => [
          { $case: "ruleCreated", value: { namespace, rule } },
        ]);
      }
    }),
  );
  await first.journal.sync();
  const all = await first.journal.audit.after("default", "", 10_000);
  const expected = all.map(({ cursor }) => cursor);
  t.equal(expected.length, NAMESPACES.length + (AUTHORITIES * CHANGES) / 2);
  for (const { cursors } of followed) {
    await until(() => cursors.length >= expected.length);
    t.same(cursors, expected, "an export that follows");
  }
  ending.abort();
  await Promise.all(followed.map(({ done }) => done));

  const linesOf = (index: number) => {
    try {
      return readFileSync(`${file}.${index}`, "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  };
  const lines = () => authorities.flatMap((_, index) => linesOf(index)).map((line) => JSON.parse(line));
  const total = NAMESPACES.length + AUTHORITIES * CHANGES;
  await until(() => lines().length >= total, { what: () => `${lines().length} of ${total} lines` });
  for (const { log } of authorities) await log.close();
  const places = lines().map(({ namespace, cursor }) => `${namespace} ${cursor}`);
  t.equal(new Set(places).size, total, "each record has a line");
  t.equal(places.length, total, "and only one");
  for (const [index] of authorities.entries()) {
    const own = linesOf(index).map((line) => Number(JSON.parse(line).revision));
    t.same(
      own,
      [...own].sort((a, b) => a - b),
      "in the order of revisions",
    );
  }
});
