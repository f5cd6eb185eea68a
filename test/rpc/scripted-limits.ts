/** Limits of calls as a test scripts them, in place of the limits of a guard. */
import type { Admission, Guard } from "../../src/call/admission.js";
import { type CountedCall, type LimitedCall, type LimitState, limited } from "../../src/call/limited-call.js";
import { until } from "../support/until.js";

/** `"ci";q=100;w=1`, `"ci";r=42;t=1` */
export const STATE: LimitState = { limit: "ci", quota: 100, window: 1, concurrent: false, remaining: 42, reset: 1 };
export const REFUSED = limited("Limit ci allows key deploy 100 calls a second", STATE, 2);
export const DETAIL = "Limit ci allows key deploy 100 calls a second; try again in 2 s";
export const HEADERS = { "ratelimit-policy": '"ci";q=100;w=1', ratelimit: '"ci";r=42;t=1' };

/** What a limit does: nothing, grant or refuse, at once or later. */
export type Act = "grant" | "refuse" | "grant later" | "refuse later";

export class ScriptedLimits {
  /** What happens to the next calls; undefined if no limit matches. */
  onCall: Act | undefined;
  /** What happens to messages, in order. Messages beyond the list are granted. */
  onMessages: Act[] = [];
  state: LimitState | undefined = STATE;
  /** The calls that were counted, in order. */
  readonly counted: { readonly name: string; readonly address: string; readonly asserted: boolean }[] = [];
  /** The messages that were counted. */
  messages = 0;
  /** The calls that were granted and have not ended. */
  open = 0;
  /** How often each granted call was ended, in order. */
  ends: number[] = [];
  readonly #held: (() => void)[] = [];

  readonly count: Guard["count"] = ({ endpoint }: Admission, { address, asserted }: CountedCall) => {
    this.counted.push({ name: endpoint.name, address, asserted });
    if (this.onCall === undefined) return undefined;
    return this.#act(this.onCall, () => this.#granted());
  };

  /** Lets everything go on that waits. */
  async release(): Promise<void> {
    await until(() => this.#held.length > 0);
    for (const go of this.#held.splice(0)) go();
  }

  /** Forgets what has happened. */
  reset(onCall: Act | undefined, ...onMessages: Act[]): void {
    this.onCall = onCall;
    this.onMessages = onMessages;
    this.state = STATE;
    this.counted.length = 0;
    this.messages = 0;
    this.ends = [];
  }

  #act<T>(act: Act, grant: () => T): T | Promise<T> {
    const at = (): T => {
      if (act.startsWith("refuse")) throw REFUSED;
      return grant();
    };
    if (!act.endsWith("later")) return at();
    return new Promise<void>((resolve) => this.#held.push(resolve)).then(at);
  }

  #granted(): LimitedCall {
    const ends = this.ends;
    const index = ends.push(0) - 1;
    this.open++;
    return {
      state: this.state,
      message: () => {
        this.messages++;
        return this.#act(this.onMessages.shift() ?? "grant", () => {});
      },
      end: () => {
        this.open--;
        ends[index] = (ends[index] as number) + 1;
      },
    };
  }
}
