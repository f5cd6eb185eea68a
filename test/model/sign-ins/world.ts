/**
 * Authorities on one log. Requests run the real code of an authority step by step: each stops
 * before it reads or writes the log, and a schedule says which one goes on.
 *
 * A change is made as by Journal.commit. It is decided on the state that its authority has read,
 * and written if that is still the newest. Otherwise the authority reads on, and decides again.
 */
import type { Changes } from "../../../services/auth/log/changelog/changes.js";
import { type Decide, decideInOrder, type LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { fold } from "../../../services/auth/log/state/fold.js";
import { State } from "../../../services/auth/log/state/state.js";
import type { Entry } from "../../../src/gen/portico/auth/log/v1/log.js";
import { toTimestamp } from "../../../src/time.js";

export const NOW = 1_800_000_000_000;
const CLOCK = { now: () => NOW, check: () => undefined };
const AUTHOR = { namespace: "default", account: "ann" };

/** What can be removed from the protocol. */
export const SAFEGUARDS = [
  "an entry is written only after the newest one",
  "a change is decided again where another authority wrote first",
] as const;
export type Safeguard = (typeof SAFEGUARDS)[number];

/** The state after an entry with the events. */
export function stateAfter(events: readonly LogEvent[]): State {
  const state = new State();
  fold(state, entryOf(events));
  return state;
}

export function entryOf(events: readonly LogEvent[]): Entry {
  return {
    ...{ time: toTimestamp(NOW), actor: AUTHOR.account, namespace: AUTHOR.namespace },
    events: events.map((event) => ({ event })),
  };
}

interface Authority {
  readonly state: State;
  /** How many entries of the log it has applied. */
  read: number;
}

/** A request that runs at an authority. */
export interface Running {
  /** Goes on to its next stop. @returns whether it has ended */
  step(): Promise<boolean>;
  readonly hasEnded: boolean;
  /** What it waits for; the same text for the same place. */
  readonly place: string;
}

export class World {
  readonly log: { readonly entry: Entry; readonly by: string }[] = [];
  readonly #authorities: readonly Authority[];
  /** Reads every entry at once: what a guard is told that asks for a caller now. */
  readonly newest: State;
  readonly #without: Safeguard | undefined;

  /** @param before the state before all requests, which does not change; every authority has it */
  constructor(authorities: number, before: State, without?: Safeguard) {
    this.#without = without;
    this.newest = before.draft();
    this.#authorities = Array.from({ length: authorities }, () => ({ state: before.draft(), read: 0 }));
  }

  /** The text is the same for worlds that cannot be told apart. */
  get key(): string {
    const written = this.log.map(({ entry, by }) => `${by}:${entry.events.map(({ event }) => event?.$case)}`);
    return `${written} ${this.#authorities.map(({ read }) => read)}`;
  }

  #write(entry: Entry, by: string): void {
    this.log.push({ entry, by });
    fold(this.newest, entry);
  }

  #readLog(authority: Authority): void {
    while (authority.read < this.log.length) fold(authority.state, this.log[authority.read++]!.entry);
  }

  /** Starts a request at an authority. It stops before its first step. */
  run(name: string, at: number, request: (changes: Changes) => Promise<void>): Running {
    const stops = new Stops();
    const authority = this.#authorities[at]!;
    const { state } = authority;
    const changes = {
      state,
      now: NOW,
      sync: async () => {
        await stops.at("reads");
        this.#readLog(authority);
      },
      issue: (_: unknown, decide: Decide) => this.#commit({ name, authority, stops, decide }),
      settled: () => stops.at("waits for the guards"),
      checkRestriction: async () => undefined,
    };
    return stops.run(() => request(changes as unknown as Changes));
  }

  async #commit({ name, authority, stops, decide }: Committing): Promise<number> {
    let entry: Entry | undefined;
    for (let attempt = 0; ; attempt++) {
      await stops.at(`decides, attempt ${attempt}`);
      const { read } = authority;
      const isKept = attempt > 0 && this.#without === "a change is decided again where another authority wrote first";
      const [decision] = isKept ? [{ entry }] : decideInOrder(authority.state, [{ author: AUTHOR, decide }], CLOCK);
      const isRefused = decision === undefined || "refusal" in decision;
      entry = isRefused ? undefined : decision.entry;
      await stops.at(`${entry === undefined ? "reads before it gives up" : "writes"}, attempt ${attempt}`);
      const isNewest = this.log.length === read || this.#without === "an entry is written only after the newest one";
      if (entry === undefined || !isNewest) this.#readLog(authority);
      if (entry === undefined && authority.read !== read) continue;
      if (isRefused) throw (decision as { refusal: unknown }).refusal;
      if (entry !== undefined && !isNewest) continue;
      if (entry !== undefined) this.#write(entry, name);
      this.#readLog(authority);
      return this.log.length;
    }
  }
}

interface Committing {
  readonly name: string;
  readonly authority: Authority;
  readonly stops: Stops;
  readonly decide: Decide;
}

/** The places where a request stops until it is told to go on. */
class Stops {
  #place = "";
  #goOn: () => void = () => undefined;
  #stopped: () => void = () => undefined;

  at(place: string): Promise<void> {
    this.#place = place;
    const told = new Promise<void>((resolve) => {
      this.#goOn = resolve;
    });
    this.#stopped();
    return told;
  }

  run(request: () => Promise<void>): Running {
    const self = this;
    let hasEnded = false;
    const ended = this.at("begins")
      .then(request)
      .then(() => {
        hasEnded = true;
        this.#place = "has ended";
      });
    return {
      get hasEnded() {
        return hasEnded;
      },
      get place() {
        return self.#place;
      },
      step: async () => {
        const stopped = new Promise<void>((resolve) => {
          this.#stopped = resolve;
        });
        this.#goOn();
        await Promise.race([stopped, ended]);
        return hasEnded;
      },
    };
  }
}
