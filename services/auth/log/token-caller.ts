/** Whom a token stands for. */

import { serviceScope } from "../../../src/access/admission.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import type { Caller } from "../../../src/gen/portico/auth/v1/policy.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import type { State } from "./state.js";

/** 9999-12-31T23:59:59Z, the last moment a timestamp can say. */
const NEVER = 253_402_300_799_000;

/** @param sha256 of the token, in hexadecimal; undefined unless it is good for calls and has not expired. */
export function callerOf(state: State, sha256: string, now: number): Caller | undefined {
  const token = state.tokens.get(sha256);
  switch (token?.kind) {
    case "access":
      return accountCaller(state, token.login.namespace, token.login.account, token.token.expires, now);
    case "key": {
      const { namespace, account, expires, resources } = token.key;
      const caller = accountCaller(state, namespace, account, expires, now);
      return caller && { ...caller, resources, reportUse: true };
    }
    case "enrolment":
      return {
        namespace: DEFAULT_NAMESPACE,
        account: "",
        scopes: [serviceScope(token.enrolment.name)],
        expires: toTimestamp(NEVER),
        resources: [],
        reportUse: false,
        enrolment: token.enrolment.name,
      };
    default:
      return undefined;
  }
}

function accountCaller(
  state: State,
  namespace: string,
  name: string,
  expires: Caller["expires"],
  now: number,
): Caller | undefined {
  const account = state.account(namespace, name);
  if (account === undefined || timestampMs(expires) <= now) return undefined;
  const { scopes } = account;
  return { namespace, account: name, scopes, expires, resources: [], reportUse: false, enrolment: "" };
}
