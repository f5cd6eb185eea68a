// One guard counts calls against each kind of limit, on a real authority.
import t from "tap";
import { Per } from "../../src/gen/portico/auth/v1/limits.js";
import { callOnce, ENDPOINT, grantedOf, isRefused, openLimited } from "./guards.js";

t.test("without limits a call is not counted, and waits for nothing", async (t) => {
  const { guard } = await openLimited(t);
  const open = await guard();
  const admission = await open.admit({ token: undefined, namespace: undefined, tokenRequired: false }, ENDPOINT);
  t.equal(open.count(admission, { address: "192.0.2.1", asserted: false }), undefined);
});

t.test("a rate grants its burst, and refuses the next call with the time to wait", async (t) => {
  const { guard, create } = await openLimited(t);
  const open = await guard();
  await create({ id: "slow", rate: "6/m", burst: 3n });
  t.equal(await grantedOf(open, 10), 3);
  const refused = await callOnce(open);
  t.ok(isRefused(refused));
  if (!isRefused(refused)) return;
  t.match(refused.message, /^Limit slow allows all callers together 6 calls a minute; try again in (9|10) s$/);
  t.match(refused.state, { limit: "slow", quota: 6, window: 60, remaining: 0 });
});

t.test("each account, key and address has its own", async (t) => {
  const { guard, create, token } = await openLimited(t);
  const open = await guard();
  await create({ id: "account", per: Per.ACCOUNT, rate: "2/d", burst: 2n });
  t.equal(await grantedOf(open, 5, { token }), 2);
  t.equal(await grantedOf(open, 5), 5, "a call without an account is not counted by account");
  await create({ id: "address", per: Per.ADDRESS, rate: "3/d", burst: 3n });
  t.equal(await grantedOf(open, 5, { address: "192.0.2.7" }), 3);
  t.equal(await grantedOf(open, 5, { address: "192.0.2.8" }), 3);
  t.equal(await grantedOf(open, 5, { address: "2001:db8:1:2::1" }), 3);
  t.equal(await grantedOf(open, 5, { address: "2001:db8:1:2::2" }), 0, "the same /64");
});

t.test("several limits must all allow a call; a refused one takes nothing from the others", async (t) => {
  const limited = await openLimited(t);
  const { guard, create } = limited;
  const open = await guard();
  await create({ id: "small", rate: "1/d", burst: 1n });
  await create({ id: "large", rate: "5/d", burst: 5n });
  t.equal(await grantedOf(open, 4), 1);
  const { delete: remove } = limited;
  await remove("small");
  t.equal(await grantedOf(open, 10), 4);
});

t.test("a quota holds for its day, and is on disk", async (t) => {
  const limited = await openLimited(t);
  const open = await limited.guard();
  await limited.create({ id: "daily", quota: "7/day" });
  t.equal(await grantedOf(open, 20), 7);
  const refused = await callOnce(open);
  t.ok(isRefused(refused) && refused.retryAfter <= 86_400);
});

t.test("calls at once: the end of one lets the next one in", async (t) => {
  const { guard, create } = await openLimited(t);
  const open = await guard();
  await create({ id: "two", concurrent: 2 });
  const first = await callOnce(open);
  const second = await callOnce(open);
  t.ok(isRefused(await callOnce(open)));
  if (first === undefined || isRefused(first) || second === undefined || isRefused(second)) return t.fail("refused");
  first.end();
  const third = await callOnce(open);
  t.notOk(isRefused(third));
  t.ok(isRefused(await callOnce(open)));
});

t.test("a shadow refuses nothing, and counts whom it would have refused", async (t) => {
  const { guard, create } = await openLimited(t);
  const open = await guard();
  await create({ id: "shadow", rate: "2/d", burst: 2n, shadow: true });
  t.equal(await grantedOf(open, 10), 10);
});

t.test("a change holds when the command returns", async (t) => {
  const limited = await openLimited(t);
  const open = await limited.guard();
  await limited.create({ id: "changing", rate: "1/d", burst: 1n });
  t.equal(await grantedOf(open, 3), 1);
  await limited.set({ id: "changing", rate: "1000/s", burst: 1000n });
  await limited.delete("changing");
  t.equal(await grantedOf(open, 30), 30);
  await limited.create({ id: "changing", rate: "1/d", burst: 4n });
  t.equal(await grantedOf(open, 30), 4);
});

t.test("several guards share one limit", async (t) => {
  const limited = await openLimited(t);
  const guards = await Promise.all([limited.guard(), limited.guard(), limited.guard()]);
  await limited.create({ id: "shared", rate: "10/d", burst: 10n });
  const granted = await Promise.all(guards.map((open) => grantedOf(open, 10)));
  t.equal(
    granted.reduce((sum, one) => sum + one, 0),
    10,
    `${granted}`,
  );
});
