/**
 * The types of access control: the credentials of a call, its caller, the admission by a guard, and
 * the refusals. src/rpc and the gateway know guards only by these types. src/access/guard.ts has
 * the implementation.
 *
 * This room knows no rule.
 */

import { administers, isAdminScope, scopesInWords } from "../contract/admin-parts.js";
import { administeredBy, isWithin } from "../contract/admin-resources.js";
import { Callers, type Endpoint } from "../contract/endpoint.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { Code, StatusError, withoutStack } from "../errors.js";
import type { Caller } from "./caller.js";
import type { CountedCall, LimitedCall } from "./limited-call.js";
import type { Metadata } from "./metadata.js";

/** What a call states about its caller. */
export interface Credentials {
  /** The bearer token, as sent; undefined for none. */
  readonly token: string | undefined;
  /**
   * The caller assertion of a call from another process, as sent; it replaces token and namespace.
   */
  readonly callerAssertion?: string | undefined;
  /**
   * The call was admitted when it opened, and is authorized again now: its assertion may have
   * expired since.
   */
  readonly opened?: boolean | undefined;
  /**
   * The requested namespace; undefined means the namespace of the token, or `default` if there is
   * none.
   */
  readonly namespace: string | undefined;
  /**
   * Whether a call without a valid token is refused whatever the rules are (for paths in the `/v1`
   * form).
   */
  readonly tokenRequired: boolean;
  /**
   * Whether it is a tool call at `/mcp`. Then a known caller that no rule admits is refused with
   * PERMISSION_DENIED instead of UNAUTHENTICATED, because MCP clients ask for another token
   * whenever they get 401; and tokens that were granted for `/mcp` alone count.
   */
  readonly forbidsKnown?: boolean | undefined;
  /**
   * The client's address, or the request that has it: only some API keys depend on it, and for a
   * client behind a proxy it is computed. Such a key does not count where it is undefined.
   */
  readonly client?: string | { readonly remoteAddress: string } | undefined;
}

/**
 * What a guard decides on: an endpoint, or a built-in route of the gateway that declares its
 * callers.
 */
export type Guarded = Pick<
  Endpoint,
  "service" | "name" | "resource" | "segments" | "callers" | "adminPart" | "someResources"
>;

/** Proof that a guard admitted a call. */
export interface Admission {
  readonly endpoint: Guarded;
  readonly caller: Caller | undefined;
  readonly namespace: string;
  /**
   * Distinguishes the namespace from earlier and later ones of the same name; empty or undefined if
   * it has no such ID.
   */
  readonly namespaceId?: string | undefined;
  /** The service that calls, for itself or for the caller; undefined for a gateway or a client. */
  readonly service?: string | undefined;
  /** The enrolment token of that service. */
  readonly serviceToken?: Caller | undefined;
}

/** The scope by which rules name a service that calls others. */
export function serviceScope(name: string): string {
  return `service:${name}`;
}

/**
 * Used instead of an admission when a process calls its own authority or registry within the
 * process: for its guard's watch, its catalog's watch, and its own registrations. Never sent over a
 * network.
 */
export const SYSTEM: unique symbol = Symbol("system");

/** Decides which calls are admitted. src/access/guard.ts has the implementation. */
export interface Guard {
  /**
   * Admits a call: synchronously if the token is known and the lease runs.
   * @throws {StatusError} (or rejects with one) UNAUTHENTICATED `Unauthorized call made to
   * helloworld:Helloworld.Call`, PERMISSION_DENIED `Forbidden call made to
   * helloworld:Helloworld.Call by bob`, UNAVAILABLE outside the lease
   */
  admit(credentials: Credentials, endpoint: Guarded): Admission | Promise<Admission>;

  /**
   * Whether `admit` would admit a known caller, by the current rules. For lists that show each
   * caller only what it may call. It is no admission: a listed endpoint is authorized again when it
   * is called.
   * @param byMcp whether it would be called at `/mcp`
   */
  allows(caller: Caller | undefined, namespace: string, endpoint: Guarded, byMcp?: boolean): boolean;

  /**
   * Counts an admitted call against the limits of calls that match it. To be called once for each
   * call, after its last `admit`, and before its body is received where that is long.
   * @returns undefined if no limit matches
   * @throws {LimitedError} (or rejects with one) if a limit is used up
   */
  count(admission: Admission, call: CountedCall): LimitedCall | Promise<LimitedCall> | undefined;

  /**
   * Re-authorizes an open stream at every change. The caller must call `end` of the result when the
   * stream has ended.
   */
  follow(admission: Admission, listener: StreamListener): FollowedStream;
}

/** Notified by a guard of what happens to an open stream. */
export interface StreamListener {
  /** The stream must end. The last event, at most once. */
  onRefused(error: Error): void;
  /** Messages may pass again, after `mayPass` has returned false. */
  onResumed(): void;
}

/** An open stream that a guard follows. */
export interface FollowedStream {
  /**
   * Whether a message may pass now, in either direction. To be asked for each message. If not, no
   * lease runs or the stream's caller is being looked up again: the message waits for `onResumed`
   * or `onRefused`.
   */
  mayPass(): boolean;
  end(): void;
}

/** What a gateway needs from its guard. */
export interface SigningGuard extends Guard {
  /**
   * As `admit` with a token, but only if the token's caller is known here.
   * @returns undefined if the authority has to be asked
   * @throws {StatusError} as `admit`
   */
  admitAtOnce(credentials: Credentials, endpoint: Guarded): Admission | undefined;

  /** Calls the listener after each change of rules or callers, for as long as the guard is open. */
  onChange(listener: () => void): void;

  /**
   * The caller assertion of an admission. To be asked for in the same turn of the event loop as the
   * admission.
   */
  assertionOf(admission: Admission): SignedAssertion;
}

/**
 * A caller assertion that is signed when it is first read. A call within the process needs none,
 * unless it is delegated.
 */
export interface SignedAssertion {
  /**
   * One entry, or none if the service has no key. It states what was true when the call was
   * admitted, whenever it is read.
   */
  readonly metadata: Metadata;
}

/** `unauthorized` becomes 401, `forbidden` becomes 403. */
export type Decision = "granted" | "unauthorized" | "forbidden";

/**
 * A decision on a caller's token. `limited` becomes 403: the rules grant the call, but the API key
 * is limited to other resources (src/access/decide/limits.ts).
 */
export type AuthorizationResult = Decision | "limited";

/**
 * Why a guard refused a call with a token or without one: the first check that failed. The reasons
 * are explained at `Reason` in refusals.proto.
 */
export interface RefusalCause {
  readonly reason:
    | "NO_TOKEN"
    | "UNKNOWN_TOKEN"
    | "EXPIRED"
    | "REVOKED"
    | "OTHER_TOKEN"
    | "LIMIT"
    | "NO_RULE"
    | "RULE"
    | "DECLARATION"
    | "CALL_LIMIT"
    | "DISABLED"
    | "OTHER_ADDRESS";
  readonly namespace: string;
  /** Empty without a token that is or was valid. */
  readonly account: string;
  /** The prefix of the API key, also of one that has ended or is unknown; empty for none. */
  readonly key: string;
  /** The ID of the rule, or the name of the limited key; empty for other reasons. */
  readonly cause: string;
}

/** The error for a refused call. `refused` is not part of any response. */
export class RefusalError extends StatusError {
  readonly refused: RefusalCause | undefined;

  constructor(code: Code, message: string, refused: RefusalCause | undefined) {
    super(code, message);
    this.refused = refused;
  }
}

/**
 * The error for a refused call: UNAUTHENTICATED or PERMISSION_DENIED, with the endpoint and the
 * caller.
 */
export function refusal(
  decision: Exclude<AuthorizationResult, "granted">,
  endpoint: Guarded,
  caller: Caller | undefined,
  refused?: RefusalCause,
): StatusError {
  if (decision === "unauthorized" || caller === undefined) {
    const message = `Unauthorized call made to ${endpoint.name}${unauthorizedInWords(refused)}`;
    return withoutStack(() => new RefusalError(Code.UNAUTHENTICATED, message, refused));
  }
  const name = caller.enrolment === undefined ? caller.account : `service ${caller.enrolment}`;
  const why = decision === "limited" ? `: ${limitsInWords(caller)}` : declarationInWords(endpoint, caller);
  return withoutStack(
    () => new RefusalError(Code.PERMISSION_DENIED, `Forbidden call made to ${endpoint.name} by ${name}${why}`, refused),
  );
}

/** What a client may do about a key that does not count; empty for other reasons. */
function unauthorizedInWords(refused: RefusalCause | undefined): string {
  const { reason, key } = refused ?? {};
  if (reason === "DISABLED") return `: the account of the API key ${key} is disabled; an administrator can enable it`;
  if (reason !== "OTHER_ADDRESS") return "";
  return `: the API key ${key} is for clients at other addresses; call from one of them, or create a key for yours`;
}

/** What an administrator lacks at an endpoint for administrators; empty for all other callers. */
function declarationInWords({ callers, adminPart, someResources }: Guarded, caller: Caller): string {
  if (callers !== Callers.ADMIN || !caller.scopes.some(isAdminScope)) return "";
  const held = { scopes: caller.scopes };
  const isEnough = administers(held, adminPart) || (someResources === true && administeredBy(held).length > 0);
  if (!isEnough) return `, who lacks the scope ${scopesInWords(adminPart)}`;
  return ": this API key administers nothing; log in, or create one with --admin";
}

/** Maximum number of a key's limits that a message lists. */
const MAX_SHOWN_LIMITS = 3;

/** `API key deploy is limited to service:orders:*`. */
export function limitsInWords({ key, resources }: Pick<Caller, "key" | "resources">): string {
  const more = resources.length - MAX_SHOWN_LIMITS;
  const shown = resources.slice(0, MAX_SHOWN_LIMITS).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `${key ? `API key ${key}` : "its token"} is limited to ${shown}`;
}

/** The error while no decision can be made. */
export function authorityUnreachable(cause?: unknown): StatusError {
  const message = "The authority cannot be reached; no decision is made without it";
  return withoutStack(() => new StatusError(Code.UNAVAILABLE, message, cause === undefined ? {} : { cause }));
}

/**
 * The error while a guard has the rules of another namespace than the caller's, with the same name.
 */
export function namespaceReplaced(namespace: string): StatusError {
  const message = `the namespace ${namespace} was created anew a moment ago; try again`;
  return withoutStack(() => new StatusError(Code.UNAVAILABLE, message));
}

/**
 * Whether an endpoint is shown in lists, descriptions and documents. Administrators of the
 * installation see each one, or each one that they administer; other callers see those that they
 * may call. Endpoints for enrolled callers are never shown.
 */
export function isVisible(
  guard: Pick<Guard, "allows">,
  { caller, namespace }: Pick<Admission, "caller" | "namespace">,
  endpoint: Guarded,
): boolean {
  if (endpoint.callers === Callers.ENROLLED) return false;
  return administersIt(caller, endpoint) || guard.allows(caller, namespace, endpoint);
}

/** By an administrator of the installation, unless its API key is limited to resources. */
function administersIt(caller: Caller | undefined, { segments }: Guarded): boolean {
  if (caller?.namespace !== DEFAULT_NAMESPACE || caller.resources.length > 0) return false;
  return administers(caller) || isWithin(administeredBy(caller), segments);
}
