import t from "tap";
import { Code } from "../../src/errors.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { isGood, open } from "./open.js";

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
