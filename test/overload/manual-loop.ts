/** An event loop that a test controls. */
import { type CallQueue, MAX_TURN_MS, MAX_UNTIMED } from "../../src/overload/call-queue.js";

export class ManualLoop {
  milliseconds = 0;
  #atTurnEnd: (() => void)[] = [];
  #afterMicrotasks: (() => void)[] = [];

  readonly now = (): number => this.milliseconds;

  atTurnEnd(callback: () => void): void {
    this.#atTurnEnd.push(callback);
  }

  afterMicrotasks(callback: () => void): void {
    this.#afterMicrotasks.push(callback);
  }

  /** Ends the turn. What calls back afterwards does so before this function returns. */
  turn(): void {
    for (const callback of this.#atTurnEnd.splice(0)) callback();
    while (this.#afterMicrotasks.length > 0) for (const callback of this.#afterMicrotasks.splice(0)) callback();
  }

  /** Whether no callback is pending. */
  get isIdle(): boolean {
    return this.#atTurnEnd.length === 0;
  }
}

/** Runs a turn in which calls of a group take so much time that all other calls have to wait. */
export function fillTurn(callQueue: CallQueue, loop: ManualLoop, group = "a"): void {
  for (let call = 0; call < MAX_UNTIMED; call++) callQueue.mayBegin();
  callQueue.mayBegin();
  callQueue.tryBegin(group);
  loop.milliseconds += MAX_TURN_MS;
}
