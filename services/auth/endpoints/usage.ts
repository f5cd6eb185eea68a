/** Usage: accepts the reports of gateways on how often endpoints are called, and lists the sums. */

import { AdminPart, administers } from "../../../src/contract/admin-parts.js";
import { GATEWAY, SELF_GOVERNED } from "../../../src/contract/names.js";
import { invalidArgument, permissionDenied } from "../../../src/errors.js";
import {
  type ListUsageRequest,
  type ListUsageResponse,
  type ReportUsageRequest,
  type Tally,
  UsageService,
} from "../../../src/gen/portico/auth/v1/usage.js";
import { BoundedMap } from "../../../src/memory/bounded-map.js";
import { BOUNDS, COUNTED_STATUSES } from "../../../src/metrics.js";
import { type BuiltInContext, part, type ServicePart } from "../../../src/rpc/service.js";
import { durationMs, timestampMs, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { unavailable } from "../log/changelog/journal.js";
import { accountOf, checkKeyPrefix, checkReporter, MAX_REPORTED_NAME } from "./checks.js";
import { Count, Counts, numbersOf } from "./usage-counts.js";
import { floor, HOUR, HOURS_KEPT, MINUTE, MINUTES_KEPT, type UsageWindow } from "./usage-window.js";

const DAY = 24 * HOUR;
/** The longest span that is shown per hour, in milliseconds. */
const MAX_HOURS_SPAN = 7 * DAY;
const MAX_TALLIES = 10_000;
const MAX_REPORTERS = 1_000;

interface Options {
  readonly changes: Changes;
  readonly window: UsageWindow;
}

/** The gRPC service portico.auth.v1.Usage. */
export function usage(options: Options): ServicePart {
  const last = new BoundedMap<string, bigint>(MAX_REPORTERS);
  return part(UsageService, {
    list: (request, context) => list(options, request, context),
    report: (request, context) => {
      checkReporter(context, request.reporter);
      const { reporter, sequence, tallies, callers } = checked(request);
      if (sequence <= (last.get(reporter) ?? -1n)) return {};
      const { namespaces } = options.changes.state;
      const counts = (tally: Tally) => isSane(tally) && namespaces.has(tally.namespace);
      options.window.add({ tallies: tallies.filter(counts), callers: callers.filter(counts) });
      last.set(reporter, sequence);
      return {};
    },
  });
}

async function list(
  { changes, window }: Options,
  given: ListUsageRequest,
  context: BuiltInContext,
): Promise<ListUsageResponse> {
  const request = forCaller(given, context);
  const { namespace } = accountOf(context);
  const { period, starts } = periodsOf(request, changes.now);
  // Earlier counts belong to a deleted namespace of the same name.
  const since = Math.max(starts[0]!, floor(timestampMs(changes.state.namespaces.get(namespace)?.created), MINUTE));
  const unit = period === MINUTE ? "minute" : "hour";
  const slices = await window.read(unit, floor(since, unit === "minute" ? MINUTE : HOUR)).catch((error) => {
    throw unavailable(error);
  });
  const isByCaller = request.account !== "" || request.key !== "";
  const periods = new Map(starts.map((start) => [start, new Count()]));
  const [endpoints, accounts, keys] = [unlimited(), unlimited(), unlimited()];
  for (const { start, calls } of slices) {
    const count = periods.get(floor(start, period));
    if (count === undefined) continue; // After the end of the span.
    const tallies = calls.tallies.filter((tally) => tally.namespace === namespace && isOfService(tally, request));
    const callers = calls.callers.filter((tally) => tally.namespace === namespace && isOfCaller(tally, request));
    for (const tally of isByCaller ? callers : tallies) count.add(numbersOf(tally));
    if (!isByCaller) endpoints.addTallies(tallies);
    if (request.service !== "") continue;
    accounts.addTallies(callers.map((tally) => ({ ...tally, key: "" })));
    keys.addTallies(callers.filter(({ account, key }) => key !== "" || account === ""));
  }
  return {
    period: { seconds: BigInt(period / 1000), nanos: 0 },
    periods: [...periods].map(([start, count]) => ({ start: toTimestamp(start), calls: count.toCalls() })),
    endpoints: endpoints.list().map(({ service, endpoint, count }) => ({ service, endpoint, calls: count.toCalls() })),
    accounts: accounts.list().map(({ account, count }) => ({ account, calls: count.toCalls() })),
    keys: keys.list().map(({ key, account, count }) => ({ key, account, calls: count.toCalls() })),
  };
}

/**
 * The request, checked for the caller. Only administrators see the calls of other accounts.
 * @throws {StatusError} PERMISSION_DENIED, or INVALID_ARGUMENT naming the field
 */
function forCaller(request: ListUsageRequest, context: BuiltInContext): ListUsageRequest {
  const caller = accountOf(context);
  const { service, endpoint, account, key } = request;
  if (!administers(caller, AdminPart.AUDIT) && account !== caller.account)
    throw permissionDenied(
      `Forbidden call made to ${context.endpoint} by ${caller.account}: it may see its own usage only`,
    );
  checkKeyPrefix(key);
  if (endpoint !== "" && service === "") throw invalidArgument("service: is missing, whose endpoint it is");
  if (service !== "" && (account !== "" || key !== "")) {
    throw invalidArgument("service: calls are counted by service, or by account and key; ask for one of the two");
  }
  return request;
}

/** The periods of the time that is asked for, oldest first. All values are in milliseconds. */
function periodsOf({ span: given, start }: ListUsageRequest, now: number): { period: number; starts: number[] } {
  const span = given === undefined ? HOUR : durationMs(given);
  if (!(span >= MINUTE && span <= HOURS_KEPT)) throw invalidArgument("span: must be from a minute to 30 days");
  const from = start === undefined ? undefined : timestampMs(start);
  if (from !== undefined && !(from >= now - HOURS_KEPT - HOUR && from <= now)) {
    throw invalidArgument("start: must be in the last 30 days");
  }
  const hasMinutes = span <= MINUTES_KEPT && (from ?? now) >= now - MINUTES_KEPT;
  const period = hasMinutes ? MINUTE : span <= MAX_HOURS_SPAN ? HOUR : DAY;
  const last = from === undefined ? floor(now, period) : floor(Math.min(from + span - 1, now), period);
  const first = from === undefined ? last - (Math.ceil(span / period) - 1) * period : floor(from, period);
  return { period, starts: Array.from({ length: (last - first) / period + 1 }, (_, index) => first + index * period) };
}

function unlimited(): Counts {
  return new Counts(Number.POSITIVE_INFINITY);
}

function isOfService(tally: Tally, { service, endpoint }: ListUsageRequest): boolean {
  // Calls of Portico's own services are listed only on request.
  if (service === "") return !SELF_GOVERNED.has(tally.service) && tally.service !== GATEWAY;
  return tally.service === service && (endpoint === "" || tally.endpoint === endpoint);
}

function isOfCaller(tally: Tally, { account, key }: ListUsageRequest): boolean {
  return (account === "" || tally.account === account) && (key === "" || tally.key === key);
}

function checked({ reporter, sequence, tallies }: ReportUsageRequest) {
  const { tallies: all = [], callers = [] } = tallies ?? {};
  if (Math.max(all.length, callers.length) > MAX_TALLIES) {
    throw invalidArgument(`tallies: must be at most ${MAX_TALLIES} by endpoint, and as many by caller`);
  }
  return { reporter, sequence, tallies: all, callers };
}

/** A gateway repeats a report until it is accepted. So an invalid tally is dropped, not refused. */
function isSane({ service, endpoint, account, key, byTime, byStatus, clientErrors, serverErrors }: Tally): boolean {
  const names = `${service}${endpoint}${account}${key}`;
  const numbers = [...byTime, ...byStatus, clientErrors, serverErrors];
  return (
    names.length <= MAX_REPORTED_NAME &&
    !/\s/.test(names) &&
    byTime.length <= BOUNDS.length &&
    byStatus.length <= COUNTED_STATUSES.length &&
    numbers.every((number) => number >= 0n && number <= Number.MAX_SAFE_INTEGER)
  );
}
