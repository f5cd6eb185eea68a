/** What `recoverAdmin` does while authorities run on the same store, on every kind of store. */

import pino from "pino";
import type { Test } from "tap";
import { recoverAdmin } from "../../services/auth/recover.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { isGood, type Open, open, PASSWORD, silent } from "../services/auth/open.js";
import { ALL_RECORDS } from "../support/audit.js";
import { CHEAP } from "../support/passwords.js";
import { temporaryFolder } from "../support/temporary.js";

const NEW_PASSWORD = "a new one, of many letters";

/**
 * What another administrator did to the account before, and what the audit trail then begins with.
 */
const BEFORE: readonly [what: string, act: (other: Act) => Promise<unknown>, trail: readonly string[]][] = [
  ["forgot the password", async () => undefined, ["password set"]],
  [
    "lost the scope",
    ({ call, token }) => call(AccountsService.setScopes, { name: "admin", scopes: ["editor"] }, token),
    ["password set", "scopes set"],
  ],
  [
    "was disabled",
    ({ call, token }) => call(AccountsService.setDisabled, { name: "admin", disabled: true }, token),
    ["password set", "account enabled"],
  ],
  ["was deleted", ({ call, token }) => call(AccountsService.delete, { name: "admin" }, token), ["account created"]],
];

interface Act {
  readonly call: Open["call"];
  readonly token: string;
}

/**
 * @param openDatabase makes a store, and returns a function that opens it once more, as each
 * process does
 * @param count number of authorities that run on it
 */
export function recoverContract(
  t: Test,
  openDatabase: (t: Test) => Promise<() => Promise<KeyValueStore>>,
  { count }: { readonly count: number },
): void {
  // Most of their time is the wait for leases to end.
  t.jobs = BEFORE.length + 1;
  for (const [what, act, trail] of BEFORE) {
    t.test(`an administrator who ${what} has a new password at every authority, once it returns`, async (t) => {
      const openStore = await openDatabase(t);
      const opened = async (): Promise<KeyValueStore> => {
        const store = await openStore();
        t.teardown(() => store.close());
        return store;
      };
      const authorities: Open[] = [];
      for (let index = 0; index < count; index++) authorities.push(await open(t, { store: await opened() }));
      const [first] = authorities as [Open];
      const admin = await first.login();
      const account = { name: "other", password: PASSWORD, scopes: ["admin"] };
      await first.call(AccountsService.create, account, admin);
      const other = await first.login("other");
      const old = await first.call(AuthService.login, { account: "admin", password: PASSWORD, namespace: "" });
      await act({ call: first.call, token: other });

      const dataFolder = temporaryFolder(t);
      const given = { dataFolder, password: NEW_PASSWORD, passwordCost: CHEAP, log: silent };
      await recoverAdmin({ store: await opened(), ...given });
      for (const authority of authorities) {
        t.notOk(await isGood(authority, old.accessToken), "the access token is good no longer");
        const refreshing = authority.call(AuthService.refresh, { refreshToken: old.refreshToken });
        await t.rejects(refreshing, /refresh_token: is unknown/);
        await t.rejects(authority.login(), /Wrong account or password/);
        const token = await authority.login("admin", NEW_PASSWORD);
        const { accounts } = await authority.call(AccountsService.list, { pageSize: 0, pageToken: "" }, token);
        t.ok(accounts.find(({ name }) => name === "admin")?.scopes.includes("admin"));
        t.ok(await isGood(authority, other), "others stay logged in");
        const { records } = await authority.call(AuditService.list, { ...ALL_RECORDS, limit: 99, before: 0n }, token);
        const done = records.filter(({ actor }) => actor === "portico").slice(0, trail.length);
        t.same(
          done.map(({ action }) => action),
          trail,
        );
      }
    });
  }

  t.test("another authority's guards do not accept an earlier login, and log no warning", async (t) => {
    const openStore = await openDatabase(t);
    const said: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void said.push(line) });
    const store = await openStore();
    t.teardown(() => store.close());
    const authority = await open(t, { store, log });
    await authority.login();
    const beside = await openStore();
    t.teardown(() => beside.close());
    const given = { dataFolder: temporaryFolder(t), password: NEW_PASSWORD, passwordCost: CHEAP, log: silent };
    await recoverAdmin({ store: beside, ...given });
    await authority.login("admin", NEW_PASSWORD);
    t.same(said, []);
  });
}
