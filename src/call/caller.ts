/** The caller: as services see it, and as the guard knows it from the token. */
import { isAgentScope } from "../contract/scope.js";

/** The account that calls. */
export interface CallerIdentity {
  /** Its name; empty for a service that calls for itself. */
  readonly account: string;
  /** The namespace of the account. */
  readonly namespace: string;
  readonly scopes: readonly string[];
  /** The name of a service that calls for itself. */
  readonly enrolment?: string | undefined;
}

/** The account, or the enrolment, of a valid token. */
export interface Caller extends CallerIdentity {
  /** As in Admission, if the caller was found by its token. */
  readonly namespaceId?: string | undefined;
  /** When the token expires, in milliseconds of `Date.now()`. */
  readonly expires: number;
  /** Resource patterns that the token is limited to; empty means no limit. */
  readonly resources: readonly string[];
  /** The name of the API key, if it is limited and the name is known; for messages. */
  readonly key?: string | undefined;
  /** Whether it is an API key that administers nothing, whatever its account may. */
  readonly callsOnly?: boolean | undefined;
  /** The first characters of the API key, such as `ptk_4fGh81`, if the key itself was sent. */
  readonly keyPrefix?: string | undefined;
  /**
   * The name of an enrolment token. Such a caller is no account; rules treat its calls as calls
   * without a token.
   */
  readonly enrolment?: string | undefined;
}

/**
 * What a call is made with beside the account's name, as usage and refusals tell callers apart: the
 * prefix of an API key, or the scope of an agent; empty for a login.
 */
export function calledWith({ keyPrefix, scopes }: Pick<Caller, "keyPrefix" | "scopes">): string {
  return keyPrefix ?? scopes.find(isAgentScope) ?? "";
}
