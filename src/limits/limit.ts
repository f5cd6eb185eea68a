/**
 * A limit of calls, as an administrator writes it: how much may be called, by whom, and who shares
 * it. This room knows no socket.
 */
import { RULE_ID } from "../contract/names.js";
import { parsePattern, printable } from "../contract/resource.js";
import { checkScope, LOGGED_IN, PUBLIC } from "../contract/scope.js";
import { type Limit, Per } from "../gen/portico/auth/v1/limits.js";

/** The longest burst, and the most calls of a rate. An int32. */
const MAX_RATE = 2 ** 31 - 1;
const MAX_CONCURRENT = 1_000_000;
const EVERYTHING = "*:*:*";

/** The units of a rate, in seconds. */
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const UNIT_WORDS: Readonly<Record<string, string>> = { s: "second", m: "minute", h: "hour", d: "day" };

/** A rate: how many calls in how many seconds. */
export interface Rate {
  readonly calls: number;
  readonly seconds: number;
}

/** A quota: how many calls in a day or a month of the calendar, in UTC. */
export interface Quota {
  readonly calls: number;
  readonly period: "day" | "month";
}

/**
 * Checks a limit before it is created or set. Returns it with all defaults filled in, and without
 * properties that do not belong to a limit.
 * @throws {SyntaxError} with a message for the author of the limit, which begins with the name of
 * a field
 */
export function checkLimit(limit: Limit): Limit {
  const { id, scope, resource, per, concurrent, shadow } = limit;
  if (!RULE_ID.test(id)) {
    throw new SyntaxError(
      `id "${printable(id)}" must be 1 to 64 letters, digits, . _ or -, and start with a letter or digit`,
    );
  }
  if (scope !== "" && scope !== PUBLIC && scope !== LOGGED_IN) checkScope(scope);
  if (resource !== "") parsePattern(resource);
  if (![Per.ACCOUNT, Per.KEY, Per.ADDRESS, Per.NAMESPACE, Per.EVERYONE].includes(per)) {
    throw new SyntaxError("per must be account, key, address, namespace or everyone: what shares the limit");
  }
  const rate = limit.rate && checkRate(limit.rate);
  const quota = limit.quota && checkQuota(limit.quota);
  if (!Number.isInteger(concurrent) || concurrent < 0 || concurrent > MAX_CONCURRENT) {
    throw new SyntaxError(`concurrent must be a whole number from 1 to ${MAX_CONCURRENT}, or 0 for any number`);
  }
  if (rate === "" && quota === "" && concurrent === 0) {
    throw new SyntaxError("rate is missing: a limit needs a rate such as 100/s, a quota or concurrent");
  }
  const burst = checkBurst(limit.burst, rate);
  return {
    id,
    scope: scope || PUBLIC,
    resource: resource || EVERYTHING,
    per,
    rate,
    burst,
    quota,
    concurrent,
    shadow,
  };
}

/**
 * Reads a rate such as `100/s`.
 * @throws {SyntaxError} with the accepted forms
 */
export function parseRate(text: string): Rate {
  const [, calls, unit] = /^(\d{1,16})\/([smhd])$/.exec(text) ?? [];
  const rate = { calls: Number(calls), seconds: UNITS[unit ?? ""] ?? 0 };
  if (rate.seconds > 0 && rate.calls >= 1 && rate.calls <= MAX_RATE) return rate;
  throw new SyntaxError(
    `rate "${printable(text)}" must be a whole number from 1 to ${MAX_RATE} and /s, /m, /h or /d, such as 100/s`,
  );
}

/**
 * Reads a quota such as `1000000/month`.
 * @throws {SyntaxError} with the accepted forms
 */
export function parseQuota(text: string): Quota {
  const [, number, period] = /^(\d{1,16})\/(day|month)$/.exec(text) ?? [];
  const calls = Number(number);
  if ((period === "day" || period === "month") && calls >= 1 && Number.isSafeInteger(calls)) return { calls, period };
  throw new SyntaxError(
    `quota "${printable(text)}" must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER} and /day or /month, ` +
      "such as 1000000/month",
  );
}

/** The burst of a rate where none is given: the calls of one second, at least 1. */
export function defaultBurst({ calls, seconds }: Rate): number {
  return Math.max(1, Math.floor(calls / seconds));
}

/** A checked rate in words: `100 calls a second`. */
export function rateInWords(rate: string): string {
  const [calls, unit = ""] = rate.split("/");
  return `${calls} call${calls === "1" ? "" : "s"} a${unit === "h" ? "n" : ""} ${UNIT_WORDS[unit]}`;
}

/** Without leading zeros, so that equal rates are equal texts. */
function checkRate(text: string): string {
  return `${parseRate(text).calls}/${text.split("/")[1]}`;
}

function checkQuota(text: string): string {
  const { calls, period } = parseQuota(text);
  return `${calls}/${period}`;
}

function checkBurst(burst: bigint, rate: string): bigint {
  if (rate === "") {
    if (burst === 0n) return 0n;
    throw new SyntaxError("burst needs a rate: without one there is nothing that fills up again");
  }
  if (burst === 0n) return BigInt(defaultBurst(parseRate(rate)));
  if (burst >= 1n && burst <= BigInt(MAX_RATE)) return burst;
  throw new SyntaxError(`burst must be a whole number from 1 to ${MAX_RATE}, or 0 for the calls of one second`);
}
