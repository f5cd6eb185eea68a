/**
 * The metadata and public keys of issuers, as they publish them (OpenID Connect Discovery 1.0 §4,
 * RFC 7517).
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { BoundedMap } from "../../../src/memory/bounded-map.js";
import { endpointOf, IssuerError, readIssuer } from "./issuer-fetch.js";

/** Milliseconds for both documents. */
const TIMEOUT_MS = 3_000;
/** How old keys may be before they are fetched again, in milliseconds. */
export const MAX_AGE = 40_000;
/** For how long keys count that cannot be fetched again, in milliseconds. */
export const MAX_STALE = 10 * 60_000;
/** The time between two fetches of an issuer: five a minute. */
export const FETCH_INTERVAL = 12_000;
const MAX_ISSUERS = 1_000;

/** What an issuer publishes about itself (OpenID Connect Discovery 1.0 §3). */
export type IssuerMetadata = Readonly<Record<string, unknown>>;

interface Published {
  readonly keys: JWTVerifyGetKey;
  readonly metadata: IssuerMetadata;
}

interface Known {
  /** Undefined before the first success. */
  published: Published | undefined;
  fetchedAt: number;
  triedAt: number;
  error: Error | undefined;
  fetching: Promise<void> | undefined;
}

export class IssuerKeys {
  readonly #known = new BoundedMap<string, Known>(MAX_ISSUERS);
  readonly #now: () => number;

  /** @param now in milliseconds by a clock that is never set */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Runs a verification with the issuer's keys, and once more with new ones where it lacks a key.
   * @throws {IssuerError} (rejects) if there are no keys; else as `verify`
   */
  async use<T>(issuer: string, verify: (keys: JWTVerifyGetKey) => Promise<T>): Promise<T> {
    const known = await this.#fresh(issuer);
    const { fetchedAt } = known;
    try {
      return await verify(this.#current(issuer, known).keys);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#refresh(issuer, known);
      if (known.fetchedAt === fetchedAt) throw error;
      return verify(this.#current(issuer, known).keys);
    }
  }

  /** @throws {IssuerError} (rejects) if it cannot be had */
  async metadata(issuer: string): Promise<IssuerMetadata> {
    return this.#current(issuer, await this.#fresh(issuer)).metadata;
  }

  async #fresh(issuer: string): Promise<Known> {
    const known = this.#of(issuer);
    if (known.published === undefined || this.#now() - known.fetchedAt > MAX_AGE) await this.#refresh(issuer, known);
    return known;
  }

  #of(issuer: string): Known {
    const known = this.#known.get(issuer);
    if (known !== undefined) return known;
    const none = Number.NEGATIVE_INFINITY;
    const created: Known = {
      published: undefined,
      fetchedAt: none,
      triedAt: none,
      error: undefined,
      fetching: undefined,
    };
    this.#known.set(issuer, created);
    return created;
  }

  #current(issuer: string, { published, fetchedAt, error }: Known): Published {
    if (published !== undefined && this.#now() - fetchedAt <= MAX_STALE) return published;
    throw new IssuerError(`the keys of ${issuer} cannot be read: ${error?.message ?? "not yet"}`, { cause: error });
  }

  /** Fetches the keys, unless that was tried just now. Never rejects. */
  async #refresh(issuer: string, known: Known): Promise<void> {
    if (known.fetching !== undefined) return known.fetching;
    const now = this.#now();
    if (now - known.triedAt < FETCH_INTERVAL) return;
    known.triedAt = now;
    known.fetching = fetchPublished(issuer).then(
      (published) => {
        Object.assign(known, { published, fetchedAt: now, error: undefined, fetching: undefined });
      },
      (error) => {
        Object.assign(known, { error, fetching: undefined });
      },
    );
    return known.fetching;
  }
}

async function fetchPublished(issuer: string): Promise<Published> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const metadata = await readIssuer(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, { signal });
  // Else one server could vouch for the JWTs of another (OpenID Connect Discovery 1.0 §4.3).
  if (metadata.issuer !== issuer) throw new IssuerError("its document names another issuer");
  const jwks = await readIssuer(endpointOf(issuer, metadata, "jwks_uri"), { signal });
  const keys = createLocalJWKSet(jwks as unknown as JSONWebKeySet);
  return { keys, metadata };
}
