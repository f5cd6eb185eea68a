import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { ALL_RECORDS } from "../../support/audit.js";
import { open, PASSWORD } from "./open.js";

t.test("the audit trail lists who did what, newest first; neither it nor the store has a secret", async (t) => {
  const { call, folder, close } = await open(t);
  const tokens = await call(AuthService.login, { account: "admin", password: PASSWORD, namespace: "" });
  const token = tokens.accessToken;
  const key = await call(KeysService.create, { name: "ci", lifetime: undefined, resources: [], from: [] }, token);
  const enrolment = await call(EnrolmentsService.create, { name: "greeter", replace: false }, token);
  await call(AccountsService.create, { name: "bob", password: "bob's own password", scopes: [] }, token);
  await call(RulesService.delete, { id: "default" }, token);
  const list = async (before: bigint, limit: number) =>
    (await call(AuditService.list, { ...ALL_RECORDS, before, limit }, token)).records;

  const records = await list(0n, 0);
  t.same(
    records.map(({ actor, action, subject }) => [actor, action, subject]),
    [
      ["admin", "rule deleted", "default"],
      ["admin", "account created", "bob"],
      ["admin", "enrolment created", "greeter"],
      ["admin", "key created", key.key?.prefix],
      ["admin", "logged in", "admin"],
      ["portico", "rule created", "default"],
      ["portico", "account created", "admin"],
      ["portico", "namespace created", "default"],
    ],
  );
  t.same(await list(0n, 2), records.slice(0, 2));
  t.same(await list(records[1]!.revision, 2), records.slice(2, 4));
  for (let limit = 1; limit < records.length; limit++) {
    const paged: typeof records = [];
    let before = 0n;
    do {
      const page = await call(AuditService.list, { ...ALL_RECORDS, before, limit }, token);
      paged.push(...page.records);
      before = page.nextBefore;
    } while (before > 0n);
    t.same(paged, records, `pages of ${limit} have every record: those of the first entry too`);
  }
  await t.rejects(list(0n, 1001), { code: Code.INVALID_ARGUMENT, message: /^limit: / });

  await close();
  const secrets = [PASSWORD, "bob's own password", token, tokens.refreshToken, key.secret, enrolment.secret];
  const trail = JSON.stringify(records, (_, value) => (typeof value === "bigint" ? `${value}` : value));
  const stored = readFileSync(join(folder, "portico.sqlite"), "latin1");
  // Entries are stored in base64.
  const text =
    trail + stored + stored.replace(/[A-Za-z0-9+/=]{40,}/g, (code) => Buffer.from(code, "base64").toString("latin1"));
  t.ok(text.includes(hashToken(key.secret).toString("latin1")), "the search would find a secret");
  for (const secret of secrets) t.notOk(text.includes(secret), secret);
});

t.test("the audit trail is filtered by account, action, text and time", async (t) => {
  let now = 1_800_000_000_000;
  const { call, login } = await open(t, { clock: () => now });
  const admin = await login();
  for (const name of ["bob", "eve"]) {
    now += 60_000;
    await call(AccountsService.create, { name, password: PASSWORD, scopes: [] }, admin);
  }
  const bob = await login("bob");
  await call(KeysService.create, { name: "ci", lifetime: undefined, resources: [], from: [] }, bob);
  const list = async (fields: Partial<typeof ALL_RECORDS>) => {
    const { records, nextBefore } = await call(AuditService.list, { ...ALL_RECORDS, ...fields }, admin);
    return { nextBefore, found: records.map(({ actor, action, subject }) => `${actor} ${action} ${subject}`) };
  };
  const at = (ms: number) => ({ seconds: BigInt(ms / 1000), nanos: 0 });
  const created = ["admin account created eve", "admin account created bob"];
  t.same((await list({ action: "account created", actor: "admin" })).found, created);
  t.same((await list({ filter: "EVE" })).found, created.slice(0, 1));
  t.same((await list({ filter: "account created", until: at(1_800_000_120_000) })).found.slice(0, 1), created.slice(1));
  t.same((await list({ action: "account created", from: at(1_800_000_120_000) })).found, created.slice(0, 1));
  t.match((await list({ actor: "bob" })).found, [/^bob key created ptk_/, "bob logged in bob"]);
  const first = await list({ action: "account created", limit: 1 });
  t.same(first.found, created.slice(0, 1));
  const second = await list({ action: "account created", limit: 1, before: first.nextBefore });
  t.same(second.found, created.slice(1), "the next page goes on where the last one ended");
  t.equal((await list({})).nextBefore, 0n, "the trail ends");
  await t.rejects(list({ filter: "x".repeat(257) }), { code: Code.INVALID_ARGUMENT, message: /^filter: / });
});
