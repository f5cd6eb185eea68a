/** Usage: accepts the reports of gateways on how often endpoints are called, and lists the sums. */

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
import { BOUNDS } from "../../../src/metrics.js";
import { type BuiltInContext, part, type ServicePart } from "../../../src/rpc/service.js";
import { durationMs, timestampMs, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { unavailable } from "../log/changelog/journal.js";
import { accountOf } from "./checks.js";
import { Count, Counts, floor, HOUR, HOURS_KEPT, MINUTE, MINUTES_KEPT, type UsageWindow } from "./usage-window.js";

const DAY = 24 * HOUR;
/** The longest span that is shown per hour, in milliseconds. */
const MAX_HOURS_SPAN = 7 * DAY;
const MAX_TALLIES = 10_000;
const MAX_REPORTERS = 1_000;
const MAX_NAME_LENGTH = 256;

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
      checkReporter(context);
      const { reporter, sequence, tallies } = checked(request);
      if (sequence <= (last.get(reporter) ?? -1n)) return {};
      const { namespaces } = options.changes.state;
      options.window.add(tallies.filter((tally) => isSane(tally) && namespaces.has(tally.namespace)));
      last.set(reporter, sequence);
      return {};
    },
  });
}

async function list(
  { changes, window }: Options,
  request: ListUsageRequest,
  context: BuiltInContext,
): Promise<ListUsageResponse> {
  const { namespace } = accountOf(context);
  const span = request.span === undefined ? HOUR : durationMs(request.span);
  if (!(span >= MINUTE && span <= HOURS_KEPT)) throw invalidArgument("span: must be from a minute to 30 days");
  if (request.endpoint !== "" && request.service === "")
    throw invalidArgument("service: is missing, whose endpoint it is");
  const period = span <= MINUTES_KEPT ? MINUTE : span <= MAX_HOURS_SPAN ? HOUR : DAY;
  const last = floor(changes.now, period);
  const starts = Array.from({ length: Math.ceil(span / period) }, (_, index) => last - index * period).reverse();
  // Earlier counts belong to a deleted namespace of the same name.
  const since = Math.max(starts[0]!, floor(timestampMs(changes.state.namespaces.get(namespace)?.created), MINUTE));
  const unit = period === MINUTE ? "minute" : "hour";
  const slices = await window.read(unit, floor(since, unit === "minute" ? MINUTE : HOUR)).catch((error) => {
    throw unavailable(error);
  });
  const isWanted = (tally: Tally) => tally.namespace === namespace && isAskedFor(tally, request);
  const periods = new Map(starts.map((start) => [start, new Count()]));
  const endpoints = new Counts(Number.POSITIVE_INFINITY);
  for (const { start, tallies } of slices) {
    const counts = new Counts(Number.POSITIVE_INFINITY);
    counts.addTallies(tallies.filter(isWanted));
    for (const { count, ...endpoint } of counts.list()) {
      periods.get(floor(start, period))?.add(count);
      endpoints.add(endpoint, count);
    }
  }
  return {
    period: { seconds: BigInt(period / 1000), nanos: 0 },
    periods: [...periods].map(([start, count]) => ({ start: toTimestamp(start), calls: count.toCalls() })),
    endpoints: endpoints.list().map(({ service, endpoint, count }) => ({ service, endpoint, calls: count.toCalls() })),
  };
}

function isAskedFor(tally: Tally, { service, endpoint }: ListUsageRequest): boolean {
  // Calls of Portico's own services are listed only on request.
  if (service === "") return !SELF_GOVERNED.has(tally.service) && tally.service !== GATEWAY;
  return tally.service === service && (endpoint === "" || tally.endpoint === endpoint);
}

/** @throws {StatusError} PERMISSION_DENIED unless a gateway calls: others could report anything. */
function checkReporter({ caller, system, endpoint }: BuiltInContext): void {
  if (system || caller?.enrolment === GATEWAY) return;
  throw permissionDenied(`Only gateways may call ${endpoint}`);
}

function checked({ reporter, sequence, tallies }: ReportUsageRequest) {
  const all = tallies?.tallies ?? [];
  if (reporter === "" || reporter.length > MAX_NAME_LENGTH)
    throw invalidArgument("reporter: must have 1 to 256 characters");
  if (all.length > MAX_TALLIES) throw invalidArgument(`tallies: must be at most ${MAX_TALLIES}`);
  return { reporter, sequence, tallies: all };
}

/** A gateway repeats a report until it is accepted. So an invalid tally is dropped, not refused. */
function isSane({ service, endpoint, byTime, clientErrors, serverErrors }: Tally): boolean {
  const names = `${service}${endpoint}`;
  const numbers = [...byTime, clientErrors, serverErrors];
  return (
    names.length <= MAX_NAME_LENGTH &&
    !/\s/.test(names) &&
    byTime.length <= BOUNDS.length &&
    numbers.every((number) => number >= 0n && number <= Number.MAX_SAFE_INTEGER)
  );
}
