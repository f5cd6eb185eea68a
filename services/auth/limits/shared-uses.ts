/**
 * What all authorities together know of the use of limits. Each one knows what it lends and what
 * was refused by its word. An authority that is asked asks the others through their store:
 *
 *     uses/question/<asking lender>/<number>            what is asked
 *     uses/response/<asking lender>/<number>/<lender>   what one of the others knows
 *
 * The store tells the others of a row; one that does not respond within a second is left out. The
 * rows are deleted then, and expire where that fails. Each authority has one question at a time:
 * what is asked meanwhile is the next one, so that many requests cost the store little.
 */
import type { Logger } from "pino";
import { budgetKey, lenderOf } from "../../../src/limits/lenders.js";
import type { RevisedLimit } from "../../../src/limits/limit-set.js";
import type { KeyValueStore, StoredWrite } from "../../../src/store/store.js";
import type { Journal } from "../log/changelog/journal.js";
import { News } from "../log/news.js";
import type { Lender } from "./lender.js";
import type { Left, LimitUses, RefusedCalls } from "./uses.js";

/** How long the others have, and how often their responses are read, in milliseconds. */
const WAIT_MS = 1_000;
const LOOK_MS = 100;
/** When rows that were not deleted expire, in milliseconds. */
const EXPIRE_MS = 10_000;
const MAX_QUESTIONS = 100;
const QUESTIONS = "uses/question/";

interface Options {
  readonly lender: Lender;
  readonly journal: Pick<Journal, "state" | "now">;
  readonly store: Pick<KeyValueStore, "commit" | "get" | "range" | "follow">;
  readonly log: Logger;
}

/** One thing that is asked: what is left for a subject, or without one how many were refused. */
interface Item {
  readonly namespace: string;
  readonly limit: string;
  readonly subject?: string;
}

/** What one lender knows of an item. */
interface Known {
  readonly left?: Left;
  readonly refused?: RefusedCalls;
}

/** A question, to which items are added until it is sent. */
interface Question {
  readonly items: Item[];
  /** For each of the others that responds, what it knows of each item. */
  readonly responses: Promise<readonly (readonly Known[])[]>;
}

export class SharedUses implements LimitUses {
  readonly #options: Options;
  readonly #unfollow: () => void;
  /** The questions that were responded to, by their keys. */
  #seen = new Set<string>();
  readonly #news = new News();
  #asking: Question | undefined;
  /** Settles when the question that was sent last has its responses. */
  #sent: Promise<unknown> = Promise.resolve();
  #number = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#unfollow = options.store.follow("uses", () => {
      this.#news.tell();
      this.#respond().catch((err) => options.log.debug({ err }, "another authority's question was not read"));
    });
  }

  close(): void {
    this.#unfollow();
    this.#news.tell();
  }

  async refusedOf(namespace: string, limit: string): Promise<RefusedCalls> {
    const own = this.#options.lender.refusedOf(namespace, limit);
    const others = (await this.#ask({ namespace, limit })).flatMap(({ refused }) => refused ?? []);
    const all = [own, ...others];
    return {
      refused: all.reduce((sum, { refused }) => sum + refused, 0),
      since: Math.min(...all.map(({ since }) => since)),
    };
  }

  async left(namespace: string, revised: Pick<RevisedLimit, "limit">, subject: string): Promise<Left> {
    const { lender } = this.#options;
    const limit = revised.limit.id;
    const own = await lender.left(namespace, revised, subject);
    if (lenderOf(budgetKey(namespace, limit, subject), this.#lenders) === lender.id) return own;
    const found = (await this.#ask({ namespace, limit, subject })).map(({ left }) => left);
    return found.find((left) => left?.rate !== undefined || left?.concurrent !== undefined) ?? own;
  }

  get #lenders(): readonly string[] {
    return this.#options.journal.state.limits.lenders.ids;
  }

  get #others(): readonly string[] {
    return this.#lenders.filter((id) => id !== this.#options.lender.id);
  }

  /** What the others know of the item. */
  async #ask(item: Item): Promise<readonly Known[]> {
    if (this.#others.length === 0) return [];
    this.#asking ??= this.#begin();
    const { items, responses } = this.#asking;
    const place = items.push(item) - 1;
    return (await responses).flatMap((response) => response[place] ?? []);
  }

  #begin(): Question {
    const items: Item[] = [];
    // Items of one turn of the event loop are one question, too.
    const turn = this.#sent.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
    const responses = turn.then(async () => {
      this.#asking = undefined;
      try {
        return await this.#responses(items);
      } catch (err) {
        this.#options.log.debug({ err }, "the other authorities could not be asked for the use of limits");
        return [];
      }
    });
    this.#sent = responses;
    return { items, responses };
  }

  async #responses(items: readonly Item[]): Promise<readonly (readonly Known[])[]> {
    const { lender, store } = this.#options;
    const name = `${lender.id}/${this.#number++}`;
    const keys = this.#others.map((id) => `uses/response/${name}/${id}`);
    const end = performance.now() + WAIT_MS;
    await this.#set(QUESTIONS + name, items);
    try {
      for (;;) {
        const rows = (await store.get(keys)).filter((row) => row !== undefined);
        if (rows.length === keys.length || performance.now() >= end) {
          return rows.map(({ value }) => JSON.parse(value) as Known[]);
        }
        await this.#news.next(LOOK_MS);
      }
    } finally {
      const writes = [QUESTIONS + name, ...keys].map((key): StoredWrite => ({ kind: "delete", key }));
      await store.commit(writes, { durable: false });
    }
  }

  /** Responds to the questions of the others. */
  async #respond(): Promise<void> {
    const { lender, store } = this.#options;
    const { entries } = await store.range({ from: QUESTIONS, to: `${QUESTIONS}~`, limit: MAX_QUESTIONS });
    const seen = this.#seen;
    this.#seen = new Set(entries.map(({ key }) => key));
    for (const { key, value } of entries) {
      const name = key.slice(QUESTIONS.length);
      if (seen.has(key) || name.startsWith(`${lender.id}/`)) continue;
      const known = await Promise.all((JSON.parse(value) as Item[]).map((item) => this.#known(item)));
      await this.#set(`uses/response/${name}/${lender.id}`, known);
    }
  }

  async #known({ namespace, limit, subject }: Item): Promise<Known> {
    const { lender, journal } = this.#options;
    if (subject === undefined) return { refused: lender.refusedOf(namespace, limit) };
    const revised = journal.state.limits.get(namespace, limit);
    return revised === undefined ? {} : { left: await lender.left(namespace, revised, subject) };
  }

  async #set(key: string, value: unknown): Promise<void> {
    const expires = this.#options.journal.now + EXPIRE_MS;
    await this.#options.store.commit([{ kind: "set", key, value: JSON.stringify(value), expires }], {
      durable: false,
    });
  }
}
