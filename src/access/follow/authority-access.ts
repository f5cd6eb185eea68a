/** Where a guard finds the authority: in its own process, or in another one. */
import type { Logger } from "pino";
import type { Metadata } from "../../call/metadata.js";
import type { CallStart, Channel } from "../../rpc/channel.js";
import type { Authorities } from "./authorities.js";

/** The authority that a guard follows, as long as the guard has its state. */
export interface FollowedAuthority {
  readonly channel: Channel;
  /** Aborted when the stream has ended, or a snapshot has replaced the guard's state. */
  readonly signal: AbortSignal;
}

/** How a guard reaches the authority. */
export interface AuthorityAccess {
  /**
   * To any authority: for calls, and also for the stream of rules if there is only one authority.
   */
  readonly channel: Channel;
  /** The authorities to choose from, if there are several. */
  readonly authorities?: Authorities | undefined;
  /** The enrolment token as bearer, if the authority is another process. */
  readonly metadata?: Metadata | undefined;
  /** SYSTEM, if the authority is in this process. */
  readonly admission?: CallStart["admission"];
  readonly log: Logger;
  /**
   * The only service whose calls the guard decides; undefined if it decides the calls of all
   * services.
   */
  readonly service?: string | undefined;
}
