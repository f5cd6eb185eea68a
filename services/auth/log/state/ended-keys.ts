/** The API keys that ended last, to tell their users why they are refused. */
import type { Key } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { BatchResolveResponse_Result, Caller } from "../../../../src/gen/portico/auth/v1/policy.js";
import { BoundedMap } from "../../../../src/memory/bounded-map.js";
import { timestampMs } from "../../../../src/time.js";
import type { TokenState } from "./token-state.js";

/** Maximum number of ended keys that are remembered, of some 300 bytes each. */
const MAX_ENDED = 10_000;

/** An API key that has ended. */
export interface FormerKey extends Pick<Key, "namespace" | "account" | "prefix" | "name" | "expires"> {
  /** Whether it, or its account, was removed or disabled before it expired. */
  readonly revoked: boolean;
  /** Whether it is refused only because its account is disabled. */
  readonly disabled?: boolean;
}

/** The keys that were removed last, by the hex of their SHA-256. */
export class EndedKeys {
  readonly #keys = new BoundedMap<string, FormerKey>(MAX_ENDED);

  remember({ sha256, namespace, account, prefix, name, expires }: Key, revoked: boolean): void {
    this.#keys.set(sha256.toString("hex"), { namespace, account, prefix, name, expires, revoked });
  }

  get(sha256: string): FormerKey | undefined {
    return this.#keys.get(sha256);
  }

  withPrefix(namespace: string, prefix: string): FormerKey | undefined {
    for (const key of this.#keys.values()) if (key.prefix === prefix && key.namespace === namespace) return key;
    return undefined;
  }
}

/** What is asked of the state. */
interface KeyState {
  account(namespace: string, name: string): { readonly disabled?: boolean | undefined } | undefined;
  readonly endedKeys: EndedKeys;
  callerOf(sha256: Buffer, now: number): Caller | undefined;
  token(sha256: Buffer): TokenState | undefined;
  keyWithPrefix(namespace: string, prefix: string): Key | undefined;
}

/** The caller of a token, or what the token was. */
export function resolved(state: KeyState, sha256: Buffer, now: number): BatchResolveResponse_Result {
  const caller = state.callerOf(sha256, now);
  return { caller, ended: caller === undefined ? endedKeyOf(state, sha256, now) : undefined };
}

/** The key of a token that has ended, where it is still remembered. */
function endedKeyOf(state: KeyState, sha256: Buffer, now: number): FormerKey | undefined {
  const token = state.token(sha256);
  if (token?.kind !== "key") return state.endedKeys.get(sha256.toString("hex"));
  return endOf(state, token.key, now);
}

/** How a key that is present is refused; undefined if it is accepted. */
function endOf(state: KeyState, key: Key, now: number): FormerKey | undefined {
  if (timestampMs(key.expires) <= now) return { ...key, revoked: false };
  const isDisabled = state.account(key.namespace, key.account)?.disabled === true;
  return isDisabled ? { ...key, revoked: true, disabled: true } : undefined;
}

/** The key of a namespace that begins with a prefix and ended, where it is still remembered. */
export function endedKeyWithPrefix(
  state: KeyState,
  { namespace, prefix }: Pick<Key, "namespace" | "prefix">,
  now: number,
): FormerKey | undefined {
  const present = state.keyWithPrefix(namespace, prefix);
  if (present === undefined) return state.endedKeys.withPrefix(namespace, prefix);
  return endOf(state, present, now);
}
