/**
 * The guard decides which calls a process lets in. The gateway's HTTP port and every gRPC port have the same one:
 *
 *     token ─── caller-cache ────┐
 *     context ─ context-cache ───┴─▶ caller ─▶ rules ─▶ admission ─▶ open-streams
 *                                                ▲      or 401, 403, 503
 *     authority ─ policy (pings, lease) ─────────┘
 *
 * Rules come from the authority on a stream and may be used while a lease runs (policy.ts, lease.ts). The caller of a token
 * is looked up once and kept (caller-cache.ts); a call from a gateway or a service carries a signed context instead
 * (caller-assertion.ts, assertion-cache.ts). Streams that are open are judged again whenever rules or callers change
 * (open-streams.ts). So a call with a known token is decided at once, from memory.
 *
 * This room knows no password.
 */

import type { AuthorizationResult, Decision } from "../call/admission.js";
import {
  type Admission,
  authorityUnreachable,
  type Credentials,
  type FollowedStream,
  type Guarded,
  isAdmin,
  namespaceReplaced,
  refusal,
  type SignedAssertion,
  type SigningGuard,
  type StreamListener,
  serviceScope,
} from "../call/admission.js";
import type { Caller } from "../call/caller.js";
import { Callers } from "../contract/endpoint.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { AssertionCache, badAssertion, lateAssertion, type Verified } from "./assertions/assertion-cache.js";
import { CallerCache, UNKNOWN_TOKEN } from "./callers/caller-cache.js";
import type { KnownCaller } from "./callers/known-caller.js";
import { withinLimits } from "./decide/limits.js";
import type { AuthorityAccess } from "./follow/authority-access.js";
import { Policy } from "./follow/policy.js";
import { OpenStreams } from "./streams/open-streams.js";

export * from "../call/admission.js";

const EVERY_CALLER = { has: () => true };

type AssertionCredentials = Credentials & { readonly context: string };

/** A guard that follows its authority until it is closed. */
export class OpenGuard implements SigningGuard {
  readonly #callers: CallerCache;
  readonly #contexts: AssertionCache;
  readonly #streams: OpenStreams;
  readonly #policy: Policy;
  readonly #listeners: (() => void)[] = [];
  /** The only service whose rules are known; undefined where all are. */
  readonly #service: string | undefined;

  constructor(authority: AuthorityAccess) {
    this.#service = authority.service;
    this.#callers = new CallerCache(authority);
    this.#streams = new OpenStreams({
      callers: this.#callers,
      now: () => this.#policy.timeAt(performance.now()),
      hasLease: () => this.#policy.lease.runs(performance.now()),
      authorize: (admission, caller) => {
        try {
          const decision = this.#judgeBoth(admission, caller);
          return decision === "granted" ? undefined : refusal(decision, admission.endpoint, caller);
        } catch (error) {
          return error as Error;
        }
      },
    });
    this.#policy = new Policy(authority, {
      onRevision: (revision, changed) => {
        if (changed !== undefined) this.#callers.change(revision, changed);
        this.#tellOfChange();
        return this.#streams.reauthorize(changed);
      },
      onSnapshot: (revision) => {
        this.#callers.forgetAll(revision);
        this.#contexts.clear();
        this.#tellOfChange();
        return this.#streams.reauthorize(EVERY_CALLER);
      },
      onLeaseRunning: () => this.#streams.resumeAll(),
      onCutOff: () => this.#streams.refuseAll(authorityUnreachable()),
      takeUsedKeys: () => this.#callers.takeUsed(),
    });
    this.#contexts = new AssertionCache(this.#policy, this.#callers);
  }

  /** Whether decisions can be made: not yet, now, not at the moment, never again. */
  get state(): Policy["state"] {
    return this.#policy.state;
  }

  /** Why each authority that could not be followed the last time could not, by its address, until it responds again. */
  get errors(): ReadonlyMap<string, Error> {
    return this.#policy.errors;
  }

  /** Resolves when decisions can be made; rejects with CANCELLED when closed before. */
  ready(): Promise<void> {
    return this.#policy.ready();
  }

  /**
   * Refuses the streams still followed with UNAVAILABLE, and leaves the authority, so that it need not wait for this
   * guard's lease. Resolves when the authority has heard of it, or does not respond.
   */
  close(): Promise<void> {
    this.#streams.refuseAll(authorityUnreachable());
    return this.#policy.close();
  }

  admit(credentials: Credentials, endpoint: Guarded): Admission | Promise<Admission> {
    if (credentials.context !== undefined) return this.#admitByContext(credentials as AssertionCredentials, endpoint);
    return this.admitAtOnce(credentials, endpoint) ?? this.#lookUpAndAdmit(credentials, endpoint);
  }

  admitAtOnce(credentials: Credentials, endpoint: Guarded): Admission | undefined {
    const now = performance.now();
    if (!this.#policy.lease.runs(now)) throw authorityUnreachable();
    const { token } = credentials;
    const caller = token === undefined ? UNKNOWN_TOKEN : this.#callers.find(token);
    if (caller === undefined) return undefined;
    return this.#admit(credentials, endpoint, caller === UNKNOWN_TOKEN ? undefined : caller, now);
  }

  async #lookUpAndAdmit(credentials: Credentials, endpoint: Guarded): Promise<Admission> {
    const caller = await this.#callers.lookUp(credentials.token ?? "");
    // What came in the meantime may have changed the caller, or the lease may have run out: from the start again.
    if (caller !== undefined && !this.#callers.isCurrent(caller)) return this.admit(credentials, endpoint);
    const now = performance.now();
    if (!this.#policy.lease.runs(now)) throw authorityUnreachable();
    return this.#admit(credentials, endpoint, caller, now);
  }

  #admit(credentials: Credentials, endpoint: Guarded, bearer: KnownCaller | undefined, now: number): Admission {
    const valid = bearer !== undefined && bearer.expires > this.#policy.timeAt(now) ? bearer : undefined;
    const own = valid?.enrolment === undefined ? valid?.namespace : undefined;
    const namespace = credentials.namespace ?? own ?? DEFAULT_NAMESPACE;
    const caller = countsAt(endpoint, namespace, valid) ? valid : undefined;
    if (caller?.reportUse) this.#callers.noteUse(caller);
    const decision =
      credentials.tokenRequired && caller === undefined
        ? "unauthorized"
        : this.#authorize(endpoint, namespace, caller?.namespaceId, caller);
    if (decision !== "granted") {
      const isForbidden = decision === "unauthorized" && credentials.forbidsKnown === true;
      throw refusal(isForbidden ? "forbidden" : decision, endpoint, caller);
    }
    const { namespaceId } = caller ?? this.#policy.current.rulesOf(namespace);
    return { endpoint, caller, namespace, namespaceId };
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #tellOfChange(): void {
    for (const listener of this.#listeners) listener();
  }

  assertionOf(admission: Admission): SignedAssertion {
    return this.#contexts.assertionOf(admission);
  }

  /** @throws {StatusError} (or rejects with one) as `admit`. */
  #admitByContext(credentials: AssertionCredentials, endpoint: Guarded): Admission | Promise<Admission> {
    const now = performance.now();
    if (!this.#policy.lease.runs(now)) throw authorityUnreachable();
    // Endpoints of the authority take tokens alone: with a service's key, a context could be signed for any caller.
    if (endpoint.callers !== undefined) throw badAssertion(endpoint);
    const known = this.#contexts.find(credentials.context);
    if (known === undefined) return this.#verifyAndAdmit(credentials, endpoint);
    this.#checkContext(known, credentials, endpoint, now);
    return this.#admitVerified(known, endpoint);
  }

  async #verifyAndAdmit(credentials: AssertionCredentials, endpoint: Guarded): Promise<Admission> {
    return this.#admitFresh(credentials, await this.#contexts.verify(credentials.context, endpoint), endpoint);
  }

  /** Admits by a context that is not known yet, or whose caller may have changed. */
  #admitFresh(
    credentials: AssertionCredentials,
    verified: Verified,
    endpoint: Guarded,
  ): Admission | Promise<Admission> {
    const now = performance.now();
    if (!this.#policy.lease.runs(now)) throw authorityUnreachable();
    this.#checkContext(verified, credentials, endpoint, now);
    const { caller } = verified;
    if (caller !== undefined && !this.#callers.isCurrent(caller)) {
      return this.#renewAndAdmit(credentials, verified, caller, endpoint);
    }
    this.#contexts.keep(verified);
    return this.#admitVerified(verified, endpoint);
  }

  /** The caller may have changed since the context was signed: the authority knows. */
  async #renewAndAdmit(
    credentials: AssertionCredentials,
    verified: Verified,
    outdated: KnownCaller,
    endpoint: Guarded,
  ): Promise<Admission> {
    const caller = await this.#callers.lookUpHash(outdated);
    if (caller === undefined) throw refusal("unauthorized", endpoint, undefined);
    // What came in the meantime may have changed the caller, or the key: from the start again.
    if (!this.#callers.isCurrent(caller) || verified.version !== this.#policy.current.keys.version) {
      return this.#verifyAndAdmit(credentials, endpoint);
    }
    return this.#admitFresh(credentials, { ...verified, caller }, endpoint);
  }

  /**
   * @throws {StatusError} UNAUTHENTICATED for a context that is not of this endpoint, or whose caller's token has expired;
   * UNAVAILABLE where the lease has run out in which it was signed: the caller is as good as before.
   */
  #checkContext(verified: Verified, { opened }: AssertionCredentials, endpoint: Guarded, now: number): void {
    if (verified.resource !== endpoint.resource) throw badAssertion(endpoint);
    const time = this.#policy.timeAt(now);
    if (verified.expires > time || opened === true) return;
    throw (verified.caller?.expires ?? Number.POSITIVE_INFINITY) > time
      ? lateAssertion(endpoint)
      : badAssertion(endpoint);
  }

  #admitVerified({ caller, namespace, namespaceId, service }: Verified, endpoint: Guarded): Admission {
    const counts = caller === undefined || caller.enrolment !== undefined || caller.namespace === namespace;
    if (!counts) throw badAssertion(endpoint);
    const admission = { endpoint, caller, namespace, namespaceId, service };
    const decision = this.#judgeBoth(admission, caller);
    if (decision !== "granted") throw refusal(decision, endpoint, caller);
    return admission;
  }

  /** Judges the caller, and the service that acts for it. @throws {StatusError} as `#judge` */
  #judgeBoth(
    { endpoint, namespace, namespaceId, service }: Admission,
    caller: Caller | undefined,
  ): AuthorizationResult {
    const decision = this.#authorize(endpoint, namespace, namespaceId, caller);
    if (decision !== "granted" || service === undefined) return decision;
    return this.#policy.current.rulesOf(namespace).decide(endpoint.segments, [serviceScope(service)]);
  }

  allows(caller: Caller | undefined, namespace: string, endpoint: Guarded): boolean {
    const counted = countsAt(endpoint, namespace, caller) ? caller : undefined;
    return this.#authorize(endpoint, namespace, undefined, counted) === "granted";
  }

  follow(admission: Admission, listener: StreamListener): FollowedStream {
    return this.#streams.follow(admission, listener);
  }

  /**
   * @param namespaceId of the caller's namespace; undefined for that of the rules at hand
   * @param caller one that counts at the endpoint.
   * @throws {StatusError} UNAVAILABLE where the rules would grant it, but are those of another namespace of the same name: of
   * this guard and of who decided before it, one has not heard yet that the namespace was created anew.
   */
  #authorize(
    endpoint: Guarded,
    namespace: string,
    namespaceId: string | undefined,
    caller: Caller | undefined,
  ): AuthorizationResult {
    const { callers, segments } = endpoint;
    if (callers === Callers.PUBLIC) return "granted";
    if (callers === undefined && this.#service !== undefined && segments.name !== this.#service) {
      throw new Error(`the guard of ${this.#service} cannot judge ${endpoint.name}: it has not its rules`);
    }
    if (callers !== undefined) return withinLimits(decideByDeclaration(callers, caller), segments, caller);
    const rules = this.#policy.current.rulesOf(namespace);
    const decision = withinLimits(rules.decide(segments, caller?.scopes), segments, caller);
    const isReplaced = namespaceId !== undefined && rules.namespaceId !== namespaceId;
    if (decision === "granted" && isReplaced) throw namespaceReplaced(namespace);
    return decision;
  }
}

/** A token counts only in the namespace that issued it, an enrolment only where enrolled callers are asked for. */
function countsAt(endpoint: Guarded, namespace: string, caller: Caller | undefined): boolean {
  if (caller?.enrolment !== undefined) return endpoint.callers === Callers.ENROLLED;
  return caller?.namespace === namespace;
}

/** Decides at an endpoint that says itself which callers may call it. */
function decideByDeclaration(callers: Callers, caller: Caller | undefined): Decision {
  if (caller === undefined) return "unauthorized";
  const enough =
    callers === Callers.ACCOUNT ||
    (callers === Callers.ADMIN && isAdmin(caller)) ||
    (callers === Callers.ENROLLED && caller.enrolment !== undefined);
  return enough ? "granted" : "forbidden";
}
