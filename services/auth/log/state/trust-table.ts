/**
 * Issuers of JWTs, the trusts by which their JWTs stand for accounts, and the tokens that came from
 * them: access tokens that JWTs were exchanged for, and JWTs that count as tokens themselves.
 *
 * A token stays here until its JWT expires. A revoked one stays even without its trust, so that the
 * JWT is not accepted again. All objects are immutable: a change replaces them, so a draft need not
 * copy them.
 */
import type {
  AccountTrust,
  Snapshot,
  TrustRecord,
  TrustToken,
  VouchingIssuer,
} from "../../../../src/gen/portico/auth/log/v1/log.js";
import { timestampMs } from "../../../../src/time.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";
import { hex } from "./hex.js";

/** Maximum number of tokens of a trust at once; a new one ends the oldest that is not revoked. */
export const MAX_TRUST_TOKENS = 10_000;

type Named = Pick<AccountTrust, "namespace" | "name">;

export class TrustTable {
  readonly #issuers: MapEntries<string, VouchingIssuer>;
  readonly #trusts: MapEntries<string, AccountTrust>;
  /** By the hex of the SHA-256. */
  readonly #tokens: MapEntries<string, TrustToken>;
  /** The hash of a revoked token, by the hash of its header and payload; both in hexadecimal. */
  readonly #revoked: MapEntries<string, string>;
  /** How many tokens each trust has. */
  readonly #counts: MapEntries<string, number>;
  #limited: number;

  /** @param base makes this a draft of it; see State.draft */
  constructor(base?: TrustTable) {
    this.#issuers = base === undefined ? new Map() : new DraftMap(base.#issuers);
    this.#trusts = base === undefined ? new Map() : new DraftMap(base.#trusts);
    this.#tokens = base === undefined ? new Map() : new DraftMap(base.#tokens);
    this.#revoked = base === undefined ? new Map() : new DraftMap(base.#revoked);
    this.#counts = base === undefined ? new Map() : new DraftMap(base.#counts);
    this.#limited = base?.limited ?? 0;
  }

  /** How many tokens are limited to resources. */
  get limited(): number {
    return this.#limited;
  }

  issuer(namespace: string, name: string): VouchingIssuer | undefined {
    return this.#issuers.get(keyOf({ namespace, name }));
  }

  issuersOf(namespace: string): VouchingIssuer[] {
    return [...this.#issuers.values()].filter((issuer) => issuer.namespace === namespace);
  }

  /** Whether any namespace has an issuer with the URL. */
  hasIssuerAt(url: string): boolean {
    for (const issuer of this.#issuers.values()) if (issuer.url === url) return true;
    return false;
  }

  putIssuer(issuer: VouchingIssuer): void {
    this.#issuers.set(keyOf(issuer), issuer);
  }

  trust(namespace: string, name: string): AccountTrust | undefined {
    return this.#trusts.get(keyOf({ namespace, name }));
  }

  trustsOf(namespace: string): AccountTrust[] {
    return [...this.#trusts.values()].filter((trust) => trust.namespace === namespace);
  }

  /** The trusts in issuers with the URL, of all namespaces. */
  trustsAt(url: string): AccountTrust[] {
    const isAt = ({ namespace, issuer }: AccountTrust): boolean => this.issuer(namespace, issuer)?.url === url;
    return [...this.#trusts.values()].filter(isAt);
  }

  putTrust(trust: AccountTrust): void {
    this.#trusts.set(keyOf(trust), trust);
  }

  token(sha256: Buffer): TrustToken | undefined {
    return this.#tokens.get(hex(sha256));
  }

  /** Whether a token of the JWT was revoked. @param signedSha256 of its header and payload */
  isRevoked(signedSha256: Buffer): boolean {
    return this.#revoked.get(hex(signedSha256)) !== undefined;
  }

  /** The tokens of a namespace whose JWT has the `jti`. */
  tokensWithJti(namespace: string, jti: string): TrustToken[] {
    return [...this.#tokens.values()].filter((token) => token.jti === jti && token.namespace === namespace);
  }

  /**
   * Adds or replaces a token.
   * @param now in milliseconds since 1970. A token whose JWT has expired by then does not count,
   *   whether it was forgotten or not: authorities forget at different times
   * @returns the hashes of the tokens that ended for it
   */
  putToken(token: TrustToken, now = Number.NEGATIVE_INFINITY): Buffer[] {
    const trust = keyOf({ namespace: token.namespace, name: token.trust });
    const isNew = this.token(token.sha256) === undefined;
    const isFull = (): boolean => isNew && (this.#counts.get(trust) ?? 0) >= MAX_TRUST_TOKENS;
    if (isFull()) this.forget(now);
    const ended = isFull() ? this.#removeOldest(token) : [];
    this.#remove(token.sha256);
    this.#tokens.set(hex(token.sha256), token);
    if (token.revoked) this.#revoked.set(hex(token.signedSha256), hex(token.sha256));
    this.#counts.set(trust, (this.#counts.get(trust) ?? 0) + 1);
    if (token.resources.length > 0) this.#limited++;
    return ended;
  }

  /** Removes an issuer with its trusts; returns the hashes of their tokens. */
  removeIssuer(namespace: string, name: string): Buffer[] {
    this.#issuers.delete(keyOf({ namespace, name }));
    const trusts = this.trustsOf(namespace).filter(({ issuer }) => issuer === name);
    return trusts.flatMap((trust) => this.removeTrust(namespace, trust.name));
  }

  /** Removes a trust; returns the hashes of its tokens. */
  removeTrust(namespace: string, name: string): Buffer[] {
    this.#trusts.delete(keyOf({ namespace, name }));
    return this.#endTokens((token) => token.trust === name && token.namespace === namespace);
  }

  /** Removes the trusts of a deleted account. */
  removeTrustsOf(namespace: string, account: string): void {
    for (const trust of this.trustsOf(namespace)) {
      if (trust.account === account) this.removeTrust(namespace, trust.name);
    }
  }

  /** Ends the tokens of an account. */
  endTokensOf(namespace: string, account: string): void {
    this.#endTokens((token) => token.account === account && token.namespace === namespace);
  }

  /** Removes all of a deleted namespace, also what was revoked: its trusts cannot come again. */
  removeNamespace(namespace: string): void {
    for (const { name } of this.trustsOf(namespace)) this.removeTrust(namespace, name);
    for (const { name } of this.issuersOf(namespace)) this.removeIssuer(namespace, name);
  }

  /**
   * Removes the tokens whose JWT has expired. Others stay, so that the JWT can still be revoked, by
   * its `jti` or with its account. Reads all.
   */
  forget(now: number): void {
    for (const { sha256, jwtExpires } of [...this.#tokens.values()]) {
      if (timestampMs(jwtExpires) <= now) this.#remove(sha256);
    }
  }

  freeze(): TrustRecord[] {
    return [
      ...[...this.#issuers.values()].map((value) => ({ record: { $case: "issuer" as const, value } })),
      ...[...this.#trusts.values()].map((value) => ({ record: { $case: "trust" as const, value } })),
      ...[...this.#tokens.values()].map((value) => ({ record: { $case: "token" as const, value } })),
    ];
  }

  merge({ trustRecords }: Pick<Snapshot, "trustRecords">): void {
    for (const { record } of trustRecords) {
      if (record?.$case === "issuer") this.putIssuer(record.value);
      if (record?.$case === "trust") this.putTrust(record.value);
      if (record?.$case === "token") this.putToken(record.value);
    }
  }

  #endTokens(isIt: (token: TrustToken) => boolean): Buffer[] {
    const tokens = [...this.#tokens.values()].filter((token) => isIt(token) && !token.revoked);
    for (const token of tokens) this.putToken(asRevoked(token));
    return tokens.map(({ sha256 }) => sha256);
  }

  #removeOldest({ namespace, trust }: TrustToken): Buffer[] {
    for (const token of this.#tokens.values()) {
      if (token.trust !== trust || token.namespace !== namespace || token.revoked) continue;
      this.#remove(token.sha256);
      return [token.sha256];
    }
    return [];
  }

  #remove(sha256: Buffer): void {
    const token = this.token(sha256);
    if (token === undefined) return;
    this.#tokens.delete(hex(sha256));
    // Of two revoked tokens of a JWT, both expire with it.
    const signed = hex(token.signedSha256);
    if (this.#revoked.get(signed) === hex(sha256)) this.#revoked.delete(signed);
    if (token.resources.length > 0) this.#limited--;
    const trust = keyOf({ namespace: token.namespace, name: token.trust });
    const count = (this.#counts.get(trust) ?? 0) - 1;
    if (count > 0) this.#counts.set(trust, count);
    else this.#counts.delete(trust);
  }
}

/** A token that ends is remembered for as long as its JWT could be accepted. */
export function asRevoked(token: TrustToken): TrustToken {
  return { ...token, revoked: true, expires: token.jwtExpires };
}

/** A name has no space. */
function keyOf({ namespace, name }: Named): string {
  return `${namespace} ${name}`;
}
