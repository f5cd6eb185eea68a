/**
 * JWTs of trusts: exchanged for access tokens (RFC 8693), or accepted as tokens themselves. Both
 * are recorded in the log, so that every guard resolves and forgets them as any token.
 */

import { LIMITED_KEYS } from "../../../src/access/decide/restrictions.js";
import { isJwt, MAX_JWT } from "../../../src/call/jwt.js";
import { createToken, hashToken } from "../../../src/call/token.js";
import { areScopes } from "../../../src/contract/oauth-scopes.js";
import { Code, StatusError } from "../../../src/errors.js";
import type { AccountTrust, TrustToken } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { ExchangeJwtRequest, ExchangeResponse } from "../../../src/gen/portico/auth/v1/oauth.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { type Asking, requestOrigin } from "../log/changelog/decide.js";
import type { State } from "../log/state/state.js";
import { ACCESS_LIFE } from "../login/tokens.js";
import { refused } from "../oauth/exchange.js";
import { resourcesOf, tokenScopes } from "../oauth/scopes.js";
import { IssuerError } from "./issuer-fetch.js";
import type { IssuerKeys } from "./issuer-keys.js";
import { trustOf } from "./match.js";
import { type JwtClaims, JwtError, LEEWAY, verifyJwt } from "./verify.js";

/** Maximum number of JWTs that are verified at the same time. */
const MAX_VERIFYING = 200;

/** How a JWT becomes a token. */
interface Use {
  readonly bearer: boolean;
  readonly token: string;
  readonly resources: readonly string[];
  readonly expiresOf: (claims: JwtClaims, now: number) => number;
}

export class Jwts {
  readonly #changes: Changes;
  readonly #keys: IssuerKeys;
  #verifying = 0;

  constructor({ changes, keys }: { changes: Changes; keys: IssuerKeys }) {
    this.#changes = changes;
    this.#keys = keys;
  }

  /** Whether a trust with `bearer` accepts the JWT. Then BatchResolve knows it. */
  async accept(jwt: string): Promise<boolean> {
    try {
      const claims = await this.#verify(jwt);
      const expiresOf = ({ expires }: JwtClaims): number => expires + LEEWAY;
      await this.#record(jwt, claims, { bearer: true, token: jwt, resources: [], expiresOf });
      return true;
    } catch (error) {
      if (error instanceof JwtError || error instanceof IssuerError) return false;
      throw error;
    }
  }

  async exchange({ jwt, scopes, resource, address, requestId }: ExchangeJwtRequest): Promise<ExchangeResponse> {
    if (!areScopes(scopes, resource))
      return refused("invalid_scope", "scope must be resource patterns, such as service:orders:*");
    try {
      const claims = await this.#verify(jwt);
      const resources = resourcesOf(scopes, resource);
      if (resources.length > 0) await this.#changes.checkRestriction(LIMITED_KEYS, "a token for some resources");
      const expiresOf = ({ expires }: JwtClaims, now: number): number => Math.min(expires, now + ACCESS_LIFE);
      const use = { bearer: false, token: createToken("access"), resources, expiresOf };
      const { expires } = await this.#record(jwt, claims, use, { address, requestId });
      return {
        ...{ error: "", description: "", refreshToken: "" },
        accessToken: use.token,
        accessExpires: expires,
        scopes: tokenScopes(resources),
        expiresIn: Math.max(0, Math.floor((timestampMs(expires) - this.#changes.now) / 1000)),
      };
    } catch (error) {
      if (error instanceof JwtError || error instanceof IssuerError)
        return refused("invalid_grant", `the JWT is refused: ${error.message}`);
      throw error;
    }
  }

  async #verify(jwt: string): Promise<JwtClaims> {
    if (!isJwt(jwt)) throw new JwtError(`it is no JWT of three parts and at most ${MAX_JWT} characters`);
    if (this.#verifying >= MAX_VERIFYING)
      throw new StatusError(Code.UNAVAILABLE, "too many JWTs are being verified; try again");
    this.#verifying++;
    try {
      await this.#changes.sync();
      const { state, now } = this.#changes;
      const isKnownIssuer = (url: string): boolean => state.trusts.hasIssuerAt(url);
      return await verifyJwt(jwt, { keys: this.#keys, isKnownIssuer, now });
    } finally {
      this.#verifying--;
    }
  }

  /** Records the token. @throws {JwtError} (rejects) if no trust accepts the claims any more */
  async #record(jwt: string, claims: JwtClaims, use: Use, asked?: Asking): Promise<TrustToken> {
    const { namespace, account } = trustOf(this.#changes.state, claims, use.bearer);
    const author = { namespace, account, origin: asked && requestOrigin(asked) };
    let token: TrustToken | undefined;
    const revision = await this.#changes.issue(author, (state, now) => {
      token = tokenOf(state, trustOf(state, claims, use.bearer), { jwt, claims, use, now });
      if (state.trusts.token(token.sha256) !== undefined) return [];
      return [{ $case: "trustTokenSet", value: { token } }];
    });
    // A limited token must not be usable earlier; and the oldest token may have ended for this one.
    await this.#changes.settled(revision);
    return token!;
  }
}

/** @throws {JwtError} if the JWT was revoked, or the token would have expired already */
function tokenOf(
  { trusts }: State,
  { namespace, name: trust, account }: AccountTrust,
  { jwt, claims, use, now }: { jwt: string; claims: JwtClaims; use: Use; now: number },
): TrustToken {
  const signedSha256 = hashToken(jwt.slice(0, jwt.lastIndexOf(".")));
  if (trusts.isRevoked(signedSha256)) throw new JwtError("it was revoked");
  const expires = use.expiresOf(claims, now);
  if (expires <= now) throw new JwtError("it has expired");
  return {
    ...{ sha256: hashToken(use.token), namespace, trust, account, expires: toTimestamp(expires) },
    ...{ jti: claims.jti, subject: claims.subject, resources: [...use.resources] },
    ...{ signedSha256, jwtExpires: toTimestamp(claims.expires + LEEWAY), revoked: false, bearer: use.bearer },
  };
}
