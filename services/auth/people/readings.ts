/**
 * Readings of people: an authority asks an issuer again by a person's refresh token. An issuer that
 * replaces refresh tokens takes each once. When one comes twice, it may refuse the next one too
 * (RFC 9700 §4.14.2). So the log says that one is under way, and other authorities wait for its
 * end, for a time by their own monotonic clock: authorities are killed, and wall clocks differ
 * (docs/decisions/0109-one-reading-at-a-time.md).
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, StatusError } from "../../../src/errors.js";
import type { PersonLink } from "../../../src/gen/portico/auth/log/v1/log.js";
import { BoundedMap } from "../../../src/memory/bounded-map.js";
import type { Changes } from "../log/changelog/changes.js";
import type { LogEvent } from "../log/changelog/decide.js";
import type { Person } from "../log/state/people-table.js";
import type { State } from "../log/state/state.js";

/** Milliseconds after which a reading of another authority counts as ended. */
export const READING_TIME = 30_000;
/** Milliseconds that must be left of it when the issuer is asked: for its response, and the log. */
const TIME_TO_ASK = 20_000;
/** Milliseconds for which a person waits while another authority reads. */
const PATIENCE = 8_000;
const POLL_MS = 100;
const WRITE_AGAIN_MS = 500;
const MAX_SEEN = 10_000;

/** A reading of this authority. */
export interface OwnReading {
  /** With the refresh token that it may use. */
  readonly link: PersonLink;
  readonly id: string;
  /** Until when no other authority uses the token, by the clock of the readings. */
  readonly until: number;
}

export class Readings {
  readonly #changes: Changes;
  readonly #now: () => number;
  /** When a reading was first seen here. */
  readonly #seen = new BoundedMap<string, number>(MAX_SEEN);

  /** @param now in milliseconds by a clock that is never set */
  constructor(changes: Changes, now: () => number) {
    this.#changes = changes;
    this.#now = now;
  }

  /**
   * Begins a reading, once no other authority reads the person. Undefined if the link is gone.
   * Whoever begins one ends it, or gives it up.
   * @throws {StatusError} UNAVAILABLE (rejects)
   */
  async begin(known: PersonLink): Promise<OwnReading | undefined> {
    const id = randomBytes(12).toString("base64url");
    for (const latest = this.#now() + PATIENCE; ; ) {
      const until = this.#now() + READING_TIME;
      const link = await this.#tryBegin(known, id);
      if (link === undefined) return undefined;
      if (link.reading === id) return this.#inTime({ link, id, until });
      if (this.#now() >= latest) throw busy();
      await sleep(POLL_MS, undefined, { ref: false });
      await this.#changes.sync();
    }
  }

  /** @returns the link as it is now, with the reading that is under way */
  async #tryBegin(known: PersonLink, id: string): Promise<PersonLink | undefined> {
    let found: PersonLink | undefined;
    await this.#changes.issue(authorOf(known), (state) => {
      const link = state.people.link(known);
      // A later link may be to another issuer of the same name.
      found = link?.revision === known.revision ? link : undefined;
      if (found === undefined || this.#isRunning(found.reading)) return [];
      found = { ...found, reading: id };
      return [eventOf(found, id)];
    });
    return found;
  }

  #isRunning(reading: string): boolean {
    if (reading === "") return false;
    const now = this.#now();
    const since = this.#seen.get(reading) ?? now;
    this.#seen.set(reading, since);
    return now - since < READING_TIME;
  }

  async #inTime(reading: OwnReading): Promise<OwnReading> {
    if (reading.until - this.#now() >= TIME_TO_ASK) return reading;
    await this.giveUp(reading);
    throw busy();
  }

  /**
   * Ends a reading by what follows from it, and returns when that is in force. Tries again while
   * the store fails: a refresh token that the issuer has replaced is lost otherwise.
   * @throws {StatusError} UNAVAILABLE (rejects) if another reading has begun in the meantime, whose
   *   outcome is not known
   */
  async end(reading: OwnReading, decide: (state: State) => LogEvent[]): Promise<void> {
    const { link, id } = reading;
    let isStale = false;
    const ended = (state: State): LogEvent[] => {
      const present = state.people.link(link);
      const isOther = present?.revision !== link.revision || present.refreshToken !== link.refreshToken;
      isStale = !isOther && present.reading !== id;
      return isOther || isStale ? [] : [...decide(state), eventOf(link, "")];
    };
    await this.#changes.settled(await this.#write(reading, ended));
    if (isStale) throw busy();
  }

  async #write({ link, until }: OwnReading, decide: (state: State) => LogEvent[]): Promise<number> {
    for (;;) {
      try {
        return await this.#changes.issue(authorOf(link), decide);
      } catch (error) {
        const isOver = this.#now() + WRITE_AGAIN_MS >= until;
        if (isOver || !(error instanceof StatusError)) throw error;
        await sleep(WRITE_AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  /** Ends a reading without an outcome. Where this fails, other authorities wait. */
  async giveUp({ link, id }: OwnReading): Promise<void> {
    const isRunning = (state: State): boolean => state.people.link(link)?.reading === id;
    if (!isRunning(this.#changes.state)) return;
    this.#seen.set(id, Number.NEGATIVE_INFINITY);
    const ended = (state: State): LogEvent[] => (isRunning(state) ? [eventOf(link, "")] : []);
    await this.#changes.issue(authorOf(link), ended).catch(() => undefined);
  }
}

function eventOf({ namespace, issuer, subject }: Person, reading: string): LogEvent {
  return { $case: "personReading", value: { namespace, issuer, subject, reading } };
}

function authorOf({ namespace, account }: PersonLink) {
  return { namespace, account, origin: undefined };
}

function busy(): StatusError {
  return new StatusError(Code.UNAVAILABLE, "another authority asks the issuer about this person; try again");
}
