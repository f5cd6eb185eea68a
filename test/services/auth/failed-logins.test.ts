// Failed logins are in the audit trail and in the log, however many there are, and cost little.
import pino from "pino";
import t from "tap";
import { FailedLogins, MAX_NAMED } from "../../../services/auth/login/failed-logins.js";
import { createToken } from "../../../src/access/token.js";
import { Code } from "../../../src/errors.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { openStore } from "../../../src/store/open.js";
import { open, openJournal, silent } from "./open.js";

t.test("a failed login is a record with account and address, and a line of the log", async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "warn" }, { write: (line) => lines.push(JSON.parse(line)) });
  const { call, login } = await open(t, { log });
  const token = await login();
  for (const account of ["admin", "admin", "nobody", createToken("access")]) {
    const wrong = call(AuthService.login, { account, password: "wrong password", namespace: "" });
    await t.rejects(wrong, { code: Code.UNAUTHENTICATED });
  }
  const failures = async () => {
    const { records } = await call(AuditService.list, { before: 0n, limit: 0 }, token);
    return records.filter(({ action }) => action === "login failed").reverse();
  };
  while ((await failures()).length < 3) await new Promise((resolve) => setImmediate(resolve));
  t.match(await failures(), [
    { actor: "admin", subject: /^from /, administrator: false },
    { actor: "nobody", subject: /^from / },
    { actor: "(no account's name)", subject: /^from / },
  ]);
  const logged = lines.filter(({ msg }) => msg === "a login failed");
  t.match(logged, [{ account: "admin", namespace: "default" }, { account: "admin" }, { account: "nobody" }, {}]);
  t.notMatch(JSON.stringify(lines), /pt[aekr]_/);
});

t.test("a flood costs ten entries and one more a minute", async (t) => {
  const { close, folder } = await open(t);
  await close();
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  const journal = await openJournal(store);
  const { revision } = journal.state;
  const failedLogins = new FailedLogins({ journal, log: silent });
  for (let count = 0; count < 5_000; count++) {
    const account = `a${count % 100}`;
    failedLogins.add({
      namespace: count % 2 ? "default" : "none",
      account,
      address: "192.0.2.1",
      requestId: undefined,
    });
  }
  await failedLogins.close();
  t.equal(journal.state.revision, revision + MAX_NAMED + 1);
  const audit = journal.state.namespaces.get("default")?.audit.records ?? [];
  t.match(audit.at(-1), { action: "login failed", actor: "", subject: `${5_000 - MAX_NAMED} more` });
  t.equal(audit.filter(({ action }) => action === "login failed").length, MAX_NAMED + 1);
  await journal.close();
});
