/**
 * A limit of calls, as an administrator writes it: how much may be called, by whom, and who shares
 * it. This room knows no socket.
 */
import { RULE_ID } from "../contract/names.js";
import { parsePattern, printable } from "../contract/resource.js";
import { checkScope, LOGGED_IN, PUBLIC } from "../contract/scope.js";
import { type Limit, Per } from "../gen/portico/auth/v1/limits.js";
import { defaultBurst, MAX_RATE, parseQuota, parseRate } from "./rate.js";

export * from "./rate.js";

const MAX_CONCURRENT = 1_000_000;
const EVERYTHING = "*:*:*";

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
