import { useEffect, useRef, useState } from "preact/hooks";
import { checkSession } from "../session/session.js";
import { adviceFor } from "./advice.js";
import { type Entry, type Exchange, NEW_EXCHANGE, withEntries } from "./call-progress.js";
import type { Refusal } from "./http-call.js";

/**
 * An exchange that is drawn as it goes on. Messages may come faster than a page is drawn, so those that come between
 * two drawings are added together.
 */
export function useExchange() {
  const [exchange, setExchange] = useState<Exchange>();
  const live = useRef<Live | undefined>(undefined);
  useEffect(() => () => live.current?.stop(), []);
  const begin = (): Live => {
    live.current?.stop();
    const begun = new Live(setExchange);
    live.current = begun;
    return begun;
  };
  return { exchange, begin };
}

export class Live {
  readonly #show: (exchange: Exchange) => void;
  readonly #started = performance.now();
  #exchange = NEW_EXCHANGE;
  #waiting: Omit<Entry, "id">[] = [];
  #frame: number | undefined;
  #stopped = false;

  constructor(show: (exchange: Exchange) => void) {
    this.#show = show;
    show(NEW_EXCHANGE);
  }

  get isOpen(): boolean {
    return !this.#stopped && this.#exchange.state === "open";
  }

  add(text: string, sent = false): void {
    this.#waiting.push({ at: performance.now() - this.#started, text, sent });
    this.#frame ??= requestAnimationFrame(() => this.change({}));
  }

  change(change: Partial<Exchange>): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#exchange = { ...withEntries(this.#exchange, this.#waiting), ...change };
    this.#waiting = [];
    if (!this.#stopped) this.#show(this.#exchange);
  }

  /** @param withToken whether it was called with one: who calls may have chosen otherwise since. */
  fail({ status, detail }: Refusal, withToken: boolean): void {
    this.change({ state: "failed", fault: { status, detail, advice: adviceFor(status, detail, withToken) } });
    // By the rules or because the token is none any more: only the authority can say.
    if (status === 401 && withToken) checkSession();
  }

  /** Nothing of it is shown any more. */
  stop(): void {
    this.#stopped = true;
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }
}
