// Of the details of an error, a person reads those that say more than its sentence. A program gets
// all of them.

import t from "tap";
import { CallFailure } from "../../../cli/http/failure.js";

const LIMIT = "Limit few allows address 192.0.2.1 60 calls a minute; try again in 1 s";
const RETRY = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1s" };
const quota = (...descriptions: (string | undefined)[]) => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: descriptions.map((description) => ({ subject: "limit:few", description })),
});
const OTHER = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "STOCKOUT" };

const CASES: readonly [what: string, sentence: string, details: readonly unknown[], shown: readonly unknown[]][] = [
  ["a limit", LIMIT, [quota(LIMIT), RETRY], []],
  ["failed logins", "Too many failed logins; try again in 1 s", [RETRY], []],
  ["a service that says when", "no machine is free", [RETRY, OTHER], [RETRY, OTHER]],
  ["one detail of several", LIMIT, [RETRY, OTHER], [OTHER]],
  ["a quota of which more is known", "no", [quota("no", "12 of 10 disks")], [quota("no", "12 of 10 disks")]],
  ["a quota without words", "no", [quota(undefined)], [quota(undefined)]],
  ["what is no detail", "no", [null, 7], [null, 7]],
];

for (const [what, Detail, Details, shown] of CASES) {
  t.test(what, async (t) => {
    const body = JSON.stringify({ Id: "gateway", Code: 429, Detail, Status: "Too Many Requests", Details });
    const failure = new CallFailure({ status: 429, body, requestId: undefined });
    t.equal(failure.message, [Detail, ...(shown.length > 0 ? [JSON.stringify(shown, null, 2)] : [])].join("\n"));
    t.match(failure.toJSON(), { Details });
  });
}
