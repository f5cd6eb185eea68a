import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openAuthority } from "../../../services/auth/authority.js";
import { bootstrap, firstEntry, passwordShown } from "../../../services/auth/bootstrap.js";
import { enrolNew } from "../../../services/auth/local-enrolment.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Passwords } from "../../../services/auth/login/passwords.js";
import { recoverAdmin } from "../../../services/auth/recover.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { hashToken } from "../../../src/call/token.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { PolicyService } from "../../../src/gen/portico/auth/v1/policy.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openServiceStore, openStore } from "../../../src/store/open.js";
import { ALL_RECORDS } from "../../support/audit.js";
import { CHEAP } from "../../support/passwords.js";
import { temporaryFolder } from "../../support/temporary.js";
import { HASH, type Open, open, openJournal, PASSWORD, silent } from "./open.js";

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const passwordFile = (folder: string) => join(folder, "admin-password");

t.test("the first start creates a password, and writes it and the enrolment tokens to files", async (t) => {
  const folder = join(temporaryFolder(t), "data");
  const { authority, login, call } = await open(t, { folder, fresh: true });
  const password = readFileSync(passwordFile(folder), "utf8").trim();
  t.same(authority.firstStart, { passwordFile: passwordFile(folder), password });
  t.match(password, /^[a-km-z2-9]{5}(-[a-km-z2-9]{5}){3}$/);
  const token = await login("admin", password);

  t.match((await call(RulesService.list, { pageSize: 0, pageToken: "" }, token)).rules, [
    { id: "default", scope: "<public>", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false },
  ]);
  t.match((await call(EnrolmentsService.list, {}, token)).enrolments, [{ name: "gateway" }, { name: "helloworld" }]);
  for (const name of ["gateway", "helloworld"]) {
    const file = join(folder, "enrolment", name);
    const sha256 = hashToken(readFileSync(file, "utf8").trim());
    const { results } = await call(PolicyService.batchResolve, { sha256: [sha256] }, undefined, { admission: SYSTEM });
    const caller = results[0]?.caller;
    t.equal(caller?.enrolment, name);
    t.equal(mode(file), "600");
  }
  t.equal(mode(folder), "700");
  t.equal(mode(passwordFile(folder)), "600");
  t.equal(mode(join(folder, "portico.sqlite")), "600");
  t.match((await call(AuditService.list, { ...ALL_RECORDS, before: 0n, limit: 0 }, token)).records.at(-1), {
    revision: 1n,
    actor: "portico",
    action: "namespace created",
  });
});

t.test("the password file is deleted when the password changes", async (t) => {
  const { authority, login, call, folder } = await open(t, { fresh: true });
  const token = await login("admin", authority.firstStart?.password);
  await call(AccountsService.create, { name: "second", password: PASSWORD, scopes: ["admin"] }, token);
  await call(
    AccountsService.setPassword,
    { name: "second", currentPassword: "", newPassword: "another password" },
    token,
  );
  t.ok(existsSync(passwordFile(folder)), "another's password leaves it");
  await call(AccountsService.setPassword, { name: "", currentPassword: "", newPassword: PASSWORD }, token);
  t.notOk(existsSync(passwordFile(folder)));
});

t.test("a password file that cannot be deleted delays nothing", async (t) => {
  const { authority, login, call, folder } = await open(t, { fresh: true });
  const token = await login("admin", authority.firstStart?.password);
  rmSync(passwordFile(folder));
  mkdirSync(passwordFile(folder));
  await call(AccountsService.setPassword, { name: "", currentPassword: "", newPassword: PASSWORD }, token);
  t.ok(await login("admin", PASSWORD));
});

t.test("a configured password is used, and not written to a file", async (t) => {
  const { authority, login, folder } = await open(t, { fresh: true, adminPassword: PASSWORD });
  t.equal(authority.firstStart, undefined);
  t.notOk(existsSync(passwordFile(folder)));
  t.ok(await login("admin", PASSWORD));
});

t.test("the second start changes nothing", async (t) => {
  const folder = temporaryFolder(t);
  const first = await open(t, { folder, fresh: true });
  const password = first.authority.firstStart?.password ?? "";
  passwordShown(folder);
  await first.close();
  const second = await open(t, { folder, fresh: true, adminPassword: "another password" });
  t.equal(second.authority.firstStart, undefined);
  t.equal(readFileSync(passwordFile(folder), "utf8").trim(), password);
  await t.rejects(second.login("admin", "another password"));
  t.ok(await second.login("admin", password));
});

t.test("each start returns the first password until it was shown", async (t) => {
  const folder = temporaryFolder(t);
  const passwordOf = async () => {
    const { authority, close } = await open(t, { folder, fresh: true });
    await close();
    return authority.firstStart?.password;
  };
  const password = await passwordOf();
  t.equal(password, readFileSync(passwordFile(folder), "utf8").trim());
  t.equal(await passwordOf(), password);
  passwordShown(folder);
  t.equal(await passwordOf(), undefined);
});

for (const [what, adminPassword] of Object.entries({ short: "eleven char", long: "x".repeat(129) })) {
  t.test(`a password that is too ${what} is refused`, (t) =>
    t.rejects(open(t, { fresh: true, adminPassword }), {
      name: "ConfigError",
      message: "PORTICO_ADMIN_PASSWORD must have 12 to 128 characters",
    }),
  );
}

t.test("a start completes an earlier one that crashed before it wrote its entry", async (t) => {
  const folder = temporaryFolder(t);
  await openStore("sqlite:", folder).then((store) => store.close());
  writeFileSync(passwordFile(folder), "left by the crashed one\n");
  const { authority, login } = await open(t, { folder, fresh: true });
  t.equal(authority.firstStart?.password, "left by the crashed one");
  t.ok(await login("admin", "left by the crashed one"));
});

t.test("a start refuses a file that no earlier start can have written", async (t) => {
  const folder = temporaryFolder(t);
  await openStore("sqlite:", folder).then((store) => store.close());
  writeFileSync(passwordFile(folder), "short");
  await t.rejects(open(t, { folder, fresh: true }), {
    message: `${passwordFile(folder)} is not what an earlier start wrote; delete it and start again`,
  });
});

t.test("there is no first start if services have data: their installation has lost its store", async (t) => {
  const folder = temporaryFolder(t);
  const services = await openServiceStore("sqlite:", folder);
  await services.claim("aaaaaaaa-0000-4000-8000-000000000000");
  await services.close();
  await t.rejects(open(t, { folder, fresh: true }), {
    message: /would set up a new installation beside it: put the store/,
  });
  t.notOk(existsSync(passwordFile(folder)));
  t.notOk(existsSync(join(folder, "enrolment")));
});

t.test("of many authorities that start at once on one store, one sets it up", async (t) => {
  const folder = temporaryFolder(t);
  const stores = await Promise.all(Array.from({ length: 5 }, () => openStore("sqlite:", folder)));
  t.teardown(() => Promise.all(stores.map((store) => store.close())));
  const options = { dataFolder: folder, passwordCost: CHEAP, maxRules: 9, leaseMs: 500, log: silent };
  const opened = await Promise.all(stores.map((store) => openAuthority({ ...options, store })));
  t.teardown(() => Promise.all(opened.map((authority) => authority.close())));
  t.equal(opened.filter(({ firstStart }) => firstStart).length, 1);
  t.same(await collectionOf(stores[0]!, "log").keys(), ["0000000000000001"]);
  t.same(readdirSync(folder).sort(), [
    "admin-password",
    "admin-password-unshown",
    "enrolment",
    "installation-id",
    "portico.sqlite",
    "portico.sqlite-shm",
    "portico.sqlite-wal",
    "store-location",
  ]);
  const { login } = await open(t, { store: stores[0]!, folder });
  t.ok(await login("admin", readFileSync(passwordFile(folder), "utf8").trim()));
});

/** Which files of the other process show the installation to an authority that starts with it. */
const SHOWN_BY: Record<string, readonly string[]> = {
  "its record in the data folder": ["store-location", "installation-id"],
  "data of its services": ["services.sqlite"],
};
for (const [what, files] of Object.entries(SHOWN_BY)) {
  t.test(`an authority that read the log before another set it up uses that installation: ${what}`, async (t) => {
    const folder = temporaryFolder(t);
    const store = await openStore("sqlite:", folder);
    t.teardown(() => store.close());
    const journal = await openJournal(store);
    const other = await open(t, { folder, fresh: true, adminPassword: PASSWORD });
    const services = await openServiceStore("sqlite:", folder, { isNew: true });
    await services.claim(other.authority.installationId);
    await services.close();
    for (const file of Object.values(SHOWN_BY).flat()) if (!files.includes(file)) rmSync(join(folder, file));
    const options = { journal, store: store.name, passwords: new Passwords(CHEAP), dataFolder: folder, log: silent };
    t.equal(await bootstrap({ ...options, adminPassword: undefined }), undefined);
    t.equal(journal.state.installationId, other.authority.installationId);
  });
}

t.test(
  "a password that no start has shown is not shown if it was changed since, and its file is deleted",
  async (t) => {
    const folder = temporaryFolder(t);
    const { authority, close } = await open(t, { folder, fresh: true });
    const { password } = authority.firstStart!;
    await close();
    const store = await openStore("sqlite:", folder, { mustExist: true });
    await recoverAdmin({ store, dataFolder: folder, password: PASSWORD, passwordCost: CHEAP, log: silent });
    await store.close();
    // The recovery was killed before it deleted the files.
    for (const file of ["admin-password", "admin-password-unshown"]) writeFileSync(join(folder, file), password);
    t.equal((await open(t, { folder, fresh: true })).authority.firstStart, undefined);
    t.same(
      readdirSync(folder).filter((name) => name.startsWith("admin-password")),
      [],
    );
  },
);

t.test("the file of a password is deleted if another process sets up the store with another password", async (t) => {
  const folder = temporaryFolder(t);
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  const enrolment = (name: string) => ({ name, token: readFileSync(join(folder, "enrolment", name), "utf8").trim() });
  class Late extends Passwords {
    override async hash(password: string) {
      const other = await openJournal(store);
      await other.commit(PORTICO, () => firstEntry(HASH, ["gateway", "helloworld"].map(enrolment)));
      return super.hash(password);
    }
  }
  const options = { journal: await openJournal(store), store: store.name, passwords: new Late(CHEAP), log: silent };
  t.equal(await bootstrap({ ...options, dataFolder: folder, adminPassword: undefined }), undefined);
  t.same(
    readdirSync(folder).filter((name) => name.startsWith("admin-password")),
    [],
  );
});

t.test("a start enrols services that are new to the store, but not services whose enrolment was deleted", async (t) => {
  const folder = temporaryFolder(t);
  const enrolled = async (services: readonly string[], change?: (opened: Open, token: string) => Promise<unknown>) => {
    const opened = await open(t, { folder, services });
    const token = await opened.login();
    await change?.(opened, token);
    const { enrolments } = await opened.call(EnrolmentsService.list, {}, token);
    await opened.close();
    return enrolments.map(({ name }) => name);
  };
  t.same(await enrolled(["id", "cache"]), ["cache", "id"]);
  t.same(readdirSync(join(folder, "enrolment")).sort(), ["cache", "id"]);
  const remove = ({ call }: Open, token: string) => call(EnrolmentsService.delete, { name: "id", id: "" }, token);
  t.same(await enrolled(["id", "cache", "db"], remove), ["cache", "db"], "a later version may have more services");
  t.same(await enrolled(["id", "cache", "db"]), ["cache", "db"], "what was deleted stays deleted");
});

t.test(
  "of two authorities with data folders of their own that enrol a service at once, one has the token",
  async (t) => {
    const store = await openStore("sqlite:", temporaryFolder(t));
    t.teardown(() => store.close());
    const folders = [temporaryFolder(t), temporaryFolder(t)];
    const journals = await Promise.all(folders.map(() => openJournal(store)));
    for (const [index, journal] of journals.entries())
      await enrolNew({ journal, dataFolder: folders[index]!, services: ["id"], log: silent });
    t.same(
      folders.map((folder) => readdirSync(join(folder, "enrolment"))),
      [["id"], []],
    );
  },
);
