/**
 * The sessions of the web pages: who has signed in in which browser, with the access tokens that
 * came from it. A session is not used up by a new token, so the tabs of a browser share it.
 *
 * An account has at most MAX_SESSIONS, so they are plain objects. All are immutable: a change
 * replaces the object, so a draft need not copy it.
 */
import type { PageSession, PersonLink, Snapshot, Token } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { timestampMs } from "../../../../src/time.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";
import { hex } from "./hex.js";

/** Maximum number of sessions of an account at once; a new one ends the least recently used. */
export const MAX_SESSIONS = 100;
/** Maximum number of access tokens of a session at once; a new one ends the oldest. */
export const MAX_SESSION_ACCESS = 64;

/** An access token of a session. */
export interface SessionToken {
  readonly session: PageSession;
  readonly token: Token;
}

export class SessionTable {
  readonly #sessions: MapEntries<string, PageSession>;
  /** The names of sessions by their owner, least recently used first. */
  readonly #byOwner: MapEntries<string, readonly string[]>;
  /** The name of the session by the hash of each of its tokens. */
  readonly #byToken: MapEntries<string, string>;

  /** @param base makes this a draft of it; see State.draft */
  constructor(base?: SessionTable) {
    this.#sessions = base === undefined ? new Map() : new DraftMap(base.#sessions);
    this.#byOwner = base === undefined ? new Map() : new DraftMap(base.#byOwner);
    this.#byToken = base === undefined ? new Map() : new DraftMap(base.#byToken);
  }

  /** @param sha256 of the cookie's secret */
  session(sha256: Buffer): PageSession | undefined {
    return this.#sessions.get(hex(sha256));
  }

  /** The session that an access token came from. */
  token(sha256: Buffer): SessionToken | undefined {
    const session = this.#sessions.get(this.#byToken.get(hex(sha256)) ?? "");
    const token = session?.access.find((token) => token.sha256.equals(sha256));
    return session && token && { session, token };
  }

  /** The sessions of an account, least recently used first. */
  sessionsOf(namespace: string, account: string): PageSession[] {
    return (this.#byOwner.get(ownerOf({ namespace, account })) ?? []).map((name) => this.#sessions.get(name)!);
  }

  /** The sessions for which a person signed in by an issuer. */
  sessionsBy({ namespace, account, issuer, subject }: PersonLink): PageSession[] {
    const sessions = this.sessionsOf(namespace, account);
    return sessions.filter((session) => session.issuer === issuer && session.subject === subject);
  }

  /**
   * Adds a session, or replaces it as the most recently used one.
   * @param now in milliseconds since 1970. A session that has expired by then does not count,
   *   whether it was forgotten or not: authorities forget at different times
   * @returns the access tokens of the session that ended for it
   */
  put(session: PageSession, now = Number.NEGATIVE_INFINITY): Buffer[] {
    this.remove(session.sha256);
    for (const { sha256, expires } of this.sessionsOf(session.namespace, session.account)) {
      if (timestampMs(expires) <= now) this.remove(sha256);
    }
    const oldest = this.#byOwner.get(ownerOf(session)) ?? [];
    const ended = oldest.length >= MAX_SESSIONS ? this.remove(this.#sessions.get(oldest[0]!)!.sha256) : [];
    this.#byOwner.set(ownerOf(session), [...(this.#byOwner.get(ownerOf(session)) ?? []), hex(session.sha256)]);
    this.#sessions.set(hex(session.sha256), session);
    for (const { sha256 } of session.access) this.#byToken.set(hex(sha256), hex(session.sha256));
    return ended;
  }

  /** Removes a session; returns the hashes of its access tokens. */
  remove(sha256: Buffer): Buffer[] {
    const session = this.session(sha256);
    if (session === undefined) return [];
    this.#sessions.delete(hex(sha256));
    for (const token of session.access) this.#byToken.delete(hex(token.sha256));
    const owner = ownerOf(session);
    const names = (this.#byOwner.get(owner) ?? []).filter((name) => name !== hex(sha256));
    if (names.length === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, names);
    return session.access.map((token) => token.sha256);
  }

  /** Removes the sessions of an account whose tokens all end. */
  removeSessionsOf(namespace: string, account: string): void {
    for (const { sha256 } of this.sessionsOf(namespace, account)) this.remove(sha256);
  }

  /** Removes what has expired. Reads all. */
  forget(now: number): void {
    for (const { sha256, expires } of [...this.#sessions.values()])
      if (timestampMs(expires) <= now) this.remove(sha256);
  }

  freeze(): PageSession[] {
    return [...this.#byOwner.values()].flatMap((names) => names.map((name) => this.#sessions.get(name)!));
  }

  merge({ pageSessions }: Pick<Snapshot, "pageSessions">): void {
    for (const session of pageSessions) this.put(session);
  }
}

/** A name has no space. */
function ownerOf({ namespace, account }: { readonly namespace: string; readonly account: string }): string {
  return `${namespace} ${account}`;
}
