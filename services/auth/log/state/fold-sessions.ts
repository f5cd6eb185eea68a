/**
 * How the events of the pages' sessions change the state. A version that does not know them knows
 * none of their tokens, and refuses them.
 */
import type { Timestamp } from "../../../../src/gen/google/protobuf/timestamp.js";
import type { PageSession } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { timestampMs, toTimestamp } from "../../../../src/time.js";
import { type EventFolds, tokensRevoked } from "./event-folds.js";
import { MAX_SESSION_ACCESS } from "./session-table.js";

/** How long a session lives without a new access token, in milliseconds. */
export const SESSION_IDLE = 12 * 60 * 60_000;

/** When a session ends if nothing uses it from now on. @param now in milliseconds since 1970 */
export function idleUntil({ ends }: Pick<PageSession, "ends">, now: number): Timestamp {
  return toTimestamp(Math.min(now + SESSION_IDLE, ends === undefined ? Number.POSITIVE_INFINITY : timestampMs(ends)));
}

type Events = "pageSessionStarted" | "pageSessionUsed" | "pageSessionEnded";

export const SESSION_FOLD: Pick<EventFolds, Events> = {
  pageSessionStarted: (state, { session }, time) => {
    if (session === undefined || state.account(session.namespace, session.account) === undefined) return {};
    if (state.sessions.session(session.sha256) !== undefined) return {};
    const ended = state.sessions.put(session, timestampMs(time));
    return { changes: tokensRevoked(ended), record: ["signed in on the pages", session.account] };
  },
  pageSessionUsed: ({ sessions }, { sha256, access }, time) => {
    const session = sessions.session(sha256);
    const now = timestampMs(time);
    if (session === undefined || access === undefined || timestampMs(session.expires) <= now) return {};
    const valid = session.access.filter(({ expires }) => timestampMs(expires) > now);
    const kept = valid.slice(1 - MAX_SESSION_ACCESS);
    const ended = valid.slice(0, valid.length - kept.length).map((token) => token.sha256);
    sessions.put({ ...session, access: [...kept, access], expires: idleUntil(session, now) });
    return { changes: tokensRevoked(ended) };
  },
  pageSessionEnded: ({ sessions }, { sha256 }) => {
    const session = sessions.session(sha256);
    if (session === undefined) return {};
    return { changes: tokensRevoked(sessions.remove(sha256)), record: ["signed out on the pages", session.account] };
  },
};
