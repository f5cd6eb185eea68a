/**
 * Explores every order in which requests for tokens, and a command that ends what they are given
 * for, can take their steps at two authorities.
 */
import { fold } from "../../../services/auth/log/state/fold.js";
import { KINDS, type Kind, type KindName, type Outcome } from "./kinds.js";
import { ENDS, type End, type EndName, SETUP } from "./setup.js";
import { entryOf, type Running, type Safeguard, stateAfter, World } from "./world.js";

export interface Race {
  readonly kind: KindName;
  /** Absent where the requests only race each other. */
  readonly end?: EndName;
  /** How many requests there are, each at the next authority. */
  readonly requests: number;
}

export interface Found {
  readonly states: number;
  /** How the requests ended where all had. */
  readonly outcomes: ReadonlySet<string>;
  /** What is wrong, and the steps that lead there. */
  readonly wrong: { readonly error: string; readonly trace: readonly string[] } | undefined;
}

const AUTHORITIES = 2;
const BEFORE = stateAfter(SETUP);

/** One run of a race, up to some step. */
class Run {
  readonly world: World;
  readonly runnings: readonly Running[];
  readonly outcomes: (Outcome | undefined)[] = [];
  isEnded = false;
  readonly #kind: Kind;
  readonly #end: End | undefined;

  constructor({ kind, end, requests }: Race, without: Safeguard | undefined) {
    const world = new World(AUTHORITIES, BEFORE, without);
    this.world = world;
    this.#kind = KINDS[kind];
    this.#end = end && ENDS[end];
    const asking = Array.from({ length: requests }, (_, index) => {
      const request = this.#kind.prepare(world.newest);
      return world.run(`request ${index}`, index % AUTHORITIES, async (changes) => {
        this.outcomes[index] = await request(changes);
      });
    });
    const command = world.run("command", requests % AUTHORITIES, async (changes) => {
      const events = this.#end?.events ?? [];
      await changes.settled(await changes.issue({ namespace: "default", account: "ann" }, () => [...events]));
      this.isEnded = true;
    });
    this.runnings = this.#end === undefined ? asking : [...asking, command];
  }

  get key(): string {
    return [this.world.key, ...this.runnings.map(({ place }) => place), JSON.stringify(this.#told())].join(" | ");
  }

  /** What each request has led to, in words. */
  #told(): string[] {
    return this.outcomes.map((outcome) => {
      if (outcome === undefined) return "";
      if (outcome.token !== undefined) return "a token";
      return outcome.wasUsed ? "was used before" : "refused";
    });
  }

  get summary(): string {
    return `${this.#told().sort()}`;
  }

  /** What is wrong now; undefined if nothing. */
  get error(): string | undefined {
    const { newest } = this.world;
    const tokens = this.outcomes.flatMap((outcome) => outcome?.token ?? []);
    const alive = (): Buffer[] => tokens.filter((token) => this.#kind.isAlive(newest, token));
    if (this.#kind.once && tokens.length > 1) return "it gave tokens twice";
    if (this.isEnded && alive().length > 0) return "a token counts after the command has returned";
    if (this.outcomes.some((outcome) => outcome?.wasUsed) && alive().length > 0)
      return "a token counts although a second use was refused";
    const isOver = this.runnings.every(({ hasEnded }) => hasEnded);
    if (!isOver) return undefined;
    if (this.#end === undefined && this.outcomes.length === 1 && alive().length === 0) return "there is no token";
    if (this.#end === undefined) return undefined;
    fold(newest, entryOf(this.#end.again));
    return alive().length > 0 ? "a token counts again when what ended is made again" : undefined;
  }
}

/** Breadth first, so that no shorter schedule leads to what is wrong. */
export async function exploreRace(race: Race, without?: Safeguard): Promise<Found> {
  const seen = new Set<string>();
  const outcomes = new Set<string>();
  let level: number[][] = [[]];
  while (level.length > 0) {
    const next: number[][] = [];
    for (const schedule of level) {
      const { run, trace } = await replay(race, without, schedule);
      const { key } = run;
      if (seen.has(key)) continue;
      seen.add(key);
      const { error } = run;
      if (error !== undefined) return { states: seen.size, outcomes, wrong: { error, trace } };
      const waiting = run.runnings.flatMap(({ hasEnded }, index) => (hasEnded ? [] : [index]));
      if (waiting.length === 0) outcomes.add(run.summary);
      for (const index of waiting) next.push([...schedule, index]);
    }
    level = next;
  }
  return { states: seen.size, outcomes, wrong: undefined };
}

async function replay(race: Race, without: Safeguard | undefined, schedule: readonly number[]) {
  const run = new Run(race, without);
  const trace: string[] = [];
  // To its first read: what it does before that changes nothing.
  for (const running of run.runnings) await running.step();
  for (const index of schedule) {
    const running = run.runnings[index]!;
    const isCommand = race.end !== undefined && index === run.runnings.length - 1;
    trace.push(`${isCommand ? "the command" : `request ${index}`}: ${running.place}`);
    await running.step();
  }
  return { run, trace };
}
