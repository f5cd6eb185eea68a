/**
 * Watches the tool lists that clients have read, and notifies a client when its list has changed.
 */
import { createHash } from "node:crypto";
import type { Admission } from "../../../src/call/admission.js";
import { listedTools, type ToolsOptions } from "./tools.js";

/** Changes within this many milliseconds are sent as one notification. */
const BATCH_MS = 50;

export interface SubscriptionsOptions extends ToolsOptions {
  readonly catalog: ToolsOptions["catalog"] & { readonly routes: { onChange(listener: () => void): void } };
  readonly guard: ToolsOptions["guard"] & { onChange(listener: () => void): void };
}

/** A client that listens for changes. */
export interface Listening {
  /** Re-authorizes the caller. @throws {Error} (rejects) if the caller may not listen any more */
  readonly admit: () => Promise<Admission>;
  /** Called when the list of the caller's tools has changed. */
  readonly onChange: () => void;
  /** Called when the caller may not listen any more. No event follows. */
  readonly onEnd: () => void;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  /** For each client, the hash of its tool list at the last check. */
  readonly #known = new Map<Listening, Promise<string>>();
  #timer: NodeJS.Timeout | undefined;
  /**
   * Whether this object listens for changes of rules and routes. It does from the first client on.
   */
  #isFollowing = false;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** @returns a function that stops the watch */
  watch(admission: Admission, listening: Listening): () => void {
    if (!this.#isFollowing) this.#follow();
    const hash = this.#hashOf(admission);
    // If it fails, the next check handles the error.
    hash.catch(() => {});
    this.#known.set(listening, hash);
    return () => void this.#known.delete(listening);
  }

  #follow(): void {
    this.#isFollowing = true;
    const checkSoon = (): void => this.#checkSoon();
    this.#options.guard.onChange(checkSoon);
    this.#options.catalog.routes.onChange(checkSoon);
  }

  #checkSoon(): void {
    if (this.#known.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      for (const listening of this.#known.keys()) void this.#check(listening);
    }, BATCH_MS);
  }

  /**
   * Checks may overlap, because the lists are made in steps. Each check compares with the one
   * before it.
   */
  async #check(listening: Listening): Promise<void> {
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
