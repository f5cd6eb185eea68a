import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { isGood, open, openJournal } from "./open.js";

t.test("a new namespace has an administrator and no rules, and its own accounts", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  const { adminPassword } = await call(NamespacesService.create, { name: "other" }, token);
  const names = async () => (await call(NamespacesService.list, {}, token)).namespaces.map(({ name }) => name);
  t.same(await names(), ["default", "other"]);

  const other = await login("admin", adminPassword, "other");
  t.match(await call(AuthService.whoAmI, {}, other), { namespace: "other", account: "admin", scopes: ["admin"] });
  t.same((await call(RulesService.list, { pageSize: 0, pageToken: "" }, other)).rules, []);
  t.match((await call(AccountsService.list, { pageSize: 0, pageToken: "" }, other)).accounts, [{ name: "admin" }]);
  await t.rejects(login("admin", adminPassword), { code: Code.UNAUTHENTICATED }, "not an account of default");

  await t.test("its administrator manages neither namespaces nor enrolments", async (t) => {
    const calls = [
      call(NamespacesService.list, {}, other),
      call(NamespacesService.create, { name: "third" }, other),
      call(NamespacesService.delete, { name: "other" }, other),
      call(EnrolmentsService.list, {}, other),
      call(EnrolmentsService.create, { name: "greeter", replace: false }, other),
      call(EnrolmentsService.delete, { name: "gateway", id: "" }, other),
    ];
    for (const refused of calls) {
      await t.rejects(refused, {
        code: Code.PERMISSION_DENIED,
        message: /^Only administrators of the namespace default/,
      });
    }
  });

  await t.test("is deleted with all its accounts and tokens", async (t) => {
    await call(NamespacesService.delete, { name: "other" }, token);
    t.notOk(await isGood(opened, other));
    await t.rejects(login("admin", adminPassword, "other"), { code: Code.UNAUTHENTICATED });
    t.same(await names(), ["default"]);
  });

  await t.test("refusals give the reason", async (t) => {
    const refused: [act: () => Promise<unknown>, code: Code, message: RegExp][] = [
      [() => call(NamespacesService.create, { name: "default" }, token), Code.ALREADY_EXISTS, /default exists already/],
      [() => call(NamespacesService.create, { name: "Other" }, token), Code.INVALID_ARGUMENT, /^name: /],
      [() => call(NamespacesService.delete, { name: "default" }, token), Code.FAILED_PRECONDITION, /default stays/],
      [() => call(NamespacesService.delete, { name: "x" }, token), Code.NOT_FOUND, /^no namespace with the name x$/],
    ];
    for (const [act, code, message] of refused) await t.rejects(act(), { code, message });
  });
});

t.test("there are at most 1,000 namespaces", async (t) => {
  const store = openMemoryStore();
  const { call, login } = await open(t, { store });
  const token = await login();
  const another = await openJournal(store);
  const names = Array.from({ length: 998 }, (_, index) => `namespace-${index}`);
  await another.commit(PORTICO, () => names.map((name) => ({ $case: "namespaceCreated", value: { name } })));
  await call(NamespacesService.create, { name: "last" }, token);
  await t.rejects(call(NamespacesService.create, { name: "beyond" }, token), {
    code: Code.FAILED_PRECONDITION,
    message: "there are 1000 namespaces, the most there may be",
  });
});
