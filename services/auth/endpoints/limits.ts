/**
 * Limits: lists, creates, sets and deletes limits of calls of the caller's namespace; shows which
 * apply to a caller.
 */
import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { LIMITS } from "../../../src/access/decide/restrictions.js";
import { networkOf } from "../../../src/address/client-address.js";
import { AdminPart, administers } from "../../../src/contract/admin-parts.js";
import { parsePattern, type Resource } from "../../../src/contract/resource.js";
import {
  aborted,
  alreadyExists,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
} from "../../../src/errors.js";
import {
  Limit,
  LimitsService,
  type ListedLimit,
  type SetLimitRequest,
  type ShowLimitsRequest,
  type ShowLimitsResponse,
} from "../../../src/gen/portico/auth/v1/limits.js";
import { checkLimit } from "../../../src/limits/limit.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { toTimestamp } from "../../../src/time.js";
import { type AskedCaller, limitsFor } from "../limits/applying.js";
import type { LimitUses } from "../limits/uses.js";
import type { Changes } from "../log/changelog/changes.js";
import type { LogEvent } from "../log/changelog/decide.js";
import type { State } from "../log/state/state.js";
import { shareOfRules } from "./admin-share.js";
import { accountOf, authorOf, checkAddress, checkMessage } from "./checks.js";
import { findByPrefixOrName } from "./keys.js";
import { type PageItems, pageOf } from "./page.js";

/** Maximum number of limits in all namespaces together: each guard has all of them. */
export const MAX_LIMITS = 10_000;

interface Options {
  readonly changes: Changes;
  readonly uses: LimitUses;
}

/** The gRPC service portico.auth.v1.Limits. */
export function limits({ changes, uses }: Options): ServicePart {
  return part(LimitsService, {
    list: async (request, context) => {
      const caller = accountOf(context);
      const { namespace } = caller;
      await changes.sync();
      const { items, nextPageToken } = pageOf(request, listOf(changes.state, caller));
      return { limits: await Promise.all(items.map((limit) => listed(uses, namespace, limit))), nextPageToken };
    },
    create: ({ limit }, context) => create(changes, checkedLimit(limit), context),
    set: (request, context) => set(changes, request, context),
    delete: async ({ id }, context) => {
      const caller = accountOf(context);
      const value = { namespace: caller.namespace, id };
      const decide = (state: State): LogEvent[] => {
        shareOfRules(state, caller).checkLimitDeleted(presentOf(state, value.namespace, id));
        return [{ $case: "limitDeleted", value }];
      };
      await changes.make(authorOf(context), decide);
      return {};
    },
    show: (request, context) => show({ changes, uses }, request, context),
  });
}

async function create(changes: Changes, asked: Limit, context: Context): Promise<Limit> {
  const caller = accountOf(context);
  const { namespace } = caller;
  let limit = asked;
  const decide = (state: State): LogEvent[] => {
    limit = shareOfRules(state, caller).checkedLimit(asked);
    if (state.limits.get(namespace, limit.id) !== undefined) {
      throw alreadyExists(`a limit with the ID ${limit.id} exists already`);
    }
    if (state.limits.size >= MAX_LIMITS) {
      throw failedPrecondition(`the installation has ${MAX_LIMITS} limits, the most it may; delete one`);
    }
    return [{ $case: "limitSet", value: { namespace, limit } }];
  };
  await changes.checkRestriction(LIMITS, "a limit of calls");
  await changes.make(authorOf(context), decide);
  return limit;
}

async function set(changes: Changes, { limit: asked, expected }: SetLimitRequest, context: Context): Promise<Limit> {
  const caller = accountOf(context);
  const { namespace } = caller;
  await changes.sync();
  // A request that names no limit says so, whatever else is wrong with it.
  if (asked !== undefined) presentOf(changes.state, namespace, asked.id);
  const checked = checkedLimit(asked);
  let limit = checked;
  await changes.make(authorOf(context), (state) => {
    const replaced = presentOf(state, namespace, checked.id);
    limit = shareOfRules(state, caller).checkedLimit(checked, replaced);
    if (expected !== undefined && !isSame(expected, replaced)) {
      throw aborted(`the limit ${limit.id} was changed meanwhile; list it and try again`);
    }
    if (!isSame(limit, replaced)) return [{ $case: "limitSet", value: { namespace, limit } }];
    limit = replaced;
    return [];
  });
  return limit;
}

/** Whoever set them. */
function isSame(one: Limit, other: Limit): boolean {
  return Buffer.from(encodeLimit(one)).equals(encodeLimit(other));
}

/** The limit without who set it. */
export function encodeLimit(limit: Limit): Uint8Array {
  return Limit.encode({ ...limit, delegated: undefined }).finish();
}

/** @throws {StatusError} NOT_FOUND */
function presentOf(state: State, namespace: string, id: string): Limit {
  const present = state.limits.get(namespace, id);
  if (present === undefined) throw notFound(`no limit with the ID ${id}`);
  return present.limit;
}

/** @param field the name of the limit's field in the request */
export function checkedLimit(limit: Limit | undefined, field = "limit"): Limit {
  return checkMessage(field, limit, checkLimit);
}

async function listed(uses: LimitUses, namespace: string, limit: Limit): Promise<ListedLimit> {
  const { refused, since } = await uses.refusedOf(namespace, limit.id);
  return { limit, refused: BigInt(refused), since: toTimestamp(since) };
}

/** The limits of a namespace that a caller sees, by ID. */
function listOf(state: State, caller: KnownCaller): PageItems<Limit> {
  const share = shareOfRules(state, caller);
  return {
    after(position) {
      const limits = state.limits.of(caller.namespace).map(({ limit }) => limit);
      const all = limits.filter((limit) => share.sees(limit));
      const following = position === undefined ? all : all.filter(({ id }) => id > (position[0] ?? ""));
      return following.sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    positionOf: ({ id }) => [id],
    bytesOf: (limit) => Limit.encode(limit).finish().length,
  };
}

async function show(options: Options, request: ShowLimitsRequest, context: Context): Promise<ShowLimitsResponse> {
  const { changes, uses } = options;
  const pattern = patternOf(request.resource);
  await changes.sync();
  const caller = await askedCaller(changes, request, context);
  return { limits: await limitsFor({ state: changes.state, uses }, caller, pattern) };
}

/**
 * The caller whose limits are shown.
 * @throws {StatusError} PERMISSION_DENIED if another account than the administrators' asks for
 *   others, NOT_FOUND, INVALID_ARGUMENT
 */
async function askedCaller(changes: Changes, request: ShowLimitsRequest, context: Context): Promise<AskedCaller> {
  const own = accountOf(context);
  const { namespace } = own;
  const seesAll = administers(own, AdminPart.RULES);
  const asksForSelf = request.account === "" && request.key === "" && request.address === "";
  const isOwn = ["", own.account].includes(request.account) && request.address === "";
  if (!seesAll && !isOwn) {
    throw permissionDenied("Only administrators see limits of other accounts and of addresses");
  }
  const network = networkOf(asksForSelf ? context.clientAddress : checkAddress("address", request.address));
  const asked = { namespace, account: request.account || (seesAll && !asksForSelf ? "" : own.account) };
  if (asksForSelf) {
    const token = changes.state.token(own.hashBytes);
    const key = token?.kind === "key" ? token.key.prefix : "";
    return { ...asked, key, network, scopes: own.scopes };
  }
  if (request.key !== "") {
    const { account, prefix } = await findByPrefixOrName(changes, asked, request.key);
    return { namespace, account, key: prefix, network, scopes: changes.state.account(namespace, account)?.scopes };
  }
  const account = changes.state.account(namespace, asked.account);
  if (account === undefined && asked.account !== "") throw notFound(`no account with the name ${asked.account}`);
  return { ...asked, key: "", network, scopes: account?.scopes };
}

function patternOf(resource: string): Resource {
  try {
    return parsePattern(resource || "*:*:*");
  } catch (error) {
    throw invalidArgument((error as Error).message.replace(/^(\w+) /, "resource: "), error);
  }
}
