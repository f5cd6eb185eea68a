// How often endpoints are called: what gateways report, and what administrators see.
import t from "tap";
import { SYSTEM } from "../../../src/access/guard.js";
import { createToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { type ListUsageRequest, type Tally, UsageService } from "../../../src/gen/portico/auth/v1/usage.js";
import { temporaryFolder } from "../../support/temporary.js";
import { type Open, open, PASSWORD } from "./open.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Noon of a day. */
const NOON = Math.floor(1_800_000_000_000 / DAY) * DAY + DAY / 2;

/** `fast` calls of at most 0.5 ms, and `slow` calls of up to 50 ms. */
const tally = (fast: number, { slow = 0, ...fields }: Partial<Tally> & { slow?: number } = {}): Tally => ({
  namespace: "default",
  service: "helloworld",
  endpoint: "Helloworld.Call",
  clientErrors: 0n,
  serverErrors: 0n,
  byTime: [fast, 0, 0, 0, 0, 0, slow].map(BigInt),
  ...{ byStatus: [], account: "", key: "" },
  ...fields,
});

let sequence = 0n;
const report = ({ call }: Open, ...tallies: Tally[]) =>
  call(
    UsageService.report,
    { reporter: "gateway 1", sequence: ++sequence, tallies: { tallies, callers: [] } },
    undefined,
    {
      admission: SYSTEM,
    },
  );

const seconds = (ms: number) => ({ seconds: BigInt(ms / 1000), nanos: 0 });
const anHour: ListUsageRequest = {
  ...{ span: undefined, start: undefined },
  ...{ service: "", endpoint: "", account: "", key: "" },
};

async function list({ call, login }: Open, fields: Partial<ListUsageRequest> = {}) {
  const response = await call(UsageService.list, { ...anHour, ...fields }, await login());
  return {
    period: Number(response.period?.seconds) * 1000,
    periods: response.periods.map(({ start, calls }) => [Number(start?.seconds) * 1000, Number(calls?.total)] as const),
    endpoints: response.endpoints,
    accounts: response.accounts,
    keys: response.keys,
  };
}

const called = (periods: readonly (readonly [start: number, calls: number])[]) =>
  periods.filter(([, calls]) => calls > 0);

t.test("calls are summed up per minute and per endpoint", async (t) => {
  let now = NOON;
  const opened = await open(t, { clock: () => now });
  await report(
    opened,
    tally(3, { slow: 1, clientErrors: 2n, serverErrors: 1n }),
    tally(1, { endpoint: "Helloworld.Stream" }),
  );
  await report(opened, tally(6), tally(7, { service: "auth", endpoint: "Auth.Login" }));
  await report(opened, tally(1, { service: "gateway", endpoint: "Health.Check" }));
  now += 5 * MINUTE;
  await report(opened, tally(1));
  const { period, periods, endpoints } = await list(opened);
  t.equal(period, MINUTE);
  t.equal(periods.length, 60);
  t.equal(periods.at(-1)?.[0], NOON + 5 * MINUTE, "the last one is still running");
  t.same(called(periods), [
    [NOON, 11],
    [NOON + 5 * MINUTE, 1],
  ]);
  t.match(endpoints, [
    { service: "helloworld", endpoint: "Helloworld.Call", calls: { total: 11n, clientErrors: 2n, serverErrors: 1n } },
    { service: "helloworld", endpoint: "Helloworld.Stream", calls: { total: 1n } },
  ]);
  t.match((await list(opened, { service: "auth" })).endpoints, [{ endpoint: "Auth.Login", calls: { total: 7n } }]);
  const stream = await list(opened, { service: "helloworld", endpoint: "Helloworld.Stream" });
  t.same(called(stream.periods), [[NOON, 1]]);
});

const byStatus = (...counts: number[]) => counts.map(BigInt);
/** The calls of a caller. */
const of = (account: string, key: string, fast: number, fields: Partial<Tally> = {}) =>
  tally(fast, { service: "", endpoint: "", account, key, ...fields });

const reportCallers = ({ call }: Open, ...callers: Tally[]) =>
  call(
    UsageService.report,
    { reporter: "gateway 1", sequence: ++sequence, tallies: { tallies: [], callers } },
    undefined,
    {
      admission: SYSTEM,
    },
  );

t.test("calls are counted by class of status; an earlier gateway reports only the sums", async (t) => {
  const opened = await open(t);
  await report(opened, tally(20, { clientErrors: 12n, serverErrors: 1n, byStatus: byStatus(1, 2, 3, 4, 1) }));
  await report(opened, tally(5, { endpoint: "Old.Call", clientErrors: 2n, serverErrors: 1n }));
  const [now, before] = (await list(opened)).endpoints.map(({ calls }) => calls!);
  t.match(now, { ok: 7n, badRequest: 1n, unauthorized: 2n, forbidden: 3n, notFound: 4n, tooManyRequests: 1n });
  t.match(now, { otherClientErrors: 1n, serverErrors: 1n, clientErrors: 12n, total: 20n });
  t.match(before, { ok: 2n, badRequest: 0n, otherClientErrors: 2n, serverErrors: 1n });
});

t.test("calls are listed by account and by API key", async (t) => {
  const opened = await open(t);
  await report(opened, tally(10));
  const denied = { clientErrors: 1n, byStatus: byStatus(0, 0, 1) };
  await reportCallers(opened, of("ada", "", 1), of("ada", "ptk_111111", 4, denied), of("bob", "ptk_222222", 3));
  await reportCallers(opened, of("<public>", "", 9), of("", "", 1));
  const all = await list(opened);
  const rows = (listed: typeof all) => ({
    accounts: listed.accounts.map(({ account, calls }) => [account, Number(calls?.total)]),
    keys: listed.keys.map(({ key, account, calls }) => [key, account, Number(calls?.total)]),
  });
  t.same(rows(all), {
    accounts: [
      ["<public>", 9],
      ["ada", 5],
      ["bob", 3],
      ["", 1],
    ],
    keys: [
      ["ptk_111111", "ada", 4],
      ["ptk_222222", "bob", 3],
      ["", "", 1],
    ],
  });
  t.equal(called(all.periods)[0]?.[1], 10, "the sum adds up endpoints, not callers");
  const ada = await list(opened, { account: "ada" });
  t.same(rows(ada), { accounts: [["ada", 5]], keys: [["ptk_111111", "ada", 4]] });
  t.equal(called(ada.periods)[0]?.[1], 5);
  t.same(ada.endpoints, []);
  const key = await list(opened, { key: "ptk_111111" });
  t.equal(called(key.periods)[0]?.[1], 4);
  t.match(key.accounts, [{ account: "ada", calls: { ok: 3n, forbidden: 1n } }]);
  t.same(rows(await list(opened, { service: "helloworld" })), { accounts: [], keys: [] });
});

t.test("an account sees its own calls and no others", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: [] }, await login());
  await reportCallers(opened, of("ada", "ptk_111111", 4), of("bob", "ptk_222222", 3), of("", "", 8));
  const bob = await login("bob");
  const own = await call(UsageService.list, { ...anHour, account: "bob" }, bob);
  t.match(own.keys, [{ key: "ptk_222222", calls: { total: 3n } }]);
  t.equal(own.keys.length, 1);
  const foreign = await call(UsageService.list, { ...anHour, account: "bob", key: "ptk_111111" }, bob);
  t.same([foreign.accounts, foreign.keys], [[], []]);
  for (const fields of [{}, { account: "ada" }, { key: "ptk_222222" }, { service: "helloworld" }]) {
    await t.rejects(call(UsageService.list, { ...anHour, ...fields }, bob), { code: Code.PERMISSION_DENIED });
  }
});

t.test("a time range has its own start", async (t) => {
  let now = NOON - 2 * DAY;
  const opened = await open(t, { clock: () => now });
  for (const at of [NOON - 2 * DAY, NOON - 30 * MINUTE, NOON - 10 * MINUTE, NOON]) {
    now = at;
    await report(opened, tally(1));
  }
  const from = (ms: number) => ({ seconds: BigInt(ms / 1000), nanos: 0 });
  const some = await list(opened, { start: from(NOON - 30 * MINUTE), span: seconds(20 * MINUTE) });
  t.equal(some.period, MINUTE);
  t.equal(some.periods.length, 20);
  t.same(called(some.periods), [[NOON - 30 * MINUTE, 1]], "the end does not belong to it");
  t.match(some.endpoints, [{ calls: { total: 1n } }]);
  const old = await list(opened, { start: from(NOON - 2 * DAY), span: seconds(10 * MINUTE) });
  t.equal(old.period, HOUR, "minutes are stored for three hours");
  t.same(old.periods, [[NOON - 2 * DAY, 1]]);
  t.equal((await list(opened, { start: from(NOON - 5 * MINUTE) })).periods.at(-1)?.[0], NOON, "no future periods");
});

t.test("durations are estimated from counts", async (t) => {
  const opened = await open(t);
  await report(opened, tally(90, { slow: 10 }));
  const [usage] = (await list(opened)).endpoints;
  t.equal(usage?.calls?.medianMs, 0.28, "the 50th of 90 between 0 and 0.5 ms");
  t.equal(usage?.calls?.p95Ms, 37.5, "the 5th of 10 between 25 and 50 ms");
});

t.test("long spans are shown per hour and per day", async (t) => {
  let now = NOON - 30 * DAY;
  const opened = await open(t, { clock: () => now });
  for (const [at, calls] of [
    [NOON - 20 * DAY, 1],
    [NOON - 6 * DAY, 2],
    [NOON - 6 * DAY + HOUR, 4],
    [NOON - 2 * MINUTE, 8],
    [NOON, 16],
  ] as const) {
    now = at;
    await report(opened, tally(calls));
  }
  const day = await list(opened, { span: seconds(30 * DAY) });
  t.equal(day.period, DAY);
  t.equal(day.periods.length, 30);
  t.same(called(day.periods), [
    [NOON - DAY / 2 - 20 * DAY, 1],
    [NOON - DAY / 2 - 6 * DAY, 6],
    [NOON - DAY / 2, 24],
  ]);
  const hour = await list(opened, { span: seconds(7 * DAY) });
  t.equal(hour.period, HOUR);
  t.equal(hour.periods.length, 168);
  t.same(called(hour.periods), [
    [NOON - 6 * DAY, 2],
    [NOON - 6 * DAY + HOUR, 4],
    [NOON - HOUR, 8],
    [NOON, 16],
  ]);
});

t.test("usage survives a restart, and is not in the change log", async (t) => {
  const folder = temporaryFolder(t);
  const now = NOON;
  const before = await open(t, { folder, clock: () => now });
  await report(before, tally(5));
  await before.close();
  const after = await open(t, { folder, clock: () => now });
  await report(after, tally(1));
  t.same(called((await list(after)).periods), [[NOON, 6]]);
});

t.test("a repeated report counts once", async (t) => {
  const opened = await open(t);
  await report(opened, tally(5));
  sequence -= 1n;
  await report(opened, tally(5));
  t.match((await list(opened)).endpoints, [{ calls: { total: 5n } }]);
});

t.test("invalid tallies are ignored, and the rest counts", async (t) => {
  const opened = await open(t);
  await report(
    opened,
    tally(1, { namespace: "nowhere" }),
    tally(1, { endpoint: "x".repeat(300) }),
    tally(1, { endpoint: "a b" }),
    tally(1, { serverErrors: -1n }),
    tally(1, { byTime: Array(17).fill(1n) }),
    tally(1, { byStatus: Array(6).fill(1n) }),
    tally(1, { account: "x y" }),
    tally(2),
  );
  t.match((await list(opened)).endpoints, [{ calls: { total: 2n } }]);
});

t.test("a namespace sees only its own usage, without the usage of an earlier namespace of its name", async (t) => {
  let now = NOON;
  const opened = await open(t, { clock: () => now });
  const { call, login } = opened;
  const admin = await login();
  const create = async () => (await call(NamespacesService.create, { name: "team" }, admin)).adminPassword;
  const usageOf = async (password: string) =>
    (await call(UsageService.list, anHour, await login("admin", password, "team"))).endpoints.length;
  // The namespace does not exist yet, so it has no calls.
  await report(opened, tally(1, { namespace: "team" }));
  const first = await create();
  t.equal(await usageOf(first), 0);
  await report(opened, tally(1, { namespace: "team" }), tally(2));
  t.equal(await usageOf(first), 1);
  await call(NamespacesService.delete, { name: "team" }, admin);
  now += MINUTE;
  t.equal(await usageOf(await create()), 0);
  t.match((await list(opened)).endpoints, [{ calls: { total: 2n } }]);
});

t.test("only gateways report usage, only administrators read it", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const admin = await login();
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: [] }, admin);
  const enrol = async (name: string) => (await call(EnrolmentsService.create, { name, replace: false }, admin)).secret;
  const request = { reporter: "x", sequence: 1n, tallies: { tallies: [tally(1)], callers: [] } };
  await t.rejects(call(UsageService.report, request, admin), { code: Code.PERMISSION_DENIED });
  await t.rejects(call(UsageService.report, request, await enrol("helloworld")), {
    code: Code.PERMISSION_DENIED,
    message: "Only gateways may call auth:Usage.Report",
  });
  await call(UsageService.report, request, await enrol("gateway"));
  t.match((await list(opened)).endpoints, [{ calls: { total: 1n } }]);
  await t.rejects(call(UsageService.list, anHour, await login("bob")), { code: Code.PERMISSION_DENIED });

  const refused: [request: Partial<ListUsageRequest>, message: RegExp][] = [
    [{ span: seconds(31 * DAY) }, /^span: must be from a minute to 30 days$/],
    [{ span: seconds(1000) }, /^span: /],
    [{ endpoint: "Helloworld.Call" }, /^service: is missing/],
    [{ service: "helloworld", account: "bob" }, /^service: calls are counted by service, or by account/],
    [{ service: "helloworld", key: "ptk_111111" }, /^service: calls are counted/],
    [{ key: createToken("key") }, /^key: must be a prefix/],
    [{ start: { seconds: 1n, nanos: 0 } }, /^start: must be in the last 30 days$/],
  ];
  for (const [fields, message] of refused) {
    await t.rejects(call(UsageService.list, { ...anHour, ...fields }, admin), { code: Code.INVALID_ARGUMENT, message });
  }
});
