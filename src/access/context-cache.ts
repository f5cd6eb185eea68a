/**
 * The signed contexts that a guard keeps: a gateway's guard signs them, a service's guard verifies them. A call with one
 * that is kept costs one lookup in a map on either side.
 *
 * A context expires with the lease in which it was signed, by the authority's time. The authority waits as long for a
 * gateway that it cannot reach. So one is kept from its caller's second call in a lease on: where callers call more rarely
 * than that, it would be dropped unused, and objects that live for seconds cost the garbage collector most.
 */
import { BoundedMap } from "../bounded-map.js";
import type { Endpoint } from "../contract/endpoint.js";
import { matches, type Resource } from "../contract/resource.js";
import { Code, StatusError } from "../errors.js";
import type { CallContext } from "../gen/portico/auth/v1/delegation.js";
import type { Caller } from "../gen/portico/auth/v1/policy.js";
import { type Metadata, NO_METADATA } from "../rpc/metadata.js";
import type { Admission } from "./admission.js";
import { CONTEXT, macOf, readContext, signContext, verifyContext } from "./call-context.js";
import type { CallerCache } from "./caller-cache.js";
import { KnownCaller } from "./known-caller.js";
import type { Policy } from "./policy.js";

/**
 * Most contexts that are kept, signed ones and verified ones, and most bytes that each kind takes. A context is good for a
 * lease at most, so more of them would gain little.
 */
const MAX_KEPT = 20_000;
const MAX_BYTES = 24 * 1024 ** 2;
/** What a signed context takes beside its text, and a verified one with its caller. */
const SIGNED_BYTES = 400;
const VERIFIED_BYTES = 800;

interface Signed {
  readonly metadata: Metadata;
  readonly caller: KnownCaller | undefined;
  readonly namespaceId: string | undefined;
  /** Of the keys. */
  readonly version: number;
  /** The end of the lease that it was signed in, and when it is signed anew if that has moved, in monotonic time. */
  readonly end: number;
  readonly renewal: number;
}

/** What a verified context says. */
export interface Verified {
  readonly text: string;
  readonly resource: string;
  readonly namespace: string;
  readonly namespaceId: string;
  readonly caller: KnownCaller | undefined;
  /** The service that calls. */
  readonly service: string | undefined;
  /** In milliseconds since 1970 by the authority's clock. */
  readonly expires: number;
  /** Of the keys. */
  readonly version: number;
}

/** The signed and verified contexts of one guard. */
export class ContextCache {
  /** Gives the keys, the revision and the lease by which contexts are signed and verified. */
  readonly #policy: Policy;
  readonly #callers: CallerCache;
  readonly #signed = new BoundedMap<string, Signed>(MAX_KEPT, { maxBytes: MAX_BYTES, bytesOf: bytesOfSigned });
  /** By their signatures. */
  readonly #verified = new BoundedMap<string, Verified>(MAX_KEPT, { maxBytes: MAX_BYTES, bytesOf: bytesOfVerified });
  readonly #seen = new SeenOnce();

  constructor(policy: Policy, callers: CallerCache) {
    this.#policy = policy;
    this.#callers = callers;
  }

  /** What a service is sent with a call that this guard has admitted; nothing where its key is not known. */
  sign({ endpoint, caller, namespace, namespaceId }: Admission): Metadata {
    const { keys } = this.#policy.current;
    const known = caller instanceof KnownCaller ? caller : undefined;
    const name = `${known?.hash ?? namespace} ${endpoint.resource}`;
    const kept = this.#signed.get(name);
    const end = this.#policy.lease.end;
    const isSame = kept?.caller === known && kept?.namespaceId === namespaceId;
    if (kept !== undefined && isSame && kept.version === keys.version) {
      if (kept.end === end || performance.now() < kept.renewal) return kept.metadata;
    }
    const text = this.#sign(endpoint, { namespace, namespaceId: namespaceId ?? "", caller: known }, end);
    if (text === undefined) return NO_METADATA;
    const metadata: Metadata = [[CONTEXT, text]];
    const now = performance.now();
    if (known !== undefined && known.signedUntil <= now) {
      known.signedUntil = end;
      return metadata;
    }
    const renewal = (now + end) / 2;
    this.#signed.set(name, { metadata, caller: known, namespaceId, version: keys.version, end, renewal });
    return metadata;
  }

  #sign(
    endpoint: Endpoint,
    { namespace, namespaceId, caller }: Pick<Verified, "namespace" | "namespaceId" | "caller">,
    end: number,
  ): string | undefined {
    const { keys } = this.#policy.current;
    const key = keys.of(endpoint.service);
    if (key === undefined || keys.ticket === undefined) return undefined;
    const context: CallContext = {
      resource: endpoint.resource,
      namespace,
      caller: caller && toMessage(caller, endpoint),
      sha256: caller?.hashBytes ?? NO_BYTES,
      service: "",
      // Rounded down: rather too early than too late.
      expires: BigInt(Math.floor(Math.min(this.#policy.timeAt(end), caller?.expires ?? Number.POSITIVE_INFINITY))),
      generation: BigInt(key.generation),
      revision: this.#policy.revision,
      namespaceId,
    };
    return signContext(context, key, keys.ticket);
  }

  /** What a context says, where it is known here already. Looked up by its end: a text as long takes time to hash. */
  find(text: string): Verified | undefined {
    const known = this.#verified.get(macOf(text));
    if (known?.text !== text || known.version !== this.#policy.current.keys.version) return undefined;
    return known.caller === undefined || this.#callers.isCurrent(known.caller) ? known : undefined;
  }

  /**
   * Verifies a context; a promise where its key is newer than what this guard has applied.
   * @throws {StatusError} (or rejects with one) UNAUTHENTICATED for one that is not good for calls of this service;
   * UNAVAILABLE for one signed by a gateway that has not heard yet that the key was replaced.
   */
  verify(text: string, endpoint: Endpoint): Verified | Promise<Verified> {
    const key = this.#policy.current.keys.of(endpoint.service);
    const context = key && verifyContext(text, key);
    if (context !== undefined) return this.#read(text, context);
    const generation = Number(readContext(text)?.generation ?? -1n);
    if (generation > (key?.generation ?? -1) && generation > Number(this.#policy.revision)) {
      return this.#policy.awaitRevision(generation).then(() => this.#verifyLate(text, endpoint));
    }
    throw this.#refusal(generation, key?.generation, endpoint);
  }

  #verifyLate(text: string, endpoint: Endpoint): Verified {
    const key = this.#policy.current.keys.of(endpoint.service);
    const context = key && verifyContext(text, key);
    if (context === undefined) throw this.#refusal(-1, key?.generation, endpoint);
    return this.#read(text, context);
  }

  #refusal(generation: number, current: number | undefined, endpoint: Endpoint): StatusError {
    if (generation > 0 && current !== undefined && generation < current) {
      return new StatusError(Code.UNAVAILABLE, `the key of ${endpoint.service} was replaced a moment ago; try again`);
    }
    return badContext(endpoint);
  }

  /** @throws {StatusError} UNAUTHENTICATED for a caller that cannot be understood. */
  #read(text: string, context: CallContext): Verified {
    const { resource, namespace, namespaceId, caller, sha256, service, expires, revision } = context;
    return {
      text,
      resource,
      namespace,
      namespaceId: namespaceId ?? "",
      caller: caller && new KnownCaller(sha256, caller, this.#callers.versionOf(revision)),
      service: service || undefined,
      expires: Number(expires),
      version: this.#policy.current.keys.version,
    };
  }

  /** Keeps a context that comes for the second time. It is good until something changes about its caller or the keys. */
  keep(verified: Verified): void {
    const mac = macOf(verified.text);
    if (this.#seen.has(mac)) this.#verified.set(mac, verified);
    else this.#seen.add(mac);
  }

  /** Forgets all contexts. */
  clear(): void {
    this.#signed.clear();
    this.#verified.clear();
  }
}

/** Which signatures came lately: one for each place, and those that came last. What it forgets is verified once more. */
class SeenOnce {
  readonly #places = new Uint32Array(2 ** 16);

  has(mac: string): boolean {
    return this.#places[placeOf(mac)] === markOf(mac);
  }

  add(mac: string): void {
    this.#places[placeOf(mac)] = markOf(mac);
  }
}

/** Of a signature, which is random: 16 bits of its first three characters in base64url. */
function placeOf(mac: string): number {
  return ((mac.charCodeAt(0) << 12) ^ (mac.charCodeAt(1) << 6) ^ mac.charCodeAt(2)) & 0xffff;
}

/** The four characters after them, as an unsigned number of 32 bits. */
function markOf(mac: string): number {
  const [a, b, c, d] = [mac.charCodeAt(3), mac.charCodeAt(4), mac.charCodeAt(5), mac.charCodeAt(6)];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** The refusal of a context that is not good here. */
export function badContext(endpoint: Endpoint): StatusError {
  return new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint.name}: its context is not valid`);
}

/** The refusal of a context that outlived the lease in which it was signed: the call took too long on its way. */
export function lateContext(endpoint: Endpoint): StatusError {
  return new StatusError(
    Code.UNAVAILABLE,
    `the call to ${endpoint.name} came late: its context has expired; try again`,
  );
}

/**
 * A caller as a context carries it. Of the resources that its token is limited to, only those that cover the endpoint:
 * all of them may not fit in a header. `reportUse` is false, because the gateway has noted the use of the key.
 */
function toMessage(caller: KnownCaller, { segments }: Endpoint): Caller {
  const { namespace, account, scopes, expires, limits, enrolment } = caller;
  const end = BigInt(Math.floor(expires / 1000));
  return {
    namespace,
    account,
    scopes: [...scopes],
    expires: { seconds: end, nanos: 0 },
    resources: caller.resources.filter((_, index) => matches(limits[index] as Resource, segments)),
    reportUse: false,
    enrolment: enrolment ?? "",
  };
}

const NO_BYTES = Buffer.alloc(0);

function bytesOfSigned({ metadata }: Signed): number {
  return SIGNED_BYTES + (metadata[0]?.[1].length ?? 0);
}

/** The caller's texts are in the text, base64-encoded. */
function bytesOfVerified({ text }: Verified): number {
  return VERIFIED_BYTES + 2 * text.length;
}
