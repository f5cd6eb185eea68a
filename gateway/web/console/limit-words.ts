/** Limits in words, and where they are shown. */
import type { Limit, LimitUse, ListedLimit, Per } from "../../../src/api/types.js";
import { parseQuota, parseRate, rateInWords, usualBurst } from "../../../src/limits/rate.js";
import { sinceWhen } from "./time.js";

const SHARED_BY: Readonly<Record<Per, string>> = {
  PER_UNSPECIFIED: "",
  ACCOUNT: "each account",
  KEY: "each API key",
  ADDRESS: "each address",
  NAMESPACE: "each namespace",
  EVERYONE: "all callers together",
};

/** `each account` */
export function sharedBy({ per }: Pick<Limit, "per">): string {
  return SHARED_BY[per];
}

/** `100 calls a second, burst 200, 1,000,000 calls a month, 20 open at once` */
export function allowance({ rate, burst, quota, concurrent }: Limit): string {
  const parts = [
    rate !== "" && rateInWords(rate),
    rate !== "" && burst !== usualBurst(rate) && `burst ${grouped(burst)}`,
    quota !== "" && quotaInWords(quota),
    concurrent > 0 && `${grouped(concurrent)} open at once`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}

function quotaInWords(quota: string): string {
  const { calls, period } = parseQuota(quota);
  return `${grouped(calls)} call${calls === 1 ? "" : "s"} a ${period}`;
}

const DAY_S = 86_400;
const DAYS = { day: 1, month: 30 };

/** How many calls a day may have, roughly: to compare limits. Infinite without rate and quota. */
export function callsPerDay({ rate, quota }: Limit): number {
  const byRate = rate === "" ? undefined : parseRate(rate);
  const byQuota = quota === "" ? undefined : parseQuota(quota);
  return Math.min(
    byRate === undefined ? Number.POSITIVE_INFINITY : (byRate.calls * DAY_S) / byRate.seconds,
    byQuota === undefined ? Number.POSITIVE_INFINITY : byQuota.calls / DAYS[byQuota.period],
  );
}

/** `refused 12 calls since 14:02`, `would have refused 1 call since 14:02` */
export function refusedInWords({ limit: { shadow }, refused, since }: ListedLimit): string {
  const calls = refused === "1" ? "1 call" : `${refused === "0" ? "no" : grouped(refused)} calls`;
  return `${shadow ? "would have refused" : "refused"} ${calls} since ${sinceWhen(since)}`;
}

/** `12 calls now, 900 this month, 3 more open`; a shadow refuses nothing. */
export function leftInWords({ limit, subject, rateLeft, quotaLeft, concurrentLeft }: LimitUse): string {
  if (limit.per === "ADDRESS" && subject === "") return "Each address has its own";
  const parts = [
    rateLeft !== undefined && `${grouped(rateLeft)} calls now`,
    quotaLeft !== undefined && `${grouped(quotaLeft)} this ${limit.quota.split("/")[1]}`,
    concurrentLeft !== undefined && `${grouped(concurrentLeft)} more open`,
    limit.shadow && "refuses nothing yet",
  ].filter((part) => part !== false);
  return parts.length === 0 ? "Another authority counts it" : parts.join(", ");
}

/** With separators of thousands. */
function grouped(number: string | number): string {
  return BigInt(number).toLocaleString("en");
}

/** The page of the limits, where it is the only one that is listed. */
export function pageOfLimit(id: string): string {
  return `/console/limits?filter=${encodeURIComponent(id)}`;
}
