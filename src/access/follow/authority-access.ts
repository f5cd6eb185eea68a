/** How a guard reaches the authority: in its own process, or in another. */
import type { Logger } from "pino";
import type { Metadata } from "../../call/metadata.js";
import type { CallStart, Channel } from "../../rpc/channel.js";
import type { Authorities } from "./authorities.js";

/** How a guard reaches the authority. */
export interface AuthorityAccess {
  /** To any authority: for calls, and where there is only one for the stream of rules too. */
  readonly channel: Channel;
  /** Those to choose from, where there are several. */
  readonly authorities?: Authorities | undefined;
  /** The bearer of the enrolment, where the authority is another process. */
  readonly metadata?: Metadata | undefined;
  /** SYSTEM, where the authority is in this process. */
  readonly admission?: CallStart["admission"];
  readonly log: Logger;
  /** The one service whose calls the guard judges; undefined where it judges calls to any. */
  readonly service?: string | undefined;
}
