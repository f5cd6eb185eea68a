/** Refusals: accepts what gateways report of refused calls, and tells why calls were refused. */

import { isRequestId } from "../../../src/call/metadata.js";
import { isToken } from "../../../src/call/token.js";
import { AdminPart, administers } from "../../../src/contract/admin-parts.js";
import { invalidArgument } from "../../../src/errors.js";
import {
  type FindRefusalsRequest,
  type ListRefusalsRequest,
  type ListRefusalsResponse,
  type Refusal,
  RefusalsService,
  type Refused,
  type ReportedRefusals,
} from "../../../src/gen/portico/auth/v1/refusals.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { durationMs, timestampMs, toDuration, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { chainOfRefusal } from "./chain.js";
import { accountOf, checkKeyPrefix, checkReporter, MAX_REPORTED_NAME } from "./checks.js";
import { RefusalMemory } from "./refusal-log.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Into how many periods a span is divided. */
const PERIODS = 60;
const MAX_GROUPS = 200;
const MAX_FOUND = 100;
/** Maximum groups in a report, and maximum calls of a group. */
const MAX_REPORTED = 10_000;
const MAX_LATEST = 100;

interface Options {
  readonly changes: Changes;
}

/** The gRPC service portico.auth.v1.Refusals. */
export function refusals({ changes }: Options): ServicePart {
  const log = new RefusalMemory();
  const started = changes.now;
  return part(RefusalsService, {
    list: (request, context) => list(log, request, { context, now: changes.now, started }),
    find: (request, context) => ({ refusals: find(log, request, context) }),
    report: (request, context) => {
      const { reporter, groups } = request;
      checkReporter(context, reporter);
      if (groups.length > MAX_REPORTED) throw invalidArgument(`groups: must be at most ${MAX_REPORTED}`);
      const { namespaces } = changes.state;
      return { last: log.add(request, (group) => isSane(group) && namespaces.has(group.namespace)) };
    },
  });
}

interface ListOptions {
  readonly context: Context;
  readonly now: number;
  readonly started: number;
}

interface Sum {
  readonly refused: Refused;
  count: number;
  readonly byPeriod: number[];
  last: number;
}

function list(
  log: RefusalMemory,
  request: ListRefusalsRequest,
  { context, now, started }: ListOptions,
): ListRefusalsResponse {
  const span = request.span === undefined ? HOUR : durationMs(request.span);
  if (!(span >= MINUTE && span <= DAY)) throw invalidArgument("span: must be from a minute to a day");
  checkKeyPrefix(request.key);
  if (request.endpoint !== "" && request.service === "")
    throw invalidArgument("service: is missing, whose endpoint it is");
  const from = now - span;
  const sums = new Map<string, Sum>();
  for (const group of seenBy(log, context)) {
    const last = timestampMs(group.latest.at(-1)?.time);
    if (last < from || !isAsked(group.refused, request)) continue;
    const name = JSON.stringify(group.refused);
    const sum = sums.get(name) ?? { refused: group.refused, count: 0, byPeriod: Array(PERIODS).fill(0), last: 0 };
    sums.set(name, sum);
    const count = Number(group.count);
    const period = Math.min(Math.floor(((last - from) / span) * PERIODS), PERIODS - 1);
    sum.byPeriod[period] += count;
    sum.count += count;
    sum.last = Math.max(sum.last, last);
  }
  const sorted = [...sums.values()].sort((a, b) => b.count - a.count || b.last - a.last);
  const groups = sorted.slice(0, MAX_GROUPS).map(({ refused, count, byPeriod, last }) => ({
    refused,
    count: BigInt(count),
    byPeriod: byPeriod.map(BigInt),
    last: toTimestamp(last),
    chain: chainOfRefusal(refused),
  }));
  const moreGroups = sorted.length - groups.length;
  return { period: toDuration(span / PERIODS), groups, moreGroups, since: toTimestamp(started) };
}

function find(log: RefusalMemory, { requestId, key }: FindRefusalsRequest, context: Context): Refusal[] {
  if ((requestId === "") === (key === "")) throw invalidArgument("request_id: give it, or a key, not both");
  checkKeyPrefix(key);
  if (requestId !== "" && !isRequestId(requestId)) throw invalidArgument("request_id: no request has such an ID");
  const found: Refusal[] = [];
  for (const { refused, latest } of seenBy(log, context)) {
    for (const call of latest) {
      const isFound = key === "" ? call.requestId === requestId : refused.key === key || call.key === key;
      if (isFound) found.push({ refused, call, chain: [] });
    }
  }
  found.sort((a, b) => timestampMs(b.call?.time) - timestampMs(a.call?.time));
  return found.slice(0, MAX_FOUND).map((one) => ({ ...one, chain: chainOfRefusal(one.refused!) }));
}

/** A group that has what its messages may lack. */
type Group = ReportedRefusals & { readonly refused: Refused };

/** The refusals that the caller may see: an administrator all of its namespace. */
function* seenBy(log: RefusalMemory, context: Context): Generator<Group> {
  const caller = accountOf(context);
  const seesAll = administers(caller, AdminPart.AUDIT);
  for (const group of log.groups()) {
    if (group.namespace !== caller.namespace) continue;
    if (seesAll || group.refused?.account === caller.account) yield group as Group;
  }
}

function isAsked(refused: Refused, { account, key, service, endpoint }: ListRefusalsRequest): boolean {
  const isService = service === "" || refused.endpoint.startsWith(`${service}:`);
  return (
    (account === "" || refused.account === account) &&
    (key === "" || refused.key === key) &&
    (endpoint === "" ? isService : refused.endpoint === `${service}:${endpoint}`)
  );
}

/** A gateway repeats a report until it is accepted. So an invalid group is dropped, not refused. */
function isSane({ refused, count, latest }: ReportedRefusals): boolean {
  if (refused === undefined) return false;
  const { endpoint, account, key, cause } = refused;
  const names = latest.flatMap((call) => [call.address, call.requestId, call.key]);
  return (
    latest.length > 0 &&
    latest.length <= MAX_LATEST &&
    count >= BigInt(latest.length) &&
    count <= Number.MAX_SAFE_INTEGER &&
    [endpoint, account, key, cause, ...names].every((name) => name.length <= MAX_REPORTED_NAME && !isToken(name))
  );
}
