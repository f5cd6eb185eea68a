/** Watches whether the lists of tools that clients have read are still those that they would read now. */
import { createHash } from "node:crypto";
import type { Admission } from "../../../src/call/admission.js";
import { listedTools, type ToolsOptions } from "./tools.js";

/** Changes within this many milliseconds are told together. */
const TOGETHER_MS = 50;

export interface SubscriptionsOptions extends ToolsOptions {
  readonly catalog: ToolsOptions["catalog"] & { readonly routes: { onChange(listener: () => void): void } };
  readonly guard: ToolsOptions["guard"] & { onChange(listener: () => void): void };
}

/** A caller that listens. */
export interface Listening {
  /** Decides again whether the caller may listen. @throws {Error} (rejects) where it may not */
  readonly admit: () => Promise<Admission>;
  /** The list of its tools is another one. */
  readonly onChange: () => void;
  /** It may listen no more. The last event. */
  readonly onEnd: () => void;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  /** With the hash of the list that each would read, as it was looked at last. */
  readonly #known = new Map<Listening, Promise<string>>();
  #timer: NodeJS.Timeout | undefined;
  /** From the first client that listens on, changes are heard of. */
  #follows = false;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** @returns a function that ends it */
  watch(admission: Admission, listening: Listening): () => void {
    if (!this.#follows) this.#follow();
    const hash = this.#hashOf(admission);
    // The next look has its error.
    hash.catch(() => {});
    this.#known.set(listening, hash);
    return () => void this.#known.delete(listening);
  }

  #follow(): void {
    this.#follows = true;
    const lookSoon = (): void => this.#lookSoon();
    this.#options.guard.onChange(lookSoon);
    this.#options.catalog.routes.onChange(lookSoon);
  }

  #lookSoon(): void {
    if (this.#known.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      for (const listening of this.#known.keys()) void this.#look(listening);
    }, TOGETHER_MS);
  }

  /** Looks may overlap, since lists are made in turns: each is compared with the one before it. */
  async #look(listening: Listening): Promise<void> {
    const before = this.#known.get(listening);
    const now = this.#hashNow(listening);
    this.#known.set(listening, now);
    try {
      const [one, other] = await Promise.all([before, now]);
      if (one !== other && this.#known.has(listening)) listening.onChange();
    } catch {
      if (this.#known.delete(listening)) listening.onEnd();
    }
  }

  async #hashNow(listening: Listening): Promise<string> {
    return this.#hashOf(await listening.admit());
  }

  async #hashOf(admission: Admission): Promise<string> {
    const tools = await listedTools(admission, this.#options);
    return createHash("sha256").update(tools).digest("base64");
  }
}
