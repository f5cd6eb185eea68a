/**
 * The types of access control: the credentials of a call, its caller, the admission that a guard gives, and the refusals.
 * src/rpc and the gateway know guards by these alone; guard.ts has the implementation.
 *
 * This room knows no rule.
 */

import { Callers, type Endpoint } from "../contract/endpoint.js";
import { ADMIN_SCOPE, DEFAULT_NAMESPACE } from "../contract/names.js";
import { Code, StatusError, withoutStack } from "../errors.js";
import type { Caller } from "./caller.js";
import type { Metadata } from "./metadata.js";

/** What a call shows of its caller. */
export interface Credentials {
  /** The bearer token, as sent; undefined for none. */
  readonly token: string | undefined;
  /** The signed context of a call from another process, as sent; what it says stands for token and namespace. */
  readonly context?: string | undefined;
  /** The call was admitted when it opened, and is judged again now: its context may have expired since. */
  readonly opened?: boolean | undefined;
  /** The namespace asked for; undefined means the token's own, or else `default`. */
  readonly namespace: string | undefined;
  /** Whether a call without a valid token is refused whatever the rules say (the `/v1` shape). */
  readonly tokenRequired: boolean;
  /**
   * Whether a known caller that no rule admits is refused with PERMISSION_DENIED, not UNAUTHENTICATED. For clients that ask for
   * another token as long as they are answered 401, such as those of MCP.
   */
  readonly forbidsKnown?: boolean | undefined;
}

/** What a guard decides on: an endpoint, or what the gateway answers itself for callers that it declares. */
export type Guarded = Pick<Endpoint, "service" | "name" | "resource" | "segments" | "callers">;

/** Proof that a guard let a call in. */
export interface Admission {
  readonly endpoint: Guarded;
  readonly caller: Caller | undefined;
  readonly namespace: string;
  /** Tells the namespace from others of the same name; empty or undefined for one without such an identity. */
  readonly namespaceId?: string | undefined;
  /** The service that calls, for its own account or for the caller; undefined for a gateway or a client. */
  readonly service?: string | undefined;
}

/** Whether a caller or an account administers its namespace. */
export function isAdmin({ scopes }: { readonly scopes: readonly string[] }): boolean {
  return scopes.includes(ADMIN_SCOPE);
}

/** The scope that rules give to a service which calls others. */
export function serviceScope(name: string): string {
  return `service:${name}`;
}

/**
 * Stands for an admission where a process calls its own authority or registry in process: its guard's watch, its
 * catalog's watch, its own registrations. Never sent on a wire.
 */
export const SYSTEM: unique symbol = Symbol("system");

/** Decides which calls are let in. guard.ts has the implementation. */
export interface Guard {
  /**
   * Lets a call in, at once where the token is known and the lease runs.
   * @throws {StatusError} (or rejects with one) UNAUTHENTICATED `Unauthorized call made to helloworld:Helloworld.Call`,
   * PERMISSION_DENIED `Forbidden call made to helloworld:Helloworld.Call by bob`, UNAVAILABLE outside the lease.
   */
  admit(credentials: Credentials, endpoint: Guarded): Admission | Promise<Admission>;

  /**
   * What `admit` would say to a caller already known, as yes or no, from the rules at hand: for lists that show each
   * caller its own part. It admits nothing: a listed endpoint is judged again when it is called.
   */
  allows(caller: Caller | undefined, namespace: string, endpoint: Guarded): boolean;

  /** Judges an open stream again at every change. `end` of what it returns must be called when the stream has ended. */
  follow(admission: Admission, listener: StreamListener): FollowedStream;
}

/** An open stream, as its guard tells it what becomes of it. */
export interface StreamListener {
  /** The stream must end. The last event, at most once. */
  onRefused(error: Error): void;
  /** Messages may pass again, after a `mayPass` that returned false. */
  onResumed(): void;
}

/** An open stream that a guard follows. */
export interface FollowedStream {
  /**
   * Whether a message may pass now, in either direction; to be asked for each one. Where it may not, the message waits for
   * `onResumed` or `onRefused`: no lease runs, or the stream's caller is being looked up again.
   */
  mayPass(): boolean;
  end(): void;
}

/** What a gateway asks of its guard. */
export interface SigningGuard extends Guard {
  /**
   * As `admit` decides on a token, where the token is known here.
   * @returns undefined where the authority has to be asked
   * @throws {StatusError} as `admit`
   */
  admitAtOnce(credentials: Credentials, endpoint: Guarded): Admission | undefined;

  /** Calls the listener after each change of rules or callers, for as long as the guard is open. */
  onChange(listener: () => void): void;

  /** The signed context that stands for an admission in another process. To be asked for in the turn of the admission. */
  assertionOf(admission: Admission): SignedAssertion;
}

/** A context of a call that is signed when it is first read: a call within the process needs none, unless it is delegated. */
export interface SignedAssertion {
  /** One entry; none where the service has no key. However late it is read, it says what held when the call was admitted. */
  readonly metadata: Metadata;
}

/** `unauthorized` is 401 to the caller, `forbidden` 403. */
export type Decision = "granted" | "unauthorized" | "forbidden";

/** A decision on a caller's token. `limited` is 403: rules grant the call, but the API key does not reach it (src/access/decide/limits.ts). */
export type AuthorizationResult = Decision | "limited";

/** The error for a refused call: UNAUTHENTICATED or PERMISSION_DENIED, with the endpoint and the caller. */
export function refusal(
  decision: Exclude<AuthorizationResult, "granted">,
  endpoint: Guarded,
  caller: Caller | undefined,
): StatusError {
  if (decision === "unauthorized" || caller === undefined) {
    return withoutStack(() => new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint.name}`));
  }
  const name = caller.enrolment === undefined ? caller.account : `service ${caller.enrolment}`;
  const why = decision === "limited" ? `: ${limitsInWords(caller)}` : "";
  return withoutStack(
    () => new StatusError(Code.PERMISSION_DENIED, `Forbidden call made to ${endpoint.name} by ${name}${why}`),
  );
}

/** Most limits of a key that a message names. */
const MAX_SHOWN_LIMITS = 3;

/** `API key deploy is limited to service:orders:*`. */
export function limitsInWords({ key, resources }: Pick<Caller, "key" | "resources">): string {
  const more = resources.length - MAX_SHOWN_LIMITS;
  const shown = resources.slice(0, MAX_SHOWN_LIMITS).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `${key ? `API key ${key}` : "the API key"} is limited to ${shown}`;
}

/** The error while no decision can be made. */
export function authorityUnreachable(cause?: unknown): StatusError {
  const message = "The authority cannot be reached; no decision is made without it";
  return withoutStack(() => new StatusError(Code.UNAVAILABLE, message, cause === undefined ? {} : { cause }));
}

/** The error while a guard knows other rules of a namespace than those of the caller's, which has the same name. */
export function namespaceReplaced(namespace: string): StatusError {
  const message = `the namespace ${namespace} was created anew a moment ago; try again`;
  return withoutStack(() => new StatusError(Code.UNAVAILABLE, message));
}

/**
 * Whether an endpoint is shown in lists, descriptions and documents: to administrators of the installation each, to other
 * callers those that they may call. Endpoints for enrolled callers are shown to none.
 */
export function isVisible(
  guard: Pick<Guard, "allows">,
  { caller, namespace }: Pick<Admission, "caller" | "namespace">,
  endpoint: Guarded,
): boolean {
  if (endpoint.callers === Callers.ENROLLED) return false;
  return seesAll(caller) || guard.allows(caller, namespace, endpoint);
}

/** An administrator does, unless the key at hand is limited to some resources. */
function seesAll(caller: Caller | undefined): boolean {
  return caller?.namespace === DEFAULT_NAMESPACE && isAdmin(caller) && caller.resources.length === 0;
}
