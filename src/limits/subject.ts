/** Who shares a limit with other calls. */
import { type Limit, Per } from "../gen/portico/auth/v1/limits.js";

/** Who calls. What is not known is empty. */
export interface LimitedCaller {
  readonly namespace: string;
  readonly account: string;
  /** The prefix of the API key. */
  readonly key: string;
  /** The client's network, as src/address/client-address.ts has it. */
  readonly network: string;
}

/**
 * The subject of a limit that a call counts for: empty for everyone, undefined if the limit does
 * not apply to the call, or if the subject is not known.
 */
export function subjectOf({ per }: Pick<Limit, "per">, caller: LimitedCaller): string | undefined {
  switch (per) {
    case Per.ACCOUNT:
      return caller.account || undefined;
    case Per.KEY:
      return caller.key || undefined;
    case Per.ADDRESS:
      return caller.network || undefined;
    case Per.NAMESPACE:
      return caller.namespace;
    default:
      return "";
  }
}
