/**
 * A caller as the authority resolved it from a token, in a compact form: guards cache many of them.
 */

import { AddressRanges } from "../../address/client-address.js";
import type { Caller } from "../../call/caller.js";
import { DEFAULT_NAMESPACE } from "../../contract/names.js";
import { parsePattern, type Resource } from "../../contract/resource.js";
import { isAgentScope } from "../../contract/scope.js";
import type { Caller as ResolvedCaller } from "../../gen/portico/auth/v1/policy.js";
import { timestampMs } from "../../time.js";

/**
 * What a caller may do: its account's scopes, and the resources and addresses that its token is
 * limited to.
 */
export interface Permissions {
  readonly scopes: readonly string[];
  /** Where an agent calls: the scopes of the person that it calls for; else undefined. */
  readonly person: readonly string[] | undefined;
  readonly resources: readonly string[];
  /** The parsed patterns of `resources`. */
  readonly limits: readonly Resource[];
  /** The addresses of the clients that may use its token; undefined means all. */
  readonly from: AddressRanges | undefined;
}

const NONE: readonly never[] = [];

/** A caller found by a token. */
export class KnownCaller implements Caller, Permissions {
  readonly namespace: string;
  readonly namespaceId: string;
  readonly account: string;
  scopes: readonly string[];
  person: readonly string[] | undefined;
  readonly expires: number;
  resources: readonly string[];
  readonly enrolment: string | undefined;
  limits: readonly Resource[];
  from: AddressRanges | undefined;
  readonly callsOnly: boolean;
  readonly key: string | undefined;
  keyPrefix: string | undefined;
  /** SHA-256 of the token as a string of 32 characters from U+0000 to U+00FF, one for each byte. */
  readonly hash: string;
  readonly reportUse: boolean;
  /** Whether its use has been recorded since the last ping. */
  noted = false;
  /** Whether it was used again since it was cached, or since an eviction passed it over. */
  used = false;
  /**
   * `signedAt`: when the last assertion was signed for it (AssertionCache), in milliseconds of
   * `performance.now()`. `isSignedKept`: whether an assertion for it was ever cached.
   */
  signedAt = Number.NEGATIVE_INFINITY;
  isSignedKept = false;
  /** The version of callers (CallerChanges) at which it was last confirmed. */
  confirmedAt: number;

  /**
   * @param sha256 of the token
   * @throws {SyntaxError} if a resource or an address that the token is limited to cannot be
   * understood
   */
  constructor(sha256: Buffer, caller: ResolvedCaller, confirmedAt: number) {
    const { namespace, resources, enrolment } = caller;
    this.namespace = namespace === DEFAULT_NAMESPACE ? DEFAULT_NAMESPACE : namespace;
    this.namespaceId = caller.namespaceId;
    this.account = caller.account;
    this.scopes = caller.scopes.length === 0 ? NONE : caller.scopes;
    this.person = personIn(this.scopes);
    this.enrolment = enrolment === "" ? undefined : enrolment;
    this.expires = expiry(caller);
    this.resources = resources.length === 0 ? NONE : resources;
    this.limits = resources.length === 0 ? NONE : resources.map(parsePattern);
    this.from = caller.from.length === 0 ? undefined : new AddressRanges(caller.from);
    this.callsOnly = caller.callsOnly === true;
    this.key = caller.key;
    this.keyPrefix = undefined;
    this.hash = sha256.toString("latin1");
    this.reportUse = caller.reportUse;
    this.confirmedAt = confirmedAt;
  }

  /** Replaces its permissions by equal ones that other callers have too. */
  share({ scopes, person, resources, limits, from }: Permissions): void {
    this.scopes = scopes;
    this.person = person;
    this.resources = resources;
    this.limits = limits;
    this.from = from;
  }

  /** SHA-256 of the token, in hexadecimal. */
  get sha256(): string {
    return this.hashBytes.toString("hex");
  }

  /** SHA-256 of the token. */
  get hashBytes(): Buffer {
    return Buffer.from(this.hash, "latin1");
  }
}

/** The scopes of a person without the agent's; undefined where no agent calls. */
export function personIn(scopes: readonly string[]): readonly string[] | undefined {
  return scopes.some(isAgentScope) ? scopes.filter((scope) => !isAgentScope(scope)) : undefined;
}

/**
 * Only an enrolment token may be valid without an expiry; any other token without one has expired.
 */
function expiry({ expires, enrolment }: ResolvedCaller): number {
  if (expires === undefined) return enrolment === "" ? 0 : Number.POSITIVE_INFINITY;
  return timestampMs(expires);
}
