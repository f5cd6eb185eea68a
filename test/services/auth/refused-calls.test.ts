// Why calls were refused: what gateways report, who may read it, and keys that have ended.
import t from "tap";
import { SYSTEM } from "../../../src/access/guard.js";
import { createToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import {
  type ListRefusalsRequest,
  Reason,
  RefusalsService,
  type Refused,
  type RefusedCall,
  type ReportedRefusals,
} from "../../../src/gen/portico/auth/v1/refusals.js";
import { type Link, LinkState, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { toTimestamp } from "../../../src/time.js";
import { type Open, open, PASSWORD } from "./open.js";

const NOON = 1_800_000_000_000;
const MARKS = { [LinkState.PASSED]: "✓", [LinkState.FAILED]: "✗", [LinkState.NOT_REACHED]: "–" } as const;

const marks = (chain: readonly Link[]) =>
  chain.map(({ name, state }) => `${name} ${MARKS[state as keyof typeof MARKS]}`).join(" → ");

const callAt = (time: number, fields: Partial<RefusedCall> = {}): RefusedCall => ({
  ...{ time: toTimestamp(time), address: "192.0.2.1", requestId: "id-1", key: "" },
  ...fields,
});

const group = (
  refused: Partial<Refused>,
  { count = 1, latest = [callAt(NOON)], namespace = "default" } = {},
): ReportedRefusals => ({
  namespace,
  refused: {
    endpoint: "helloworld:Helloworld.Call",
    ...{ account: "", key: "", reason: Reason.NO_RULE, cause: "", code: 401 },
    ...refused,
  },
  count: BigInt(count),
  latest,
});

const ANY: ListRefusalsRequest = { span: undefined, account: "", key: "", service: "", endpoint: "" };

async function setUp(t: Parameters<typeof open>[0]) {
  let now = NOON;
  const auth = await open(t, { clock: () => now });
  let after = 0n;
  const report = async (...groups: ReportedRefusals[]) => {
    const request = { reporter: "gateway 1", after, first: after + 1n, groups };
    after = (await auth.call(RefusalsService.report, request, undefined, { admission: SYSTEM })).last;
    return after;
  };
  const admin = await auth.login();
  const list = async (fields: Partial<ListRefusalsRequest> = {}, token = admin) =>
    (await auth.call(RefusalsService.list, { ...ANY, ...fields }, token)).groups;
  const find = async (fields: { requestId?: string; key?: string }, token = admin) =>
    (await auth.call(RefusalsService.find, { requestId: "", key: "", ...fields }, token)).refusals;
  const pass = (ms: number) => {
    now += ms;
  };
  return { auth, admin, report, list, find, pass };
}

async function createBob({ call, login }: Open, admin: string): Promise<string> {
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: [] }, admin);
  return login("bob");
}

t.test("refusals are added up by caller, endpoint and reason, most first", async (t) => {
  const { report, list, pass } = await setUp(t);
  const bob = { account: "bob", key: "ptk_4fGh81", reason: Reason.EXPIRED };
  await report(group(bob, { count: 412 }), group({}, { count: 30 }));
  pass(30_000);
  await report(group({}, { count: 7, latest: [callAt(NOON + 30_000)] }));
  pass(30_000);
  const [first, second] = await list({ span: { seconds: 120n, nanos: 0 } });
  t.match(first, { count: 412n, refused: bob });
  t.equal(marks(first!.chain), "token ✓ → key ✗ → limits – → rules –");
  t.match(second, { count: 37n, refused: { account: "" } });
  t.same(
    second?.byPeriod.map(Number).filter((count) => count > 0),
    [30, 7],
    "a line over time",
  );
  t.match(await list({ key: "ptk_4fGh81" }), [{ count: 412n }]);
  t.same(await list({ service: "hello" }), [], "a service is named whole");
  t.equal((await list({ service: "helloworld", endpoint: "Helloworld.Call" })).length, 2);
  pass(120_000);
  t.same(await list({ span: { seconds: 120n, nanos: 0 } }), [], "a time that is over");
});

t.test("calls are found by request ID and by key; an ID may match several", async (t) => {
  const { report, find } = await setUp(t);
  await report(
    group({ reason: Reason.UNKNOWN_TOKEN }, { latest: [callAt(NOON, { key: "ptk_madeup" })] }),
    group({ reason: Reason.RULE, cause: "closed", account: "bob", code: 403 }, { latest: [callAt(NOON + 1)] }),
  );
  const found = await find({ requestId: "id-1" });
  t.same(
    found.map(({ chain }) => marks(chain)),
    ["token ✓ → key – → limits – → rules ✗", "token ✗ → key – → limits – → rules –"],
    "newest first",
  );
  t.match(found[0]?.chain.at(-1)?.detail, "rule closed denies it");
  t.match(await find({ key: "ptk_madeup" }), [{ call: { address: "192.0.2.1", requestId: "id-1" } }]);
  t.same(await find({ requestId: "id-2" }), []);
  await t.rejects(find({ key: createToken("key") }), { code: Code.INVALID_ARGUMENT }, "never a whole key");
  await t.rejects(find({}), { code: Code.INVALID_ARGUMENT });
});

t.test("administrators read the refusals of their namespace, others their own; gateways alone report", async (t) => {
  const { auth, admin, report, list, find } = await setUp(t);
  const bob = await createBob(auth, admin);
  await report(group({ account: "bob" }), group({ account: "admin" }), group({}));
  t.equal((await list()).length, 3);
  t.match(await list({}, bob), [{ refused: { account: "bob" } }]);
  t.equal((await list({}, bob)).length, 1);
  t.equal((await find({ requestId: "id-1" }, bob)).length, 1);
  await report(group({}, { namespace: "nowhere" }));
  t.equal((await list()).length, 3, "a namespace that does not exist");
  const request = { reporter: "bob", after: 0n, first: 1n, groups: [group({})] };
  await t.rejects(auth.call(RefusalsService.report, request, bob), { code: Code.PERMISSION_DENIED });
});

t.test("a report counts once, and an authority keeps ten thousand calls of a gateway", async (t) => {
  const { auth, report, list } = await setUp(t);
  const first = { reporter: "gateway 1", after: 0n, first: 1n, groups: [group({})] };
  const send = () => auth.call(RefusalsService.report, first, undefined, { admission: SYSTEM });
  t.equal((await send()).last, 1n);
  t.equal((await send()).last, 1n, "sent again after a lost answer");
  t.match(await list(), [{ count: 1n }]);
  t.equal(await report(), 1n);
  const hundred = Array.from({ length: 100 }, (_, index) => callAt(NOON, { requestId: `id-${index}` }));
  for (let sent = 0; sent < 11; sent++) {
    await report(...Array.from({ length: 10 }, () => group({ account: `a${sent}` }, { count: 100, latest: hundred })));
  }
  const kept = (await list()).reduce((sum, { count }) => sum + Number(count), 0);
  t.equal(kept, 10_000);
});

t.test("a report with a token in it is dropped", async (t) => {
  const { report, list } = await setUp(t);
  await report(group({ key: createToken("key") }), group({}, { latest: [callAt(NOON, { key: createToken("key") })] }));
  t.same(await list(), []);
});

t.test("a key that has ended is explained by its prefix, with the check that fails", async (t) => {
  const { auth, admin, pass } = await setUp(t);
  const bob = await createBob(auth, admin);
  const make = async (name: string, resources: string[] = []) =>
    (await auth.call(KeysService.create, { name, lifetime: { seconds: 86_400n, nanos: 0 }, resources, from: [] }, bob))
      .key!.prefix;
  const [valid, revoked, limited] = [await make("valid"), await make("revoked"), await make("deploy", ["service:a:*"])];
  await auth.call(KeysService.revoke, { prefix: revoked }, bob);
  const resource = "service:helloworld:Helloworld.Call";
  const token = admin;
  const explain = (key: string) => auth.call(RulesService.explain, { account: "", resource, key }, token);
  t.equal(marks((await explain(valid)).chain), "token ✓ → key ✓ → limits ✓ → rules ✓");
  const ofLimited = await explain(limited);
  t.equal(marks(ofLimited.chain), "token ✓ → key ✓ → limits ✗ → rules –");
  t.match(ofLimited.chain[2]?.detail, /limit: the key deploy/);
  const ofRevoked = await explain(revoked);
  t.match(ofRevoked, { code: 401, limited: false });
  t.equal(marks(ofRevoked.chain), "token ✓ → key ✗ → limits – → rules –");
  t.match(ofRevoked.chain[1]?.detail, /revoked/);
  pass(2 * 86_400_000);
  const ofExpired = await auth.call(RulesService.explain, { account: "", resource, key: valid }, await auth.login());
  t.match(ofExpired.chain[1]?.detail, /expired 20\d\d-/);
  await t.rejects(auth.call(RulesService.explain, { account: "", resource, key: "ptk_000000" }, await auth.login()), {
    code: Code.NOT_FOUND,
  });
});
