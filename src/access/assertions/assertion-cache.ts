/**
 * The caller assertions that a guard caches. A gateway's guard signs assertions, and a service's
 * guard verifies them. For a call with a cached assertion, each guard needs only one lookup in a
 * map.
 *
 * An assertion expires with the lease in which it was signed, by the authority's time. Until that
 * lease has expired, the authority also waits for a gateway that it cannot reach. An assertion is
 * cached only if its caller calls several times in a lease. Otherwise the assertion would hardly be
 * used again, and objects that live for seconds are the most expensive ones for the garbage
 * collector.
 */

import type { Admission, Guarded, SignedAssertion } from "../../call/admission.js";
import { CONTEXT, type Metadata, NO_METADATA } from "../../call/metadata.js";
import { matches, type Resource } from "../../contract/resource.js";
import { Code, StatusError } from "../../errors.js";
import type { CallContext } from "../../gen/portico/auth/v1/delegation.js";
import { Caller } from "../../gen/portico/auth/v1/policy.js";
import { BoundedMap } from "../../memory/bounded-map.js";
import type { CallerCache } from "../callers/caller-cache.js";
import { KnownCaller } from "../callers/known-caller.js";
import type { Policy } from "../follow/policy.js";
import { macOf, readAssertion, signAssertion, verifyAssertion } from "./caller-assertion.js";

/**
 * Maximum number of signed and of verified assertions that are cached, and maximum bytes of each
 * kind. An assertion is valid for at most one lease, so a larger cache would gain little.
 */
const MAX_KEPT = 20_000;
const MAX_BYTES = 24 * 1024 ** 2;
/**
 * A signed assertion is cached if, at the rate of its last two calls, the caller calls this often
 * until it expires.
 */
const MIN_CALLS = 8;
/** Number of recent assertions that are cached because their calls may still be running. */
const MAX_LATEST = 64;
/**
 * Bytes of a signed assertion without its text. Bytes of a verified assertion with its caller, but
 * without its text.
 */
const SIGNED_BYTES = 400;
const VERIFIED_BYTES = 800;

interface Signed {
  readonly metadata: Metadata;
  readonly caller: KnownCaller | undefined;
  readonly namespaceId: string | undefined;
  /** Version of the AssertionKeys. */
  readonly version: number;
  /**
   * `end`: when the lease ends in which it was signed. `renewal`: from when on it is signed again,
   * with the end of the current lease. Both in milliseconds of `performance.now()`.
   */
  readonly end: number;
  readonly renewal: number;
}

/** The content of a verified assertion. */
export interface Verified {
  readonly text: string;
  readonly resource: string;
  readonly namespace: string;
  readonly namespaceId: string;
  readonly caller: KnownCaller | undefined;
  /** The service that calls. */
  readonly service: string | undefined;
  /** The enrolment token of that service; undefined for a gateway. */
  readonly serviceToken: KnownCaller | undefined;
  /** In milliseconds since 1970 by the authority's clock. */
  readonly expires: number;
  /** Version of the AssertionKeys. */
  readonly version: number;
}

/** The signed and verified assertions of one guard. */
export class AssertionCache {
  /** Has the keys, the revision and the lease by which assertions are signed and verified. */
  readonly #policy: Policy;
  readonly #callers: CallerCache;
  readonly #signed = new BoundedMap<string, Signed>(MAX_KEPT, { maxBytes: MAX_BYTES, bytesOf: bytesOfSigned });
  /** By their signatures. */
  readonly #verified = new BoundedMap<string, Verified>(MAX_KEPT, { maxBytes: MAX_BYTES, bytesOf: bytesOfVerified });
  readonly #seen = new RecentlySeen();
  /**
   * The assertions of the latest calls. Each call is admitted twice, usually in quick succession
   * (src/rpc/running-call.ts).
   */
  readonly #latest: (Verified | undefined)[] = new Array(MAX_LATEST).fill(undefined);

  constructor(policy: Policy, callers: CallerCache) {
    this.#policy = policy;
    this.#callers = callers;
  }

  /** The caller assertion to send to a service with a call that this guard has admitted. */
  assertionOf(admission: Admission): SignedAssertion {
    return new LazyAssertion(this, admission, this.#policy.lease.end, this.#policy.revision);
  }

  /** @returns no metadata if the service's key is not known */
  sign({ endpoint, caller, namespace, namespaceId }: Admission, end: number, revision: bigint): Metadata {
    const { keys } = this.#policy.current;
    const known = caller instanceof KnownCaller ? caller : undefined;
    if (known === undefined || known.isSignedKept) {
      const kept = this.#signed.get(cacheKeyOf(known?.hash ?? namespace, endpoint));
      const isSame = kept?.caller === known && kept?.namespaceId === namespaceId;
      if (kept !== undefined && isSame && kept.version === keys.version) {
        if (kept.end === end || performance.now() < kept.renewal) return kept.metadata;
      }
    }
    const text = this.#sign(endpoint, { namespace, namespaceId: namespaceId ?? "", caller: known }, end, revision);
    if (text === undefined) return NO_METADATA;
    const metadata: Metadata = [[CONTEXT, text]];
    const now = performance.now();
    if (known !== undefined) {
      const isRare = now - known.signedAt > (end - now) / MIN_CALLS;
      known.signedAt = now;
      if (isRare) return metadata;
      known.isSignedKept = true;
    }
    const renewal = (now + end) / 2;
    const name = cacheKeyOf(known?.hash ?? namespace, endpoint);
    this.#signed.set(name, { metadata, caller: known, namespaceId, version: keys.version, end, renewal });
    return metadata;
  }

  #sign(
    endpoint: Guarded,
    { namespace, namespaceId, caller }: Pick<Verified, "namespace" | "namespaceId" | "caller">,
    end: number,
    revision: bigint,
  ): string | undefined {
    const { keys } = this.#policy.current;
    const key = keys.of(endpoint.service);
    if (key === undefined || keys.delegationToken === undefined) return undefined;
    const context: CallContext = {
      resource: endpoint.resource,
      namespace,
      caller: caller && toMessage(caller, endpoint),
      sha256: caller?.hashBytes ?? NO_BYTES,
      service: "",
      serviceSha256: NO_BYTES,
      // Rounded down: it may expire too early, but not too late.
      expires: BigInt(Math.floor(Math.min(this.#policy.timeAt(end), caller?.expires ?? Number.POSITIVE_INFINITY))),
      generation: BigInt(key.generation),
      revision,
      namespaceId,
    };
    return signAssertion(context, key, keys.delegationToken);
  }

  /** The content of an assertion that is cached and still valid for the current keys and caller. */
  find(text: string): Verified | undefined {
    const slot = slotOf(text) % MAX_LATEST;
    let known = this.#latest[slot];
    if (known?.text !== text) {
      if (!this.#seen.has(text)) return undefined;
      // Keyed by the MAC alone: hashing the whole assertion would be slower.
      known = this.#verified.get(macOf(text));
      if (known?.text !== text) return undefined;
      this.#latest[slot] = known;
    }
    if (known.version !== this.#policy.current.keys.version) return undefined;
    return this.#callers.isCurrent(known.caller) && this.#callers.isCurrent(known.serviceToken) ? known : undefined;
  }

  /**
   * Verifies an assertion. Returns a promise if it was signed by a newer key than this guard has
   * applied.
   * @throws {StatusError} (or rejects with one) UNAUTHENTICATED if it is not valid for calls of
   * this service; UNAVAILABLE if it was signed by a gateway that does not know yet that the key was
   * replaced
   */
  verify(text: string, endpoint: Guarded): Verified | Promise<Verified> {
    const key = this.#policy.current.keys.of(endpoint.service);
    const context = key && verifyAssertion(text, key);
    if (context !== undefined) return this.#read(text, context);
    const generation = Number(readAssertion(text)?.generation ?? -1n);
    if (generation > (key?.generation ?? -1) && generation > Number(this.#policy.revision)) {
      return this.#policy.awaitRevision(generation).then(() => this.#verifyLate(text, endpoint));
    }
    throw this.#refusal(generation, key?.generation, endpoint);
  }

  #verifyLate(text: string, endpoint: Guarded): Verified {
    const key = this.#policy.current.keys.of(endpoint.service);
    const context = key && verifyAssertion(text, key);
    if (context === undefined) throw this.#refusal(-1, key?.generation, endpoint);
    return this.#read(text, context);
  }

  #refusal(generation: number, current: number | undefined, endpoint: Guarded): StatusError {
    if (generation > 0 && current !== undefined && generation < current) {
      return new StatusError(Code.UNAVAILABLE, `the key of ${endpoint.service} was replaced a moment ago; try again`);
    }
    return badAssertion(endpoint);
  }

  /**
   * @throws {SyntaxError} if a resource that the caller's token is limited to cannot be understood
   */
  #read(text: string, context: CallContext): Verified {
    const { resource, namespace, namespaceId, caller, sha256, service, serviceSha256, expires, revision } = context;
    const version = this.#callers.versionOf(revision);
    const enrolment = { ...NO_CALLER, enrolment: service };
    return {
      text,
      resource,
      namespace,
      namespaceId,
      caller: caller && new KnownCaller(sha256, caller, version),
      service: service || undefined,
      serviceToken: serviceSha256.length === 0 ? undefined : new KnownCaller(serviceSha256, enrolment, version),
      expires: Number(expires),
      version: this.#policy.current.keys.version,
    };
  }

  /**
   * Caches an assertion for the call that came with it, and for later calls if it has been seen
   * before. It is valid until its caller or the keys change, or it expires.
   */
  keep(verified: Verified): void {
    const { text } = verified;
    this.#latest[slotOf(text) % MAX_LATEST] = verified;
    if (this.#seen.has(text)) this.#verified.set(macOf(text), verified);
    else this.#seen.add(text);
  }

  /** Forgets all assertions. */
  clear(): void {
    this.#signed.clear();
    this.#verified.clear();
    this.#latest.fill(undefined);
  }
}

/**
 * The assertion of one admission. It stores the lease and the revision at which the admission was
 * made.
 */
class LazyAssertion implements SignedAssertion {
  readonly #assertions: AssertionCache;
  readonly #admission: Admission;
  /** The end of the lease, in milliseconds of `performance.now()`. */
  readonly #end: number;
  readonly #revision: bigint;
  #metadata: Metadata | undefined;

  constructor(assertions: AssertionCache, admission: Admission, end: number, revision: bigint) {
    this.#assertions = assertions;
    this.#admission = admission;
    this.#end = end;
    this.#revision = revision;
  }

  get metadata(): Metadata {
    this.#metadata ??= this.#assertions.sign(this.#admission, this.#end, this.#revision);
    return this.#metadata;
  }
}

/**
 * Which assertions were seen lately: the last one for each slot. A forgotten one is verified again.
 */
class RecentlySeen {
  readonly #slots = new Uint32Array(2 ** 16);

  has(text: string): boolean {
    return this.#slots[slotOf(text)] === fingerprintOf(text);
  }

  add(text: string): void {
    this.#slots[slotOf(text)] = fingerprintOf(text);
  }
}

/**
 * 16 bits of an assertion's signature, which is random: from three characters of base64url. The
 * last character is left out, because it has only 2 bits.
 */
function slotOf(text: string): number {
  const end = text.length - 2;
  return ((text.charCodeAt(end) << 12) ^ (text.charCodeAt(end - 1) << 6) ^ text.charCodeAt(end - 2)) & 0xffff;
}

/** The four characters before them, as an unsigned number of 32 bits. */
function fingerprintOf(text: string): number {
  const end = text.length - 5;
  const [a, b] = [text.charCodeAt(end), text.charCodeAt(end - 1)];
  const [c, d] = [text.charCodeAt(end - 2), text.charCodeAt(end - 3)];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** The refusal of an assertion that is not valid here. */
export function badAssertion(endpoint: Guarded): StatusError {
  return new StatusError(
    Code.UNAUTHENTICATED,
    `Unauthorized call made to ${endpoint.name}: its caller assertion is not valid`,
  );
}

/** The refusal of an assertion whose lease expired before the call arrived. */
export function lateAssertion(endpoint: Guarded): StatusError {
  return new StatusError(
    Code.UNAVAILABLE,
    `the call to ${endpoint.name} came late: its caller assertion has expired; try again`,
  );
}

/**
 * A caller as an assertion carries it. It has only those limits of the token that cover the
 * endpoint, because all of them may not fit in a header. `reportUse` is false, because the gateway
 * has recorded the use of the key.
 */
function toMessage(caller: KnownCaller, { segments }: Guarded): Caller {
  const { namespace, account, scopes, expires, resources, limits, enrolment } = caller;
  const end = BigInt(Math.floor(expires / 1000));
  return {
    namespace,
    namespaceId: "",
    account,
    scopes: scopes as string[],
    expires: { seconds: end, nanos: 0 },
    resources: limits.length === 0 ? [] : resources.filter((_, index) => matches(limits[index] as Resource, segments)),
    reportUse: false,
    enrolment: enrolment ?? "",
    // The guard that is sent the key checks its addresses.
    from: [],
  };
}

const NO_BYTES = Buffer.alloc(0);
const NO_CALLER = Caller.decode(NO_BYTES);

/** @param whose the hash of a caller's token, or the namespace of calls without a caller */
function cacheKeyOf(whose: string, { resource }: Guarded): string {
  return `${whose} ${resource}`;
}

function bytesOfSigned({ metadata }: Signed): number {
  return SIGNED_BYTES + (metadata[0]?.[1].length ?? 0);
}

/** The text is counted twice, because the caller's texts are decoded from it. */
function bytesOfVerified({ text }: Verified): number {
  return VERIFIED_BYTES + 2 * text.length;
}
