/** Which trust accepts the claims of a JWT. */
import type { AccountTrust } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { State } from "../log/state/state.js";
import { type JwtClaims, JwtError } from "./verify.js";

/**
 * The trust with the subject that is most exact.
 * @param bearer whether only trusts count whose JWTs are tokens themselves
 * @throws {JwtError} if there is none
 */
export function trustOf(state: MatchState, claims: JwtClaims, bearer: boolean): AccountTrust {
  const { issuer, audiences, subject } = claims;
  const matching = state.trusts
    .trustsAt(issuer)
    .filter((trust) => audiences.includes(trust.audience) && covers(trust.subject, subject))
    .filter((trust) => !bearer || trust.bearer)
    .sort(byExactness);
  const [trust] = matching;
  if (trust === undefined) throw new JwtError("no trust accepts its audience and subject");
  // Else one namespace could take the JWTs of another.
  if (matching.some(({ namespace }) => namespace !== trust.namespace)) {
    throw new JwtError("trusts of several namespaces accept it");
  }
  const present = state.account(trust.namespace, trust.account);
  if (present === undefined || present.disabled) throw new JwtError("the account of its trust is disabled");
  return trust;
}

interface MatchState extends Pick<State, "trusts"> {
  account(namespace: string, name: string): { readonly disabled?: boolean | undefined } | undefined;
}

function covers(pattern: string, subject: string): boolean {
  return pattern.endsWith("*") ? subject.startsWith(pattern.slice(0, -1)) : subject === pattern;
}

/** A subject without `*` comes first, then the longest, then the first name. */
function byExactness(a: AccountTrust, b: AccountTrust): number {
  const open = (subject: string): number => Number(subject.endsWith("*"));
  return open(a.subject) - open(b.subject) || b.subject.length - a.subject.length || (a.name < b.name ? -1 : 1);
}

/** Why a trust cannot have the subject, in words; undefined if it can. */
export function subjectProblem(subject: string): string | undefined {
  if (subject.length < 1 || subject.length > 1_000) return "must have 1 to 1000 characters";
  if (subject === "*") return "must say more than *, which is every subject of the issuer";
  return subject.slice(0, -1).includes("*") ? "may have a * at its end only" : undefined;
}
