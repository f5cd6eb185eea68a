/**
 * Delegation: signs caller assertions for services that call other services. The current rules must
 * grant the call to the service and to the caller that it acts for. The caller is looked up by its
 * token, so a service cannot act for a revoked token.
 */

import { delegationKeyOf } from "../../../src/access/assertions/assertion-keys.js";
import { signAssertion, verifyDelegationToken } from "../../../src/access/assertions/caller-assertion.js";
import { decideFor } from "../../../src/access/decide/agents.js";
import { withinLimits } from "../../../src/access/decide/limits.js";
import { RuleSet } from "../../../src/access/decide/rules.js";
import { type AuthorizationResult, limitsInWords, serviceScope } from "../../../src/call/admission.js";
import { DEFAULT_NAMESPACE, GATEWAY, SELF_GOVERNED } from "../../../src/contract/names.js";
import { matches, parsePattern, type Resource } from "../../../src/contract/resource.js";
import { Code, invalidArgument, permissionDenied, StatusError, unauthenticated } from "../../../src/errors.js";
import {
  type CallContext,
  DelegationService,
  type IssueRequest,
  type IssueResponse,
} from "../../../src/gen/portico/auth/v1/delegation.js";
import type { Caller, Change } from "../../../src/gen/portico/auth/v1/policy.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { timestampMs } from "../../../src/time.js";
import type { Journal, StateListener } from "../log/changelog/journal.js";
import type { Leases } from "../log/leases/leases.js";
import { hex } from "../log/state/hex.js";
import type { NamespaceState } from "../log/state/namespace-state.js";
import type { State } from "../log/state/state.js";
import { checkLiteral } from "./checks.js";

interface Options {
  readonly journal: Journal;
  /** A caller assertion is valid for the time of a lease. */
  readonly leases: Pick<Leases, "leaseMs" | "confirmed">;
}

/** The caller that a service acts for, and the namespace of the call. */
interface Acting {
  readonly namespace: string;
  /** Undefined for a call without a token. */
  readonly caller: Caller | undefined;
  /**
   * SHA-256 of the caller's token, or of the service's own token if the service calls for itself.
   */
  readonly sha256: string;
}

/** The gRPC service portico.auth.v1.Delegation. */
export function delegation({ journal, leases }: Options): ServicePart {
  const compiled = new CompiledRules(journal);
  return part(DelegationService, {
    issue: async (request, context) => {
      await journal.sync();
      return issue({ state: journal.state, now: journal.now, leases, compiled }, request, context);
    },
  });
}

interface Current {
  readonly state: State;
  readonly now: number;
  readonly leases: Options["leases"];
  readonly compiled: CompiledRules;
}

/**
 * @throws {StatusError} INVALID_ARGUMENT; UNAUTHENTICATED or PERMISSION_DENIED if the endpoint
 *   itself would refuse the call.
 */
function issue(current: Current, request: IssueRequest, context: Context): IssueResponse {
  const { state, now } = current;
  const { leaseMs, confirmed } = current.leases;
  const service = enrolmentOf(current, context);
  const { resource } = request;
  const segments = checkEndpoint(resource);
  const acting = actingFor(current, request, service, context);
  for (const [who, decision] of authorizedParties(current, segments, service, acting)) {
    if (decision !== "granted") throw refused(decision, resource, who, acting.caller);
  }
  const [key] = state.assertionKeys(segments.name);
  const [root] = state.assertionKeys(GATEWAY);
  if (key === undefined || root === undefined) throw new StatusError(Code.UNAVAILABLE, "there are no keys yet");
  const expires = Math.min(
    now + leaseMs,
    acting.caller === undefined ? now + leaseMs : timestampMs(acting.caller.expires),
  );
  const signed: CallContext = {
    ...{ resource, namespace: acting.namespace, caller: limitedTo(acting.caller, segments), service },
    sha256: Buffer.from(acting.sha256, "hex"),
    serviceSha256: Buffer.from(tokenHashOf(context), "hex"),
    expires: BigInt(Math.floor(expires)),
    generation: key.generation,
    // The called service looks up again what has changed since. A demoted primary of Postgres may
    // show a change that is gone, under the number of an acknowledged one. No pong names that.
    revision: BigInt(Math.min(state.revision, confirmed)),
    namespaceId: state.namespaces.get(acting.namespace)?.id ?? "",
  };
  const delegationToken = delegationKeyOf({ generation: Number(root.generation), secret: root.key });
  const text = signAssertion(signed, { generation: Number(key.generation), secret: key.key }, delegationToken);
  return { context: text, lifetimeMs: BigInt(Math.max(0, Math.floor(expires - now))) };
}

/**
 * @throws {StatusError} PERMISSION_DENIED unless an enrolled service calls; UNAUTHENTICATED if its
 *   token has ended since the call was admitted. An assertion names the revision that it was signed
 *   at, so guards do not look up again what ended before that.
 */
function enrolmentOf({ state, now }: Current, context: Context): string {
  const name = context.caller?.enrolment;
  if (name === undefined || name === GATEWAY) {
    throw permissionDenied("Only an enrolled service calls other services by a context");
  }
  const sha256 = tokenHashOf(context);
  // A service of this process has no token that could end.
  if (sha256 === "" || state.callerOf(Buffer.from(sha256, "hex"), now)?.enrolment === name) return name;
  throw unauthenticated("The enrolment token of this call was revoked");
}

/**
 * @throws {StatusError} UNAUTHENTICATED for a caller assertion that no gateway or authority made
 *   for this service, that has expired, or whose caller's token is no longer valid.
 */
function actingFor(
  { state, now }: Current,
  { actingFor: text, namespace }: IssueRequest,
  service: string,
  { caller }: Context,
): Acting {
  if (text === "") {
    const sha256 = tokenHashOf({ caller });
    return {
      namespace: namespace || DEFAULT_NAMESPACE,
      caller: state.callerOf(Buffer.from(sha256, "hex"), now),
      sha256,
    };
  }
  const [root] = state.assertionKeys(GATEWAY);
  const given =
    root && verifyDelegationToken(text, delegationKeyOf({ generation: Number(root.generation), secret: root.key }));
  const isGood = given !== undefined && Number(given.expires) > now && serviceOf(given.resource) === service;
  if (!isGood) throw unauthenticated("acting_for: is no valid context of a call to this service");
  const sha256 = hex(given.sha256);
  if ((given.namespaceId || undefined) !== state.namespaces.get(given.namespace)?.id) {
    throw unauthenticated(`acting_for: the namespace ${given.namespace} was deleted`);
  }
  if (given.caller === undefined) return { namespace: given.namespace, caller: undefined, sha256 };
  const current = state.callerOf(given.sha256, now);
  if (current !== undefined) return { namespace: given.namespace, caller: current, sha256 };
  throw unauthenticated("acting_for: the token of its caller was revoked or has expired");
}

/** SHA-256 of the token that the service itself has sent, in hexadecimal. */
function tokenHashOf({ caller }: Pick<Context, "caller">): string {
  return "sha256" in (caller ?? {}) ? String((caller as { sha256?: unknown }).sha256) : "";
}

/**
 * The caller with only those limits of its token that cover the resource, as gateways send it
 * (src/access/assertions/assertion-cache.ts).
 */
function limitedTo(caller: Caller | undefined, resource: Resource): Caller | undefined {
  const covering = caller?.resources.filter((limit) => matches(parsePattern(limit), resource)) ?? [];
  return caller && { ...caller, resources: covering, key: undefined, from: [] };
}

/** The decisions on the service, and on the caller that it acts for. */
function authorizedParties(
  { state, compiled }: Current,
  resource: Resource,
  service: string,
  { namespace, caller }: Acting,
): [who: string, decision: AuthorizationResult][] {
  const rules = compiled.of(state.namespaces.get(namespace));
  const name = caller?.account || `service ${caller?.enrolment ?? service}`;
  return [
    [`service ${service}`, rules.decide(resource, [serviceScope(service)])],
    [name, withinLimits(decideFor(rules, resource, caller), resource, caller, true)],
  ];
}

function refused(
  decision: Exclude<AuthorizationResult, "granted">,
  resource: string,
  who: string,
  caller: Caller | undefined,
): StatusError {
  const name = resource.slice(resource.indexOf(":") + 1);
  if (decision === "limited" && caller !== undefined) {
    return permissionDenied(`Forbidden call made to ${name} by ${who}: ${limitsInWords(caller)}`);
  }
  if (decision === "forbidden") return permissionDenied(`Forbidden call made to ${name} by ${who}`);
  return unauthenticated(`Unauthorized call made to ${name} by ${who}`);
}

/**
 * @throws {StatusError} INVALID_ARGUMENT unless it is an endpoint that accepts caller assertions.
 */
function checkEndpoint(text: string): Resource {
  const resource = checkLiteral("resource", text);
  if (resource.type !== "service")
    throw invalidArgument("resource: must be an endpoint, such as service:orders:Orders.Get");
  if (!SELF_GOVERNED.has(resource.name)) return resource;
  throw invalidArgument(`resource: ${resource.name} takes the enrolment token itself`);
}

function serviceOf(resource: string): string | undefined {
  return resource.split(":")[1];
}

/** The rules of namespaces, compiled when they are first needed, and then kept up to date. */
class CompiledRules implements StateListener {
  readonly #journal: Journal;
  /** Keyed by object: a namespace that was deleted or reloaded has another state object. */
  readonly #compiled = new WeakMap<NamespaceState, RuleSet>();

  constructor(journal: Journal) {
    this.#journal = journal;
    journal.follow(this);
  }

  of(namespace: NamespaceState | undefined): RuleSet {
    if (namespace === undefined) return new RuleSet();
    const known = this.#compiled.get(namespace);
    if (known !== undefined) return known;
    const rules = RuleSet.compile(namespace.rules.values());
    this.#compiled.set(namespace, rules);
    return rules;
  }

  changed(_revision: number, changes: readonly Change[]): void {
    for (const { change } of changes) {
      if (change?.$case === "ruleCreated") this.#known(change.value.namespace)?.add(change.value.rule!);
      else if (change?.$case === "ruleDeleted") this.#known(change.value.namespace)?.delete(change.value.id);
    }
  }

  replaced(): void {}

  #known(namespace: string): RuleSet | undefined {
    const state = this.#journal.state.namespaces.get(namespace);
    return state && this.#compiled.get(state);
  }
}
