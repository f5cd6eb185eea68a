// What a gateway remembers of refused calls, and how it reports them to authorities.
import t, { type Test } from "tap";
import { RefusalReporter } from "../../../gateway/built-in/refusals.js";
import type { RefusedRequest } from "../../../gateway/stages/options.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { Code, StatusError } from "../../../src/errors.js";
import {
  Reason,
  RefusalsService,
  type ReportedRefusals,
  type ReportRefusalsRequest,
} from "../../../src/gen/portico/auth/v1/refusals.js";
import { createLog } from "../../../src/log.js";
import { Dispatcher } from "../../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { part } from "../../../src/rpc/service.js";

const log = createLog("fatal");

/** An authority that accepts reports in order, as the real one does. */
function openAuthority() {
  const authority = { broken: false, last: 0n, requests: [] as ReportRefusalsRequest[], has: [] as ReportedRefusals[] };
  const never = () => {
    throw new Error("not asked here");
  };
  const report = (request: ReportRefusalsRequest) => {
    if (authority.broken) throw new StatusError(Code.UNAVAILABLE, "broken");
    authority.requests.push(request);
    if (request.after === authority.last && request.groups.length > 0) {
      authority.has.push(...request.groups);
      authority.last = request.first + BigInt(request.groups.length) - 1n;
    }
    return { last: authority.last };
  };
  const parts = [part(RefusalsService, { list: never, find: never, report })];
  const guard = { admit: never, allows: never, count: never, follow: never };
  const limits = { maxBody: 2 ** 22, callTime: 1_000, maxCallTime: 1_000 };
  const services = [{ name: "auth", descriptors: descriptorsOf(), parts }];
  return { authority, channel: new InProcessChannel(new Dispatcher({ services, guard, limits, log })) };
}

function setUp(t: Test, count = 1) {
  const all = Array.from({ length: count }, openAuthority);
  const refusals = new RefusalReporter({ authorities: () => all, admission: SYSTEM, log });
  t.teardown(() => refusals.close());
  return { refusals, authority: all[0]!.authority, authorities: all.map(({ authority }) => authority) };
}

interface Given extends Partial<Omit<RefusedRequest, "refused">> {
  readonly refused?: Partial<RefusedRequest["refused"]>;
}

let ids = 0;
const refusedRequest = ({ refused, ...fields }: Given = {}): RefusedRequest => ({
  endpoint: "helloworld:Helloworld.Call",
  refused: { namespace: "default", account: "", key: "", reason: "NO_RULE", cause: "", ...refused },
  ...{ status: 401, address: "192.0.2.1", requestId: `id-${ids++}` },
  ...fields,
});

t.test("like refusals are one group, with the latest one by one", async (t) => {
  const { refusals, authority } = setUp(t);
  const flood = Array.from({ length: 250 }, () => refusedRequest());
  for (const request of flood) refusals.record(request);
  refusals.record(refusedRequest({ status: 403, refused: { account: "bob", reason: "RULE", cause: "closed" } }));
  await refusals.report();
  const [first, second] = authority.has;
  t.equal(authority.has.length, 2);
  t.match(first, { namespace: "default", count: 250n, refused: { reason: Reason.NO_RULE, code: 401, account: "" } });
  t.same(
    first?.latest.map(({ requestId }) => requestId),
    flood.slice(-100).map(({ requestId }) => requestId),
    "the latest hundred, oldest first",
  );
  t.match(second, { count: 1n, refused: { reason: Reason.RULE, cause: "closed", account: "bob", code: 403 } });
});

t.test("refusals at one endpoint that differ in anything are groups of their own", async (t) => {
  const { refusals, authority } = setUp(t);
  const usual = { namespace: "default", account: "bob", key: "ptk_100000", reason: "LIMIT", cause: "deploy" } as const;
  const differing: Given[] = [
    { refused: usual },
    { refused: { ...usual, namespace: "other" } },
    { refused: { ...usual, account: "eve" } },
    { refused: { ...usual, key: "ptk_200000" } },
    { refused: { ...usual, reason: "RULE" } },
    { refused: { ...usual, cause: "other" } },
    { refused: usual, status: 403 },
  ];
  // Each follows the usual one, and then itself.
  for (const given of differing) {
    for (const request of [differing[0], given, given]) refusals.record(refusedRequest(request));
  }
  await refusals.report();
  t.same(
    authority.has.map(({ count }) => Number(count)),
    [differing.length + 2, ...differing.slice(1).map(() => 2)],
  );
});

t.test("made-up tokens are one group", async (t) => {
  const { refusals, authority } = setUp(t);
  for (let made = 0; made < 50; made++) {
    refusals.record(refusedRequest({ refused: { reason: "UNKNOWN_TOKEN", key: `ptk_${100000 + made}` } }));
  }
  await refusals.report();
  t.match(authority.has, [{ count: 50n, refused: { key: "" } }]);
  t.equal(authority.has[0]?.latest[49]?.key, "ptk_100049", "the calls have the prefixes");
});

t.test("ten thousand refusals are remembered, and the rest is counted", async (t) => {
  const { refusals, authority } = setUp(t);
  for (let count = 0; count < 15_000; count++) {
    refusals.record(refusedRequest({ endpoint: `a:B.C${count % 1_500}` }));
  }
  await refusals.report();
  const calls = authority.has.reduce((sum, { latest }) => sum + latest.length, 0);
  t.ok(calls <= 10_000 && calls > 5_000, `${calls}`);
  const largest = Math.max(...authority.requests.map(({ groups }) => groups.flatMap(({ latest }) => latest).length));
  t.ok(largest <= 2_600, "no report is too large for a message");
});

t.test("groups above the maximum are counted together", async (t) => {
  const { refusals, authority } = setUp(t);
  for (let count = 0; count < 2_050; count++) refusals.record(refusedRequest({ endpoint: `a:B.C${count}` }));
  await refusals.report();
  t.match(authority.has.at(-1), { count: 50n, refused: { endpoint: "", account: "", code: 0 } });
});

t.test("each authority gets each group once, and all of them after it restarted", async (t) => {
  const { refusals, authorities } = setUp(t, 2);
  const [one, other] = authorities as [(typeof authorities)[0], (typeof authorities)[0]];
  other.broken = true;
  refusals.record(refusedRequest());
  await refusals.report();
  t.same([one.has.length, other.has.length], [1, 0]);
  other.broken = false;
  refusals.record(refusedRequest());
  await refusals.report();
  await refusals.report();
  t.same([one.has.length, other.has.length], [2, 2]);
  Object.assign(one, { last: 0n, has: [] });
  await refusals.report();
  t.equal(one.has.length, 2, "a restarted authority gets what the gateway remembers");
});
