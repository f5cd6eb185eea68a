// What a gateway counts, and how it reports the counts to the authority.
import t, { type Test } from "tap";
import { Usage } from "../../../gateway/built-in/usage.js";
import { SYSTEM } from "../../../src/access/guard.js";
import type { Caller } from "../../../src/call/caller.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import { Code, StatusError } from "../../../src/errors.js";
import { type ReportUsageRequest, type Tally, UsageService } from "../../../src/gen/portico/auth/v1/usage.js";
import { createLog } from "../../../src/log.js";
import { Dispatcher } from "../../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { part } from "../../../src/rpc/service.js";

const CALL = { service: "helloworld", name: "helloworld:Helloworld.Call" } as Endpoint;
const STREAM = { service: "helloworld", name: "helloworld:Helloworld.Stream" } as Endpoint;
const MS = 1 / 1000;

function caller(fields: Partial<Caller>): Caller {
  return { account: "", namespace: "default", scopes: [], resources: [], expires: 0, ...fields };
}

/** All calls of a caller, client errors, server errors. */
function callsOf({ account, key, byTime, clientErrors, serverErrors }: Tally) {
  const numbers = [byTime.reduce((sum, calls) => sum + calls, 0n), clientErrors, serverErrors].map(Number);
  return [account, key, ...numbers];
}

/** A gateway's counter, and an authority that records the reports and fails while `broken`. */
function setUp(t: Test) {
  const authority = { broken: false, reports: [] as ReportUsageRequest[] };
  const never = () => {
    throw new Error("not asked here");
  };
  const report = (request: ReportUsageRequest) => {
    authority.reports.push(request);
    if (authority.broken) throw new StatusError(Code.UNAVAILABLE, "broken");
    return {};
  };
  const service = {
    name: "auth",
    descriptors: descriptorsOf(),
    parts: [part(UsageService, { list: never, report })],
  };
  const guard = { admit: never, allows: never, count: never, follow: never };
  const limits = { maxBody: 2 ** 22, callTime: 1_000, maxCallTime: 1_000 };
  const log = createLog("fatal");
  const channel = new InProcessChannel(new Dispatcher({ services: [service], guard, limits, log }));
  const usage = new Usage({ channel, admission: SYSTEM, log });
  t.teardown(() => usage.close());
  /**
   * The latest report to the authority: calls, client errors, server errors by namespace and
   * endpoint.
   */
  const reported = () =>
    Object.fromEntries(
      (authority.reports.at(-1)?.tallies?.tallies ?? []).map((tally) => [
        `${tally.namespace} ${tally.service} ${tally.endpoint}`,
        [tally.byTime.reduce((sum, calls) => sum + calls, 0n), tally.clientErrors, tally.serverErrors].map(Number),
      ]),
    );
  return { authority, usage, reported, report: () => usage.report(1_000) };
}

t.test("calls are counted by namespace and endpoint, with their errors and times", async (t) => {
  const { authority, usage, reported, report } = setUp(t);
  for (const status of [200, 200, 404, 503]) usage.record(CALL, "default", undefined, status, 0.3 * MS, undefined);
  usage.record(CALL, "team", "team", 200, 3 * MS, undefined);
  usage.record(STREAM, "team", "team", 200, 100, undefined);
  await report();
  t.same(reported(), {
    "default helloworld Helloworld.Call": [4, 1, 1],
    "team helloworld Helloworld.Call": [1, 0, 0],
    "team helloworld Helloworld.Stream": [1, 0, 0],
  });
  const times = authority.reports[0]?.tallies?.tallies.map(({ byTime }) => byTime.findIndex((calls) => calls > 0n));
  t.same(times, [0, 3, 15], "up to 0.5 ms, up to 5 ms, and longer than all bounds");
});

t.test("client errors are counted by status, and calls by account and API key", async (t) => {
  const { authority, usage, report } = setUp(t);
  const ada = caller({ account: "ada" });
  const deploy = caller({ account: "ada", keyPrefix: "ptk_deploy" });
  for (const status of [200, 304, 400, 401, 403, 404, 404, 418, 429, 503]) {
    usage.record(CALL, "default", undefined, status, MS, ada);
  }
  usage.record(CALL, "default", undefined, 200, MS, deploy);
  usage.record(STREAM, "default", undefined, 404, MS, deploy);
  usage.record(CALL, undefined, undefined, 401, MS, undefined);
  usage.record({ service: "auth", name: "auth:Keys.List" } as Endpoint, "default", undefined, 200, MS, ada);
  await report();
  const { tallies, callers } = authority.reports[0]!.tallies!;
  t.same(
    tallies.map(({ endpoint, byStatus }) => [endpoint, ...byStatus.map(Number)]),
    [
      ["Helloworld.Call", 1, 2, 1, 2, 1],
      ["Helloworld.Stream", 0, 0, 0, 1, 0],
      ["Keys.List", 0, 0, 0, 0, 0],
    ],
  );
  t.same(callers.map(callsOf), [
    ["ada", "", 10, 7, 1],
    ["ada", "ptk_deploy", 2, 1, 0],
    ["<public>", "", 1, 1, 0],
  ]);
});

t.test("refused calls count for the account and key that were refused, in their namespace", async (t) => {
  const { authority, usage, report } = setUp(t);
  const deploy = { account: "ada", key: "ptk_deploy" };
  usage.record(CALL, "team", "team", 200, MS, caller({ account: "ada", keyPrefix: "ptk_deploy" }));
  for (const status of [403, 403, 401]) usage.record(CALL, "team", undefined, status, MS, undefined, { ...deploy });
  usage.record(CALL, "team", undefined, 403, MS, undefined, { account: "bob", key: "" });
  await report();
  const { tallies, callers } = authority.reports[0]!.tallies!;
  t.match(tallies, [{ namespace: "team", clientErrors: 4n }]);
  const sums = callers.map((tally) => [...callsOf(tally).slice(0, 4), ...tally.byStatus.slice(1, 3).map(Number)]);
  t.same(sums, [
    ["ada", "ptk_deploy", 1, 0, 0, 0],
    ["ada", "ptk_deploy", 3, 3, 1, 2],
    ["bob", "", 1, 1, 0, 1],
  ]);
});

t.test("callers above the maximum are counted together, and make room when they call no more", async (t) => {
  const { authority, usage, report } = setUp(t);
  const callers = Array.from({ length: 10_002 }, (_, index) => caller({ account: `account${index}` }));
  for (const one of callers) usage.record(CALL, "default", undefined, 200, MS, one);
  await report();
  const reported = authority.reports[0]!.tallies!.callers;
  t.equal(reported.length, 10_000);
  t.same(callsOf(reported.at(-1)!), ["", "", 3, 0, 0]);
  await report();
  usage.record(CALL, "default", undefined, 200, MS, callers.at(-1));
  await report();
  t.same(authority.reports.at(-1)!.tallies!.callers.map(callsOf), [["account10001", "", 1, 0, 0]]);
});

t.test("each call is reported once, and an endpoint without calls is not reported", async (t) => {
  const { authority, usage, reported, report } = setUp(t);
  await report();
  t.equal(authority.reports.length, 0);
  usage.record(CALL, "default", undefined, 200, MS, undefined);
  await report();
  usage.record(CALL, "default", undefined, 200, MS, undefined);
  await report();
  t.same(reported(), { "default helloworld Helloworld.Call": [1, 0, 0] });
  await report();
  t.same(
    authority.reports.map(({ sequence }) => sequence),
    [1n, 2n],
  );
});

t.test("a failed report is sent again unchanged, and calls in the meantime wait for the next one", async (t) => {
  const { authority, usage, reported, report } = setUp(t);
  authority.broken = true;
  usage.record(CALL, "default", undefined, 200, MS, undefined);
  await report();
  usage.record(CALL, "default", undefined, 200, MS, undefined);
  usage.record(CALL, "default", undefined, 200, MS, undefined);
  authority.broken = false;
  await report();
  t.same(reported(), { "default helloworld Helloworld.Call": [1, 0, 0] });
  await report();
  t.same(reported(), { "default helloworld Helloworld.Call": [2, 0, 0] });
  const [first, again, next] = authority.reports.map(({ reporter, sequence }) => `${reporter} ${sequence}`);
  t.equal(first, again, "so that it counts once");
  t.not(again, next);
});

t.test("a gateway that stops reports the rest", async (t) => {
  const { authority, usage, reported, report } = setUp(t);
  authority.broken = true;
  usage.record(CALL, "default", undefined, 200, MS, undefined);
  await report();
  usage.record(STREAM, "default", undefined, 200, MS, undefined);
  authority.broken = false;
  await usage.close();
  t.equal(authority.reports.length, 3);
  t.same(reported(), { "default helloworld Helloworld.Stream": [1, 0, 0] });
});

t.test("a refused call counts in the requested namespace, unless that namespace is invented", async (t) => {
  const { usage, reported, report } = setUp(t);
  usage.record(CALL, undefined, undefined, 401, MS, undefined);
  usage.record(CALL, undefined, "made-up", 401, MS, undefined);
  usage.record(CALL, "team", "team", 200, MS, undefined);
  usage.record(CALL, undefined, "team", 401, MS, undefined);
  await report();
  t.same(reported(), {
    "default helloworld Helloworld.Call": [1, 1, 0],
    "team helloworld Helloworld.Call": [2, 1, 0],
  });
});

t.test("at most as many endpoints are counted at a time as a report may have", async (t) => {
  const { usage, reported, report } = setUp(t);
  const record = (index: number) => {
    usage.record({ service: "big", name: `big:Big.E${index}` } as Endpoint, "default", undefined, 200, MS, undefined);
  };
  for (let index = 0; index < 10_001; index++) record(index);
  await report();
  t.equal(Object.keys(reported()).length, 10_000);
  record(0);
  await report();
  record(10_000);
  await report();
  t.same(reported(), { "default big Big.E10000": [1, 0, 0] }, "what is called no more makes room");
});
