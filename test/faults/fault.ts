/** A fault: how a test causes it, what it measures, and the safeguards that must hold. */
import type { Cluster } from "./cluster.js";
import type { Safeguard } from "./variant.js";

/** The measurements of a run. Times are in milliseconds. */
export interface Figures {
  /** Calls that were granted although an acknowledged change had taken the access away. */
  readonly wrongful: number;
  /**
   * Calls that were neither granted nor refused by rules. Calls that the fault itself makes
   * impossible are not counted.
   */
  readonly failed: number;
  readonly calls: number;
  /** From the request of the change to its response. */
  readonly acknowledged?: number | undefined;
  /**
   * From the beginning of the fault (a cut, a stop) to the last call that was granted by the
   * deleted rule.
   */
  readonly lastGrant?: number | undefined;
  /** From the end of the fault to the first call that succeeds. */
  readonly recovered?: number | undefined;
  /** The longest time without a granted call. */
  readonly gap?: number | undefined;
}

export interface Fault {
  /** What goes wrong: the first column of the table. */
  readonly title: string;
  /** How long guards may decide without news from the authority, such as `3s`. */
  readonly lease: string;
  readonly run: (cluster: Cluster) => Promise<Figures>;
  /** How many calls may fail; 0 by default. */
  readonly mayFail?: number;
  /** Without any one of these, a call is granted wrongly. */
  readonly safeguards: readonly Safeguard[];
  /** Why the fault cannot be tried on this machine; undefined if it can. */
  readonly skip?: () => string | undefined;
}
