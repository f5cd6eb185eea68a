// Failed logins are in the audit trail and in the log, and cost little, however many there are.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import t, { type Test } from "tap";
import { State } from "../../../services/auth/log/state/state.js";
import { Attempts, LoginThrottle } from "../../../services/auth/login/attempts.js";
import { FailedLogins, MAX_NAMED } from "../../../services/auth/login/failed-logins.js";
import { Passwords } from "../../../services/auth/login/passwords.js";
import { createToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { openStore } from "../../../src/store/open.js";
import { ALL_RECORDS } from "../../support/audit.js";
import { CHEAP } from "../../support/passwords.js";
import { open, openJournal, PASSWORD, silent } from "./open.js";

/** A password typed into the wrong field. It is a valid name of an account and of a namespace. */
const MISPLACED = "hunter2-of-the-wrong-field";

/** The failed logins in the audit trail, newest first. */
async function failures(call: Awaited<ReturnType<typeof open>>["call"], token: string) {
  const { records } = await call(AuditService.list, { ...ALL_RECORDS, before: 0n, limit: 0 }, token);
  return records.filter(({ action }) => action === "login failed");
}

t.test("a failed login has a record with account and address, and a log line", async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "warn" }, { write: (line) => lines.push(JSON.parse(line)) });
  const { call, login, close, folder } = await open(t, { log });
  const token = await login();
  const attempt = (account: string, clientAddress: string, namespace = "", requestId = "another") => {
    const more = { clientAddress, metadata: [["x-request-id", requestId]] as const };
    const request = { account, password: "wrong password", namespace };
    return t.rejects(call(AuthService.login, request, undefined, more), { code: Code.UNAUTHENTICATED });
  };
  await attempt("admin", "192.0.2.1", "", "request-1");
  await attempt("admin", "192.0.2.1");
  await attempt(MISPLACED, "192.0.2.2");
  await attempt(createToken("access"), "192.0.2.3");
  await attempt("admin", "192.0.2.4", MISPLACED);
  while ((await failures(call, token)).length < 4) await new Promise((resolve) => setImmediate(resolve));
  const unknown = "unknown account";
  t.match((await failures(call, token)).reverse(), [
    { actor: "admin", subject: "from 192.0.2.1", administrator: false, address: "192.0.2.1", requestId: "request-1" },
    { actor: unknown, subject: "from 192.0.2.2" },
    { actor: unknown, subject: "from 192.0.2.3" },
    { actor: unknown, subject: "from 192.0.2.4" },
  ]);
  const logged = lines.filter(({ msg }) => msg === "a login failed");
  t.match(logged, [
    { account: "admin", namespace: "default", address: "192.0.2.1" },
    { account: "admin", namespace: "default", address: "192.0.2.1" },
    { account: unknown, namespace: "default", address: "192.0.2.2" },
    { account: unknown, namespace: "default", address: "192.0.2.3" },
    { account: unknown, namespace: "unknown namespace", address: "192.0.2.4" },
  ]);
  t.notMatch(JSON.stringify(lines), MISPLACED);
  t.notMatch(JSON.stringify(lines), /pt[aekr]_/);
  await close();
  t.notMatch(contentsOf(folder), MISPLACED, "nor is it in the store");
});

/** The content of all files in a folder, as text with one character per byte. */
function contentsOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1")).join("");
}

t.test("attempts for an unknown account are throttled, and its name is not recorded", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line) => lines.push(line) });
  const { call } = await open(t, { log });
  const attempt = () => call(AuthService.login, { account: MISPLACED, password: "wrong password", namespace: "" });
  for (let count = 0; count < 5; count++) await t.rejects(attempt(), { code: Code.UNAUTHENTICATED });
  const refusal = await attempt().catch((error) => error);
  t.match(refusal, { code: Code.RESOURCE_EXHAUSTED });
  t.notMatch(`${refusal.message} ${lines.join("")}`, MISPLACED);
  t.equal(lines.filter((line) => line.includes("a login was refused")).length, 1);
});

t.test("attempts that the throttle refuses are counted as failed logins", async (t) => {
  const { call, login, close, folder } = await open(t);
  const token = await login();
  const attempt = (password: string) => call(AuthService.login, { account: "admin", password, namespace: "" });
  for (let count = 0; count < 5; count++) await t.rejects(attempt("wrong password"), { code: Code.UNAUTHENTICATED });
  for (let count = 0; count < 3; count++) await t.rejects(attempt(PASSWORD), { code: Code.RESOURCE_EXHAUSTED });
  // The response to a login does not wait until its failure is recorded.
  while ((await failures(call, token)).length === 0) await new Promise((resolve) => setImmediate(resolve));
  t.equal((await failures(call, token)).length, 1, "one at once");
  await close();
  t.match(await failuresIn(t, folder), [{ actor: "admin" }, { actor: "", subject: "7 more" }]);
});

t.test("an attempt that is refused at once has a record of its own", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line) => lines.push(line) });
  const recorded: unknown[] = [];
  const failedLogins = new FailedLogins({
    journal: {
      state: stateWith("bob"),
      commit: async (_author, decide) => recorded.push(...decide(new State(), 0)),
    },
    log,
  });
  const throttle = new LoginThrottle({ clock: () => 0 });
  const who = { namespace: "default", account: "bob", address: "192.0.2.1", requestId: "r1" };
  for (let failure = 1; failure <= 6; failure++) throttle.failed(who.namespace, who.account, who.address);
  const attempts = new Attempts({ passwords: new Passwords(CHEAP), throttle, failedLogins });
  const readHash = () => t.fail("nothing is read for it") as never;
  await t.rejects(attempts.verify(who, PASSWORD, readHash), { code: Code.RESOURCE_EXHAUSTED });
  await failedLogins.close();
  t.match(recorded, [{ $case: "loginsFailed", value: { account: "bob", address: "192.0.2.1", count: 1n } }]);
  t.same(lines, [], "a flood of them costs no lines in the log");
});

function stateWith(account: string): State {
  const state = new State();
  state.addNamespace({ name: "default", created: undefined, id: undefined });
  state.addAccount("default", { name: account, scopes: [], created: undefined, password: undefined });
  return state;
}

t.test("a wrong current password is a failed login", async (t) => {
  const { call, login, close, folder } = await open(t);
  const create = { name: "bob", password: PASSWORD, scopes: [] };
  await call(AccountsService.create, create, await login());
  const token = await login("bob");
  const change = { name: "", currentPassword: "wrong password", newPassword: `${PASSWORD}!` };
  const wrong = call(AccountsService.setPassword, change, token, { clientAddress: "192.0.2.7" });
  await t.rejects(wrong, { code: Code.PERMISSION_DENIED, message: "current_password: is wrong" });
  await close();
  t.match(await failuresIn(t, folder), [{ actor: "bob", subject: "from 192.0.2.7", administrator: false }]);
});

/** The failed logins in the audit trail of a store, oldest first. */
async function failuresIn(t: Test, folder: string) {
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  const { audit } = await openJournal(store);
  const records = await audit.list("default", { limit: 1_000 });
  return records.reverse().filter(({ action }) => action === "login failed");
}

t.test("a flood of failed logins adds ten log entries and one more per minute", async (t) => {
  const { close, folder } = await open(t);
  await close();
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  const journal = await openJournal(store);
  const { revision } = journal.state;
  const failedLogins = new FailedLogins({ journal, log: silent });
  for (let count = 0; count < 5_000; count++) {
    failedLogins.add({
      namespace: count % 2 ? "default" : "none",
      account: `a${count}`,
      address: `192.0.2.${count % 100}`,
      requestId: undefined,
    });
  }
  await failedLogins.close();
  t.equal(journal.state.revision, revision + MAX_NAMED + 1);
  const audit = (await journal.audit.list("default", { limit: 1_000 })).reverse();
  t.match(audit.at(-1), { action: "login failed", actor: "", subject: `${5_000 - MAX_NAMED} more` });
  t.equal(audit.filter(({ action }) => action === "login failed").length, MAX_NAMED + 1);
  await journal.close();
});
