import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { isGood, open, openJournal } from "./open.js";

const replace = { replace: true };
const beside = { replace: false };

t.test("several enrolment tokens of one name are valid at the same time", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  const first = await call(EnrolmentsService.create, { name: "greeter", ...beside }, token);
  const second = await call(EnrolmentsService.create, { name: "greeter", ...beside }, token);
  t.match(first.secret, /^pte_/);
  t.ok(await isGood(opened, first.secret), "the first stays good");
  t.ok(await isGood(opened, second.secret));
  const listed = (await call(EnrolmentsService.list, {}, token)).enrolments;
  t.match(listed, [
    { name: "greeter", id: first.secret.slice(0, 10) },
    { name: "greeter", id: second.secret.slice(0, 10) },
  ]);
});

t.test("one of several enrolments is deleted by its ID", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  const first = await call(EnrolmentsService.create, { name: "greeter", ...beside }, token);
  const second = await call(EnrolmentsService.create, { name: "greeter", ...beside }, token);
  await call(EnrolmentsService.delete, { name: "greeter", id: first.enrolment?.id ?? "" }, token);
  t.notOk(await isGood(opened, first.secret));
  t.ok(await isGood(opened, second.secret));
  await t.rejects(call(EnrolmentsService.delete, { name: "greeter", id: "pte_000000" }, token), {
    code: Code.NOT_FOUND,
    message: "no enrolment of greeter with the ID pte_000000",
  });
});

t.test("all enrolments of a name are deleted, or replaced, by the name", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  const first = await call(EnrolmentsService.create, { name: "greeter", ...beside }, token);
  const second = await call(EnrolmentsService.create, { name: "greeter", ...replace }, token);
  t.notOk(await isGood(opened, first.secret), "replaced");
  t.ok(await isGood(opened, second.secret));
  const third = await call(EnrolmentsService.create, { name: "greeter", ...beside }, token);
  await call(EnrolmentsService.delete, { name: "greeter", id: "" }, token);
  t.notOk((await isGood(opened, second.secret)) || (await isGood(opened, third.secret)));
  await t.rejects(call(EnrolmentsService.delete, { name: "greeter", id: "" }, token), {
    code: Code.NOT_FOUND,
    message: "no enrolment with the name greeter",
  });
  await t.rejects(call(EnrolmentsService.create, { name: "Greeter", ...beside }, token), {
    code: Code.INVALID_ARGUMENT,
  });
});

t.test("an enrolment token does not log in", async (t) => {
  const { call, login } = await open(t);
  const { secret } = await call(EnrolmentsService.create, { name: "greeter", replace: false }, await login());
  await t.rejects(call(EnrolmentsService.list, {}, secret), { code: Code.UNAUTHENTICATED });
});

t.test("there are at most 1,000 enrolments, and each can be replaced", async (t) => {
  const store = openMemoryStore();
  const { call, login } = await open(t, { store });
  const token = await login();
  const another = await openJournal(store);
  const names = Array.from({ length: 999 }, (_, index) => `service-${index}`);
  await another.commit(PORTICO, () =>
    names.map((name) => ({
      $case: "enrolmentCreated",
      value: { name, sha256: hashToken(name), beside: true, prefix: "" },
    })),
  );
  await call(EnrolmentsService.create, { name: "last", replace: false }, token);
  await t.rejects(call(EnrolmentsService.create, { name: "beyond", replace: false }, token), {
    code: Code.FAILED_PRECONDITION,
    message: "there are 1000 enrolments, the most there may be; delete some",
  });
  t.ok(await call(EnrolmentsService.create, { name: "last", ...replace }, token));
});

t.test("only deleting a gateway's token replaces the secret of all assertion keys", async (t) => {
  const store = openMemoryStore();
  const { call, login } = await open(t, { store });
  const token = await login();
  const secret = async () => (await openJournal(store)).state.contextSecret.toString("hex");
  const first = await secret();
  for (const name of ["greeter", "gateway"]) await call(EnrolmentsService.create, { name, ...beside }, token);
  await call(EnrolmentsService.delete, { name: "greeter", id: "" }, token);
  t.equal(await secret(), first);
  await call(EnrolmentsService.delete, { name: "gateway", id: "" }, token);
  t.not(await secret(), first);
});
