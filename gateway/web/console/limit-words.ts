/** Limits in words, and where they are shown. */
import type { Limit, ListedLimit, Per } from "../../../src/api/types.js";
import { sinceWhen } from "./time.js";

const SHARED_BY: Readonly<Record<Per, string>> = {
  PER_UNSPECIFIED: "",
  ACCOUNT: "each account",
  KEY: "each API key",
  ADDRESS: "each address",
  NAMESPACE: "each namespace",
  EVERYONE: "all callers together",
};

const UNITS: Readonly<Record<string, string>> = {
  s: "a second",
  m: "a minute",
  h: "an hour",
  d: "a day",
  day: "a day",
  month: "a month",
};

/** `each account` */
export function sharedBy({ per }: Pick<Limit, "per">): string {
  return SHARED_BY[per];
}

/** `100 calls a second, burst 200, 1,000,000 calls a month, 20 open at once` */
export function allowance({ rate, burst, quota, concurrent }: Limit): string {
  const parts = [
    rate !== "" && `${inWords(rate)}, burst ${grouped(burst)}`,
    quota !== "" && inWords(quota),
    concurrent > 0 && `${grouped(concurrent)} open at once`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}

/** A rate or a quota, such as `100/s` or `1000000/month`. */
function inWords(text: string): string {
  const [calls = "", unit = ""] = text.split("/");
  return `${calls === "1" ? "1 call" : `${grouped(calls)} calls`} ${UNITS[unit] ?? unit}`;
}

const DAY_S = 86_400;
const SECONDS: Readonly<Record<string, number>> = {
  ...{ s: 1, m: 60, h: 3_600, d: DAY_S },
  ...{ day: DAY_S, month: 30 * DAY_S },
};

/** How many calls a day may have, roughly: to compare limits. Infinite without a rate and a quota. */
export function callsPerDay({ rate, quota }: Limit): number {
  const perDay = [rate, quota]
    .filter((text) => text !== "")
    .map((text) => {
      const [calls, unit = ""] = text.split("/");
      return (Number(calls) * DAY_S) / (SECONDS[unit] ?? DAY_S);
    });
  return Math.min(...perDay);
}

/** `refused 12 calls since 14:02`, `would have refused 1 call since 14:02` */
export function refusedInWords({ limit: { shadow }, refused, since }: ListedLimit): string {
  const calls = refused === "1" ? "1 call" : `${refused === "0" ? "no" : grouped(refused)} calls`;
  return `${shadow ? "would have refused" : "refused"} ${calls} since ${sinceWhen(since)}`;
}

/** With separators of thousands. */
function grouped(number: string | number): string {
  return BigInt(number).toLocaleString("en");
}

/** The page of the limits, where it is the only one that is listed. */
export function pageOfLimit(id: string): string {
  return `/console/limits?filter=${encodeURIComponent(id)}`;
}
