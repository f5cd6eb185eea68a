/** The caller that a token stands for, by the authority's state. */
import { serviceScope } from "../../../../src/call/admission.js";
import { agentScopeOf } from "../../../../src/contract/scope.js";
import type { Key } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Caller } from "../../../../src/gen/portico/auth/v1/policy.js";
import { timestampMs, toTimestamp } from "../../../../src/time.js";
import type { MapEntries } from "../changelog/draft-map.js";
import type { NamespaceState } from "./namespace-state.js";
import { EMPTY_CALLER, limitsOf, type TokenState } from "./token-state.js";

/** 9999-12-31T23:59:59Z, the last moment of a google.protobuf.Timestamp. */
const NEVER = 253_402_300_799_000;

/** What is read of the authority's state (state.ts). */
interface KnownState {
  readonly namespaces: MapEntries<string, NamespaceState>;
  token(sha256: Buffer): TokenState | undefined;
}

/**
 * The caller of a token; undefined if the token is not for calls or has expired.
 * @param sha256 of the token
 * @param now in milliseconds since 1970
 */
export function callerOf(state: KnownState, sha256: Buffer, now: number): Caller | undefined {
  const token = state.token(sha256);
  switch (token?.kind) {
    case "access":
      return accountCaller(state, token.login, token.token.expires, now);
    case "session":
      return accountCaller(state, token.session, token.token.expires, now);
    case "key": {
      const { key } = token;
      const caller = accountCaller(state, key, key.expires, now);
      return caller && { ...caller, ...limitsOf(key), reportUse: true };
    }
    case "granted": {
      const { kind, grant, expires } = token.granted;
      const caller = kind === "access" ? accountCaller(state, grant, expires, now) : undefined;
      const scopes = caller && [...caller.scopes, agentScopeOf(grant.clientId)];
      return caller && { ...caller, scopes: scopes as string[], resources: grant.resources };
    }
    case "trusted": {
      const { trusted } = token;
      const caller = trusted.revoked ? undefined : accountCaller(state, trusted, trusted.expires, now);
      return caller && { ...caller, resources: trusted.resources, callsOnly: true };
    }
    case "enrolment": {
      const { name } = token.enrolment;
      return { ...EMPTY_CALLER, scopes: [serviceScope(name)], expires: toTimestamp(NEVER), enrolment: name };
    }
    default:
      return undefined;
  }
}

function accountCaller(
  state: KnownState,
  { namespace, account }: Pick<Key, "namespace" | "account">,
  expires: Key["expires"],
  now: number,
): Caller | undefined {
  const { accounts, id: namespaceId = "" } = state.namespaces.get(namespace) ?? {};
  const present = accounts?.get(account);
  if (present === undefined || present.disabled || timestampMs(expires) <= now) return undefined;
  return { ...EMPTY_CALLER, namespace, account, scopes: present.scopes, expires, namespaceId };
}
