/** What a sign-in by an issuer leaves: the person is an account as long as the link is there. */
import type { State } from "../log/state/state.js";

/** By which issuer a person has signed in. */
export interface IssuerSession {
  readonly issuer: string;
  readonly subject: string;
  /** Of the link. It ends when the link does. */
  readonly revision: number;
  /** Until when the issuer vouches, in milliseconds since 1970; 0 if it is asked again. */
  readonly until: number;
}

/** Whether the link by which a person signed in is still there. */
export function isInForce(state: State, namespace: string, account: string, by: IssuerSession): boolean {
  const link = state.people.link({ namespace, issuer: by.issuer, subject: by.subject });
  return link?.account === account && Number(link.revision) === by.revision;
}
