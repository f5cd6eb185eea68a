/** Verifies JWTs of the issuers that administrators have created (RFC 7519, RFC 8725). */
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import { IssuerError } from "./issuer-fetch.js";
import type { IssuerKeys } from "./issuer-keys.js";

/** Asymmetric only: with HMAC, who verifies could also sign (RFC 8725 §3.1). */
export const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
/** How far clocks may be apart, in milliseconds. */
export const LEEWAY = 60_000;
export const MAX_CLAIM = 1_000;
const MAX_AUDIENCES = 20;

/** Why a JWT is refused, in words. */
export class JwtError extends Error {}

/** The claims of a verified JWT. */
export interface JwtClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly audiences: readonly string[];
  /** Empty if it has none. */
  readonly jti: string;
  /** The claim `exp`, in milliseconds since 1970. */
  readonly expires: number;
}

export interface VerifyOptions {
  readonly keys: IssuerKeys;
  readonly isKnownIssuer: (url: string) => boolean;
  /** In milliseconds since 1970. */
  readonly now: number;
}

/**
 * @throws {JwtError} (rejects) if it is refused
 * @throws {IssuerError} (rejects) if its issuer's keys cannot be read
 */
export async function verifyJwt(jwt: string, { keys, isKnownIssuer, now }: VerifyOptions): Promise<JwtClaims> {
  const issuer = issuerOf(jwt);
  if (!isKnownIssuer(issuer)) throw new JwtError("its issuer is unknown");
  try {
    const options = {
      issuer,
      algorithms: ALGORITHMS,
      clockTolerance: LEEWAY / 1000,
      currentDate: new Date(now),
      requiredClaims: ["exp", "sub", "aud", "iss"],
    };
    const { payload } = await keys.use(issuer, (set) => jwtVerify(jwt, set, options));
    return claimsOf(issuer, payload);
  } catch (error) {
    throw refusalOf(error);
  }
}

/** What to throw instead of an error of a verification. */
export function refusalOf(error: unknown): JwtError | IssuerError {
  if (error instanceof JwtError || error instanceof IssuerError) return error;
  return new JwtError(error instanceof errors.JOSEError ? wordsOf(error) : "it cannot be read");
}

/** Its issuer as it claims, not verified. The header's jku, x5u and jwk are never followed. */
function issuerOf(jwt: string): string {
  try {
    if (decodeProtectedHeader(jwt).crit !== undefined) throw new JwtError("its header has crit");
    return decodeJwt(jwt).iss ?? "";
  } catch (error) {
    throw error instanceof JwtError ? error : new JwtError("it is no JWT");
  }
}

function claimsOf(issuer: string, { sub, aud, exp, jti = "" }: JWTPayload): JwtClaims {
  const audiences = [aud ?? []].flat();
  const isText = (claim: unknown): claim is string => typeof claim === "string" && claim.length <= MAX_CLAIM;
  if (!isText(sub) || sub === "") throw new JwtError("its claim sub is no text, or too long");
  if (!isText(jti)) throw new JwtError("its claim jti is no text, or too long");
  if (audiences.length > MAX_AUDIENCES || !audiences.every(isText))
    throw new JwtError("its claim aud is no list of texts");
  const expires = Number(exp) * 1000;
  if (!(expires < 253_402_300_799_000)) throw new JwtError("its claim exp is too late");
  return { issuer, subject: sub, audiences, jti, expires };
}

/** Without what a stranger wrote into the JWT. */
function wordsOf(error: InstanceType<typeof errors.JOSEError>): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim ${error.claim} is missing or not in order`;
  if (error instanceof errors.JWKSNoMatchingKey) return "its issuer has no such key";
  if (error instanceof errors.JOSEAlgNotAllowed) return "its algorithm is not allowed";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "its signature is wrong";
  return "it is no JWT that can be verified";
}
