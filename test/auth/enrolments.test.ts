import t from "tap";
import { PORTICO } from "../../services/auth/journal.js";
import { Code } from "../../src/errors.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { openMemoryStore } from "../../src/store.js";
import { hashToken } from "../../src/token.js";
import { isGood, open, openJournal } from "./open.js";

t.test("an enrolment token is good until it is replaced or deleted", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  const first = await call(EnrolmentsService.create, { name: "greeter" }, token);
  t.match(first.secret, /^pte_/);
  t.ok(await isGood(opened, first.secret));
  const second = await call(EnrolmentsService.create, { name: "greeter" }, token);
  t.notOk(await isGood(opened, first.secret));
  t.ok(await isGood(opened, second.secret));
  t.match((await call(EnrolmentsService.list, {}, token)).enrolments, [second.enrolment]);
  await call(EnrolmentsService.delete, { name: "greeter" }, token);
  t.notOk(await isGood(opened, second.secret));
  await t.rejects(call(EnrolmentsService.delete, { name: "greeter" }, token), {
    code: Code.NOT_FOUND,
    message: "no enrolment with the name greeter",
  });
  await t.rejects(call(EnrolmentsService.create, { name: "Greeter" }, token), { code: Code.INVALID_ARGUMENT });
});

t.test("an enrolment is no account", async (t) => {
  const { call, login } = await open(t);
  const { secret } = await call(EnrolmentsService.create, { name: "greeter" }, await login());
  await t.rejects(call(EnrolmentsService.list, {}, secret), { code: Code.UNAUTHENTICATED });
});

t.test("there are at most 1,000 enrolments, and each may be replaced", async (t) => {
  const store = openMemoryStore();
  const { call, login } = await open(t, { store });
  const token = await login();
  const another = await openJournal(store);
  const names = Array.from({ length: 999 }, (_, index) => `service-${index}`);
  await another.commit(PORTICO, () =>
    names.map((name) => ({ $case: "enrolmentCreated", value: { name, sha256: hashToken(name) } })),
  );
  await call(EnrolmentsService.create, { name: "last" }, token);
  await t.rejects(call(EnrolmentsService.create, { name: "beyond" }, token), {
    code: Code.FAILED_PRECONDITION,
    message: "there are 1000 enrolments, the most there may be",
  });
  t.ok(await call(EnrolmentsService.create, { name: "last" }, token));
});
