// What a gateway counts, and how it reports the counts to the authority.
import t, { type Test } from "tap";
import { Usage } from "../../../gateway/built-in/usage.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import { Code, StatusError } from "../../../src/errors.js";
import { type ReportUsageRequest, UsageService } from "../../../src/gen/portico/auth/v1/usage.js";
import { createLog } from "../../../src/log.js";
import { Dispatcher } from "../../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { part } from "../../../src/rpc/service.js";

const CALL = { service: "helloworld", name: "helloworld:Helloworld.Call" } as Endpoint;
const STREAM = { service: "helloworld", name: "helloworld:Helloworld.Stream" } as Endpoint;
const MS = 1 / 1000;

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
  const guard = { admit: never, allows: never, follow: never };
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
  for (const status of [200, 200, 404, 503]) usage.record(CALL, "default", undefined, status, 0.3 * MS);
  usage.record(CALL, "team", "team", 200, 3 * MS);
  usage.record(STREAM, "team", "team", 200, 100);
  await report();
  t.same(reported(), {
    "default helloworld Helloworld.Call": [4, 1, 1],
    "team helloworld Helloworld.Call": [1, 0, 0],
    "team helloworld Helloworld.Stream": [1, 0, 0],
  });
  const times = authority.reports[0]?.tallies?.tallies.map(({ byTime }) => byTime.findIndex((calls) => calls > 0n));
  t.same(times, [0, 3, 15], "up to 0.5 ms, up to 5 ms, and longer than all bounds");
});

t.test("each call is reported once, and an endpoint without calls is not reported", async (t) => {
  const { authority, usage, reported, report } = setUp(t);
  await report();
  t.equal(authority.reports.length, 0);
  usage.record(CALL, "default", undefined, 200, MS);
  await report();
  usage.record(CALL, "default", undefined, 200, MS);
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
  usage.record(CALL, "default", undefined, 200, MS);
  await report();
  usage.record(CALL, "default", undefined, 200, MS);
  usage.record(CALL, "default", undefined, 200, MS);
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
  usage.record(CALL, "default", undefined, 200, MS);
  await report();
  usage.record(STREAM, "default", undefined, 200, MS);
  authority.broken = false;
  await usage.close();
  t.equal(authority.reports.length, 3);
  t.same(reported(), { "default helloworld Helloworld.Stream": [1, 0, 0] });
});

t.test("a refused call counts in the requested namespace, unless that namespace is invented", async (t) => {
  const { usage, reported, report } = setUp(t);
  usage.record(CALL, undefined, undefined, 401, MS);
  usage.record(CALL, undefined, "made-up", 401, MS);
  usage.record(CALL, "team", "team", 200, MS);
  usage.record(CALL, undefined, "team", 401, MS);
  await report();
  t.same(reported(), {
    "default helloworld Helloworld.Call": [1, 1, 0],
    "team helloworld Helloworld.Call": [2, 1, 0],
  });
});

t.test("at most as many endpoints are counted at a time as a report may have", async (t) => {
  const { usage, reported, report } = setUp(t);
  const record = (index: number) => {
    usage.record({ service: "big", name: `big:Big.E${index}` } as Endpoint, "default", undefined, 200, MS);
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
