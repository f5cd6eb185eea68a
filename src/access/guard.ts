/**
 * The guard decides which calls a process admits. The same code runs at the gateway's HTTP port and
 * at every gRPC port:
 *
 *     token ──── caller-cache ─────┐
 *     assertion ─ assertion-cache ─┴─▶ caller ─▶ rules ─▶ admission ─▶ open-streams
 *                                                  ▲      or 401, 403, 503
 *     authority ─ policy (pings, lease) ───────────┘
 *
 * The authority sends the rules on a stream. The guard may use them while a lease runs (policy.ts,
 * lease.ts). It looks up the caller of a token once and caches it (caller-cache.ts). A call from a
 * gateway or a service carries a caller assertion instead (caller-assertion.ts,
 * assertion-cache.ts). The guard re-authorizes open streams whenever rules or callers change
 * (open-streams.ts). So it decides a call with a known token at once, from memory.
 *
 * This room knows no password.
 */

import type { AddressRanges } from "../address/client-address.js";
import type { AuthorizationResult } from "../call/admission.js";
import {
  type Admission,
  authorityUnreachable,
  type Credentials,
  type FollowedStream,
  type Guarded,
  namespaceReplaced,
  type RefusalCause,
  refusal,
  type SignedAssertion,
  type SigningGuard,
  type StreamListener,
  serviceScope,
} from "../call/admission.js";
import { type Caller, calledWith } from "../call/caller.js";
import type { CountedCall, LimitedCall } from "../call/limited-call.js";
import { Callers } from "../contract/endpoint.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { Limiter } from "../limits/limiter.js";
import { AssertionCache, badAssertion, lateAssertion, type Verified } from "./assertions/assertion-cache.js";
import { CallerCache, UNKNOWN_TOKEN } from "./callers/caller-cache.js";
import type { KnownCaller } from "./callers/known-caller.js";
import { decideFor, decisiveFor } from "./decide/agents.js";
import { countsAt, decideByDeclaration } from "./decide/declaration.js";
import { withinLimits } from "./decide/limits.js";
import { Access } from "./decide/rules.js";
import type { AuthorityAccess } from "./follow/authority-access.js";
import { Policy } from "./follow/policy.js";
import { OpenStreams } from "./streams/open-streams.js";

export * from "../call/admission.js";

const EVERY_CALLER = { has: () => true };

/** A refused call, as `#admit` knows it. */
interface Denied {
  readonly namespace: string;
  readonly bearer: KnownCaller | undefined;
  /** The bearer, unless it has expired, or is a key for clients at other addresses. */
  readonly valid: KnownCaller | undefined;
  /** The bearer, unless it does not count at the endpoint. */
  readonly caller: KnownCaller | undefined;
  readonly decision: AuthorizationResult;
}

type AssertionCredentials = Credentials & { readonly callerAssertion: string };

/** A guard that follows its authority until it is closed. */
export class OpenGuard implements SigningGuard {
  readonly #callers: CallerCache;
  readonly #assertions: AssertionCache;
  readonly #streams: OpenStreams;
  readonly #policy: Policy;
  readonly #limiter: Limiter;
  readonly #listeners: (() => void)[] = [];
  /** The only service whose rules are known; undefined if the rules of all services are. */
  readonly #service: string | undefined;

  constructor(authority: AuthorityAccess) {
    this.#service = authority.service;
    this.#callers = new CallerCache(authority, () => this.#policy.source);
    this.#streams = new OpenStreams({
      callers: this.#callers,
      now: () => this.#policy.timeAt(performance.now()),
      hasLease: () => this.#policy.lease.runs(performance.now()),
      authorize: (admission, caller) => {
        try {
          const decision = this.#authorizeBoth(admission, caller);
          return decision === "granted" ? undefined : refusal(decision, admission.endpoint, caller);
        } catch (error) {
          return error as Error;
        }
      },
    });
    this.#limiter = new Limiter({
      policy: () => this.#policy.current,
      hasLease: () => this.#policy.lease.runs(performance.now()),
      authorities: () => authority.authorities?.all ?? [{ name: "the authority", channel: authority.channel }],
      call: { metadata: authority.metadata, admission: authority.admission },
    });
    this.#policy = new Policy(authority, {
      onRevision: (revision, changed) => {
        if (changed !== undefined) this.#callers.change(revision, changed);
        this.#limiter.onChange();
        this.#notifyListeners();
        return this.#streams.reauthorize(changed);
      },
      onSnapshot: (revision) => {
        this.#callers.forgetAll(revision);
        this.#assertions.clear();
        this.#limiter.onChange();
        this.#notifyListeners();
        return this.#streams.reauthorize(EVERY_CALLER);
      },
      onLeaseRunning: () => this.#streams.resumeAll(),
      onCutOff: () => this.#streams.refuseAll(authorityUnreachable()),
      takeUsedKeys: () => this.#callers.takeUsed(),
    });
    this.#assertions = new AssertionCache(this.#policy, this.#callers);
  }

  /** Whether decisions can be made: not yet, now, not at the moment, or never again. */
  get state(): Policy["state"] {
    return this.#policy.state;
  }

  /**
   * The last error of each authority that could not be followed, by address. Its next response
   * removes it.
   */
  get errors(): ReadonlyMap<string, Error> {
    return this.#policy.errors;
  }

  /** For metrics: the rest of the lease, in milliseconds, and what the guard has. */
  get measures(): { readonly leaseMs: number; readonly revision: number; readonly streams: number } {
    const { lease, revision } = this.#policy;
    const now = performance.now();
    return { leaseMs: lease.runs(now) ? lease.end - now : 0, revision: Number(revision), streams: this.#streams.size };
  }

  /** Resolves when decisions can be made; rejects with CANCELLED if the guard is closed first. */
  ready(): Promise<void> {
    return this.#policy.ready();
  }

  /**
   * Refuses the open streams with UNAVAILABLE, and leaves the authority, so that it need not wait
   * for this guard's lease. Resolves when the authority has noticed, or does not respond.
   */
  close(): Promise<void> {
    this.#streams.refuseAll(authorityUnreachable());
    this.#limiter.close();
    return this.#policy.close();
  }

  admit(credentials: Credentials, endpoint: Guarded): Admission | Promise<Admission> {
    if (credentials.callerAssertion !== undefined)
      return this.#admitByAssertion(credentials as AssertionCredentials, endpoint);
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
    // Meanwhile a change may have arrived, or the lease may have expired: start again.
    if (!this.#callers.isCurrent(caller)) return this.admit(credentials, endpoint);
    const now = performance.now();
    if (!this.#policy.lease.runs(now)) throw authorityUnreachable();
    return this.#admit(credentials, endpoint, caller, now);
  }

  #admit(credentials: Credentials, endpoint: Guarded, bearer: KnownCaller | undefined, now: number): Admission {
    const valid = bearer !== undefined && this.#isValid(bearer, credentials, now) ? bearer : undefined;
    const own = valid?.enrolment === undefined ? valid?.namespace : undefined;
    const namespace = credentials.namespace ?? own ?? DEFAULT_NAMESPACE;
    const caller = countsAt(endpoint, namespace, valid) ? valid : undefined;
    if (caller?.reportUse) this.#callers.noteUse(caller);
    const decision =
      credentials.tokenRequired && caller === undefined
        ? "unauthorized"
        : this.#authorize(endpoint, namespace, caller?.namespaceId, caller, credentials.forbidsKnown);
    if (decision !== "granted") {
      const isForbidden = decision === "unauthorized" && credentials.forbidsKnown === true;
      const refused = this.#reasonOf(credentials, endpoint, { namespace, bearer, valid, caller, decision });
      throw refusal(isForbidden ? "forbidden" : decision, endpoint, caller, refused);
    }
    const { namespaceId } = caller ?? this.#policy.current.rulesOf(namespace);
    return { endpoint, caller, namespace, namespaceId };
  }

  #isValid({ expires, from }: KnownCaller, { client }: Credentials, now: number): boolean {
    return expires > this.#policy.timeAt(now) && (from === undefined || isFrom(from, client));
  }

  /**
   * The first check that a refused call did not pass: token, key, limits, rules. It is made for
   * each call of a flood, so it sorts and copies nothing.
   */
  #reasonOf({ token }: Credentials, endpoint: Guarded, denied: Denied): RefusalCause {
    const { namespace, bearer, valid, caller, decision } = denied;
    if (token !== undefined && caller === undefined) {
      if (valid !== undefined) return causeOf("OTHER_TOKEN", valid.namespace, bearer);
      if (bearer !== undefined) {
        const isExpired = bearer.expires <= this.#policy.timeAt(performance.now());
        return causeOf(isExpired ? "EXPIRED" : "OTHER_ADDRESS", bearer.namespace, bearer, bearer.key);
      }
      return this.#endOf(token, namespace);
    }
    if (decision === "limited") return causeOf("LIMIT", namespace, bearer, caller?.key);
    if (endpoint.callers !== undefined) return causeOf(caller ? "DECLARATION" : "NO_TOKEN", namespace, bearer);
    const decidedBy = decisiveFor(this.#policy.current.rulesOf(namespace), endpoint.segments, caller);
    if (decidedBy?.access === Access.DENIED) return causeOf("RULE", namespace, bearer, decidedBy.id);
    return causeOf(decidedBy === undefined ? "NO_RULE" : "NO_TOKEN", namespace, bearer);
  }

  /** What became of a token that belongs to no caller. */
  #endOf(token: string, asked: string): RefusalCause {
    const { key, ended } = this.#callers.endOf(token);
    if (ended === undefined) return { reason: "UNKNOWN_TOKEN", namespace: asked, account: "", key, cause: "" };
    const { namespace, account, revoked, disabled } = ended;
    const reason = disabled ? "DISABLED" : revoked ? "REVOKED" : "EXPIRED";
    return { reason, namespace, account, key, cause: "" };
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  assertionOf(admission: Admission): SignedAssertion {
    return this.#assertions.assertionOf(admission);
  }

  /** @throws {StatusError} (or rejects with one) as `admit`. */
  #admitByAssertion(credentials: AssertionCredentials, endpoint: Guarded): Admission | Promise<Admission> {
    const now = performance.now();
    if (!this.#policy.lease.runs(now)) throw authorityUnreachable();
    // The authority's endpoints accept only tokens: with a service's key one can sign assertions
    // that name any caller.
    if (endpoint.callers !== undefined) throw badAssertion(endpoint);
    const known = this.#assertions.find(credentials.callerAssertion);
    if (known === undefined) return this.#verifyAndAdmit(credentials, endpoint);
    this.#checkAssertion(known, credentials, endpoint, now);
    return this.#admitVerified(known, endpoint);
  }

  async #verifyAndAdmit(credentials: AssertionCredentials, endpoint: Guarded): Promise<Admission> {
    return this.#admitFresh(
      credentials,
      await this.#assertions.verify(credentials.callerAssertion, endpoint),
      endpoint,
    );
  }

  /** Admits by an assertion that is not cached, or whose caller may have changed. */
  #admitFresh(
    credentials: AssertionCredentials,
    verified: Verified,
    endpoint: Guarded,
  ): Admission | Promise<Admission> {
    const now = performance.now();
    if (!this.#policy.lease.runs(now)) throw authorityUnreachable();
    this.#checkAssertion(verified, credentials, endpoint, now);
    if (!this.#callers.isCurrent(verified.caller) || !this.#callers.isCurrent(verified.serviceToken)) {
      return this.#renewAndAdmit(credentials, verified, endpoint);
    }
    this.#assertions.keep(verified);
    return this.#admitVerified(verified, endpoint);
  }

  /** Either token may have ended since the assertion was signed, so the authority is asked. */
  async #renewAndAdmit(credentials: AssertionCredentials, verified: Verified, endpoint: Guarded): Promise<Admission> {
    const tokens = [verified.caller, verified.serviceToken];
    const renewed = tokens.map((one) => (one && !this.#callers.isCurrent(one) ? this.#callers.lookUpHash(one) : one));
    const [caller, serviceToken] = await Promise.all(renewed);
    if (!caller !== !tokens[0] || !serviceToken !== !tokens[1]) throw refusal("unauthorized", endpoint, undefined);
    // Meanwhile a token or the key may have changed: start again.
    const isCurrent = this.#callers.isCurrent(caller) && this.#callers.isCurrent(serviceToken);
    if (!isCurrent || verified.version !== this.#policy.current.keys.version) {
      return this.#verifyAndAdmit(credentials, endpoint);
    }
    return this.#admitFresh(credentials, { ...verified, caller, serviceToken }, endpoint);
  }

  /**
   * A call that is open already needs the lease no more in which its assertion was signed.
   * @throws {StatusError} UNAUTHENTICATED if the assertion is for another endpoint, or its caller's
   * token has expired; UNAVAILABLE if only that lease has expired: the caller may try again.
   */
  #checkAssertion(verified: Verified, { opened }: AssertionCredentials, endpoint: Guarded, now: number): void {
    if (verified.resource !== endpoint.resource) throw badAssertion(endpoint);
    const time = this.#policy.timeAt(now);
    if (verified.expires > time) return;
    if ((verified.caller?.expires ?? Number.POSITIVE_INFINITY) <= time) throw badAssertion(endpoint);
    if (opened !== true) throw lateAssertion(endpoint);
  }

  #admitVerified({ caller, namespace, namespaceId, service, serviceToken }: Verified, endpoint: Guarded): Admission {
    const counts = caller === undefined || caller.enrolment !== undefined || caller.namespace === namespace;
    if (!counts) throw badAssertion(endpoint);
    const admission = { endpoint, caller, namespace, namespaceId, service, serviceToken };
    const decision = this.#authorizeBoth(admission, caller);
    if (decision !== "granted") throw refusal(decision, endpoint, caller);
    return admission;
  }

  /**
   * Authorizes the caller, and the service that acts for it. @throws {StatusError} as `#authorize`
   */
  #authorizeBoth(
    { endpoint, namespace, namespaceId, service }: Admission,
    caller: Caller | undefined,
  ): AuthorizationResult {
    // Where the call entered, its token was admitted there, at `/mcp` or elsewhere.
    const decision = this.#authorize(endpoint, namespace, namespaceId, caller, true);
    if (decision !== "granted" || service === undefined) return decision;
    return this.#policy.current.rulesOf(namespace).decide(endpoint.segments, [serviceScope(service)]);
  }

  allows(caller: Caller | undefined, namespace: string, endpoint: Guarded, byMcp = false): boolean {
    const counted = countsAt(endpoint, namespace, caller) ? caller : undefined;
    return this.#authorize(endpoint, namespace, undefined, counted, byMcp) === "granted";
  }

  count(admission: Admission, call: CountedCall): LimitedCall | Promise<LimitedCall> | undefined {
    return this.#limiter.count(admission, call);
  }

  follow(admission: Admission, listener: StreamListener): FollowedStream {
    return this.#streams.follow(admission, listener);
  }

  /**
   * @param namespaceId of the caller's namespace; undefined means the namespace of the current
   * rules
   * @param caller one that `countsAt` the endpoint
   * @param byMcp see `withinLimits`
   * @throws {StatusError} UNAVAILABLE if the rules would grant the call, but belong to another
   * namespace of the same name. A namespace was then created anew, and either this guard or the
   * process that admitted the call before it does not know that yet.
   */
  #authorize(
    endpoint: Guarded,
    namespace: string,
    namespaceId: string | undefined,
    caller: Caller | undefined,
    byMcp?: boolean,
  ): AuthorizationResult {
    const { callers, segments } = endpoint;
    if (callers === Callers.PUBLIC) return "granted";
    if (callers === undefined && this.#service !== undefined && segments.name !== this.#service) {
      throw new Error(`the guard of ${this.#service} cannot judge ${endpoint.name}: it has not its rules`);
    }
    if (callers !== undefined) return withinLimits(decideByDeclaration(endpoint, caller), segments, caller);
    const rules = this.#policy.current.rulesOf(namespace);
    const decision = withinLimits(decideFor(rules, segments, caller), segments, caller, byMcp);
    const isReplaced = namespaceId !== undefined && rules.namespaceId !== namespaceId;
    if (decision === "granted" && isReplaced) throw namespaceReplaced(namespace);
    return decision;
  }
}

function causeOf(
  reason: RefusalCause["reason"],
  namespace: string,
  bearer: KnownCaller | undefined,
  cause = "",
): RefusalCause {
  return {
    reason,
    namespace,
    account: bearer?.account ?? "",
    key: bearer === undefined ? "" : calledWith(bearer),
    cause,
  };
}

/** Whether a client is at one of the addresses that a key is for. */
function isFrom(from: AddressRanges, client: Credentials["client"]): boolean {
  const address = typeof client === "object" ? client.remoteAddress : client;
  return address !== undefined && from.has(address);
}
