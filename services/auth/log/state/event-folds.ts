/** What the folds of single events have in common (fold.ts). */
import type { Timestamp } from "../../../../src/gen/google/protobuf/timestamp.js";
import type { Event } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Change } from "../../../../src/gen/portico/auth/v1/policy.js";
import type { State } from "./state.js";

type Events = NonNullable<Event["event"]>;
type Value<C extends Events["$case"]> = Extract<Events, { $case: C }>["value"];

/** The effect of an event: changes for guards, and the words of the audit record. */
export interface EventEffect {
  readonly changes?: Change[];
  readonly record?: readonly [action: string, subject: string];
  /** Set if the audit record has another namespace, actor and origin than the entry. */
  readonly recordOf?: {
    readonly namespace: string;
    readonly actor: string;
    readonly address: string;
    readonly requestId: string;
  };
}

export type ApplyEvent<V> = (state: State, value: V, time: Timestamp | undefined, actor: string) => EventEffect;
export type EventFolds = { readonly [C in Events["$case"]]: ApplyEvent<Value<C>> };

/** The change for guards when tokens are revoked; none for no tokens. */
export function tokensRevoked(sha256: Buffer[]): Change[] {
  return sha256.length === 0 ? [] : [{ change: { $case: "tokensRevoked", value: { sha256 } } }];
}
