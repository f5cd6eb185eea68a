/** What a fault is: how it is made, and the safeguards that stand against it. */
import type { Cluster } from "./cluster.js";
import type { Safeguard } from "./variant.js";

/** What was seen. Times are in milliseconds. */
export interface Figures {
  /** Calls granted that a change which was acknowledged before had taken away. */
  readonly wrongful: number;
  /** Calls that were neither granted nor refused by rules, but for those that the fault itself makes impossible. */
  readonly failed: number;
  readonly calls: number;
  /** From the request to the answer of the change. */
  readonly acknowledged?: number | undefined;
  /** When the last call was granted by what was taken away, counted from the fault (a cut, a stop). */
  readonly lastGrant?: number | undefined;
  /** From the end of the fault to the first call that is answered again. */
  readonly recovered?: number | undefined;
  /** The longest time without a granted call. */
  readonly gap?: number | undefined;
}

export interface Fault {
  /** What goes wrong, as the first column of the table says it. */
  readonly title: string;
  /** How long guards may decide, such as `3s`. */
  readonly lease: string;
  readonly run: (cluster: Cluster) => Promise<Figures>;
  /** How many calls may fail; 0 where it is left out. */
  readonly mayFail?: number;
  /** Without any one of them a call is granted wrongly. */
  readonly safeguards: readonly Safeguard[];
  /** Why it cannot be tried on this machine. */
  readonly skip?: () => string | undefined;
}
