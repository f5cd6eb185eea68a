/** What a connection is busy with, as its port sees it, whatever kind of request it is. */
import type { Socket } from "node:net";
import { HttpError } from "../errors.js";

export interface Work {
  /** Whether its answer has been given to the connection. */
  readonly answered: boolean;
  /** Whether the client is told of a fault, or will be, and the connection then closed. */
  readonly failed: boolean;
  /** Whether its body may take as long as it likes, as long as it comes. */
  readonly streams?: boolean;
  /** Makes its answer the connection's last; where its body is still to come, that answer is the fault. */
  fail(fault: HttpError): void;
  /** Makes it end now, as soon as it can. */
  stop(why: HttpError): void;
}

/**
 * The last request of a connection, until its answer has been taken, and so those before it; for good where it failed.
 * Node ends answers in the order of their requests, so a connection without any is idle.
 */
export const WORK = Symbol("work");
export type Connection = Socket & { [WORK]?: Work | undefined };

export const GONE = new HttpError(499, "The client has gone");

/**
 * After an answer to a request that is still being sent, what comes is read and dropped for this long: closing at once
 * would reset the connection, and the client might never see the answer (RFC 9112 §9.6).
 */
export const LINGER_MS = 1000;
