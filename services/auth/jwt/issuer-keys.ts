/**
 * The public keys of issuers (OpenID Connect Discovery 1.0 §4, RFC 7517), as they publish them. An
 * administrator has chosen each issuer, but its server is a stranger's: what is read is bounded.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { isLoopback } from "../../../src/address/loopback.js";
import { BoundedMap } from "../../../src/memory/bounded-map.js";

/** Maximum bytes of a document, and milliseconds for both documents. */
const MAX_DOCUMENT = 64 * 1024;
const TIMEOUT_MS = 3_000;
/** How old keys may be before they are fetched again, in milliseconds. */
export const MAX_AGE = 40_000;
/** For how long keys count that cannot be fetched again, in milliseconds. */
export const MAX_STALE = 10 * 60_000;
/** The time between two fetches of an issuer: five a minute. */
export const FETCH_INTERVAL = 12_000;
const MAX_ISSUERS = 1_000;

/** Why keys cannot be had, in words. */
export class IssuerError extends Error {}

interface Known {
  /** Undefined before the first success. */
  keys: JWTVerifyGetKey | undefined;
  fetchedAt: number;
  triedAt: number;
  error: Error | undefined;
  fetching: Promise<void> | undefined;
}

/** Why an issuer cannot have the URL, in words; undefined if it can. */
export function issuerUrlProblem(text: string): string | undefined {
  if (text.length > 500 || !URL.canParse(text))
    return "must be a URL, such as https://token.actions.githubusercontent.com";
  const { username, password, search, hash, href } = new URL(text);
  if (username !== "" || password !== "" || search !== "" || hash !== "") {
    return "must have no user, query and fragment";
  }
  if (href !== text && href !== `${text}/`) return `must be in its usual form: ${href}`;
  return isAllowed(new URL(text)) ? undefined : "must be https, or http for a loopback address";
}

function isAllowed({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname.replace(/^\[(.*)\]$/, "$1")));
}

export class IssuerKeys {
  readonly #known = new BoundedMap<string, Known>(MAX_ISSUERS);
  readonly #now: () => number;

  /** @param now in milliseconds by the monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Runs a verification with the issuer's keys, and once more with new ones where it lacks a key.
   * @throws {IssuerError} (rejects) if there are no keys; else as `verify`
   */
  async use<T>(issuer: string, verify: (keys: JWTVerifyGetKey) => Promise<T>): Promise<T> {
    const known = this.#of(issuer);
    if (known.keys === undefined || this.#now() - known.fetchedAt > MAX_AGE) await this.#refresh(issuer, known);
    const { fetchedAt } = known;
    try {
      return await verify(this.#current(issuer, known));
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#refresh(issuer, known);
      if (known.fetchedAt === fetchedAt) throw error;
      return verify(this.#current(issuer, known));
    }
  }

  #of(issuer: string): Known {
    const known = this.#known.get(issuer);
    if (known !== undefined) return known;
    const none = Number.NEGATIVE_INFINITY;
    const created: Known = { keys: undefined, fetchedAt: none, triedAt: none, error: undefined, fetching: undefined };
    this.#known.set(issuer, created);
    return created;
  }

  #current(issuer: string, { keys, fetchedAt, error }: Known): JWTVerifyGetKey {
    if (keys !== undefined && this.#now() - fetchedAt <= MAX_STALE) return keys;
    throw new IssuerError(`the keys of ${issuer} cannot be read: ${error?.message ?? "not yet"}`);
  }

  /** Fetches the keys, unless that was tried just now. Never rejects. */
  async #refresh(issuer: string, known: Known): Promise<void> {
    if (known.fetching !== undefined) return known.fetching;
    const now = this.#now();
    if (now - known.triedAt < FETCH_INTERVAL) return;
    known.triedAt = now;
    known.fetching = fetchKeys(issuer).then(
      (keys) => {
        Object.assign(known, { keys, fetchedAt: now, error: undefined, fetching: undefined });
      },
      (error) => {
        Object.assign(known, { error, fetching: undefined });
      },
    );
    return known.fetching;
  }
}

async function fetchKeys(issuer: string): Promise<JWTVerifyGetKey> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const found = await readJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, signal);
  // Else one server could vouch for the JWTs of another (OpenID Connect Discovery 1.0 §4.3).
  if (found.issuer !== issuer) throw new IssuerError("its document names another issuer");
  if (typeof found.jwks_uri !== "string") throw new IssuerError("its document has no jwks_uri");
  return createLocalJWKSet((await readJson(found.jwks_uri, signal)) as unknown as JSONWebKeySet);
}

async function readJson(text: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const url = new URL(text);
  if (!isAllowed(url)) throw new IssuerError(`${text} is not https`);
  const response = await fetch(url, { signal, redirect: "error", headers: { accept: "application/json" } });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // Leaving the loop closes the connection.
    if (length > MAX_DOCUMENT) throw new IssuerError(`${text} is larger than ${MAX_DOCUMENT} bytes`);
    chunks.push(chunk);
  }
  if (response.status !== 200) throw new IssuerError(`${text} has the status ${response.status}`);
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new IssuerError(`${text} is no object`);
  return value as Record<string, unknown>;
}
