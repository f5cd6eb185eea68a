/**
 * The model of docs/decisions/0092-lending-of-limits.md: one bucket of a limit, the authorities
 * that lend its tokens, and the gateways that borrow them.
 *
 * Time is a number of ticks; one token is added in each. As in the model of revocation, a state has
 * only the ticks that are left, and a process may pause before each of its steps. The following of
 * the log is not modeled again: an appointment is a change of the log, so docs/revocation.md proves
 * that no gateway decides without it once it is settled.
 */
import { createHash } from "node:crypto";
import type { Model, Step } from "../explore.js";

/** How many ticks longer a loan may run by the slow clock of a gateway. */
const MARGIN = 1;

export const SAFEGUARDS = [
  "lent tokens count against the burst",
  "a loan ends at the gateway",
  "a loan counts from its request",
  "the lender's count has a margin for clocks that run at different rates",
  "a lender that starts has an empty bucket",
  "a lender that starts waits for the loans before it",
  "the bucket fills only after that wait",
  "a lender waits until its appointment is settled",
  "a gateway drops the loans of other appointments",
  "a gateway admits only in its lease",
  "a gateway takes no loan from a stream that has ended",
  "a lender takes no request from an older stream",
  "a loan is at most what the bucket holds",
  "a return adds at most what is counted as lent",
] as const;

export type Safeguard = (typeof SAFEGUARDS)[number];

/** How often each event may happen at most. */
export interface Budget {
  readonly ask?: number;
  /** Loans that a gateway returns before they are used. */
  readonly give?: number;
  /** Connections that break. */
  readonly break?: number;
  /** kill -9 of an authority, and its start. */
  readonly restart?: number;
  /** Another authority is appointed as the lender. */
  readonly appoint?: number;
}

export interface Setting {
  readonly gateways: number;
  readonly lenders: number;
  readonly burst: number;
  /** How long a loan may be used, in ticks. */
  readonly loan: number;
  /** How long the lease of a gateway runs, in ticks. */
  readonly lease: number;
  readonly budget: Budget;
}

/** What a lender has lent to a gateway and not yet been told to be used. */
interface Lent {
  amount: number;
  left: number;
}

interface Lender {
  level: number;
  /** The appointment that it lends by, or waits for; 0 for none. */
  appointment: number;
  /** Ticks until it may lend, after its start. */
  wait: number;
  isSettled: boolean;
  lent: Lent[];
}

/** A request under way to a lender, or its response. */
interface Exchange {
  lender: number;
  /** The tokens that the gateway has kept, as the request states. */
  kept: number;
  /** The unused tokens that the request returns. */
  returned: number;
  /** The ticks for which the loan could be used if it arrived now. */
  left: number;
  /** The tokens of the response; undefined while the request is under way. */
  loan: number | undefined;
  appointment: number;
  /** Whether the stream has ended since. */
  ended: boolean;
}

interface Gateway {
  tokens: number;
  /** The ticks for which the tokens may be used. */
  left: number;
  /** The last appointment that it has applied. */
  applied: number;
  lease: number;
  exchange: Exchange | undefined;
  /** A request that is still under way on a stream that has ended. */
  late: Exchange | undefined;
}

interface State {
  /** A bucket that counts what was admitted: below zero, more than burst + rate × t was. */
  meter: number;
  /** The lender of each appointment; the last one is in the log. */
  appointed: number[];
  lenders: Lender[];
  gateways: Gateway[];
  budget: Record<string, number>;
}

export function lendingModel(setting: Setting, without?: Safeguard): Model<State> {
  return {
    initial: initialState(setting),
    steps: (state) => new Steps(state, setting, without).all(),
    key: (state) => createHash("sha1").update(JSON.stringify(state)).digest("binary"),
    error: ({ meter }) => (meter < 0 ? "more was admitted than burst + rate × t" : undefined),
  };
}

function initialState({ gateways, lenders, burst, lease, budget }: Setting): State {
  const idle = { appointment: 0, wait: 0, isSettled: false };
  const lent = () => Array.from({ length: gateways }, () => ({ amount: 0, left: 0 }));
  return {
    meter: burst,
    appointed: [0],
    lenders: Array.from({ length: lenders }, (_, index) => ({
      ...(index === 0 ? { appointment: 1, wait: 0, isSettled: true } : idle),
      ...{ level: index === 0 ? burst : 0, lent: lent() },
    })),
    gateways: Array.from({ length: gateways }, () => ({
      ...{ tokens: 0, left: 0, applied: 1, lease, exchange: undefined, late: undefined },
    })),
    budget: { ...budget },
  };
}

class Steps {
  readonly #found: Step<State>[] = [];
  readonly #state: State;
  readonly #setting: Setting;
  readonly #without: Safeguard | undefined;

  constructor(state: State, setting: Setting, without: Safeguard | undefined) {
    this.#state = state;
    this.#setting = setting;
    this.#without = without;
  }

  all(): Step<State>[] {
    for (const index of this.#state.gateways.keys()) this.#gateway(index);
    for (const index of this.#state.lenders.keys()) this.#lender(index);
    this.#appoint();
    this.#add("a tick passes", (next) => this.#tick(next));
    return this.#found;
  }

  #has(safeguard: Safeguard): boolean {
    return this.#without !== safeguard;
  }

  #add(label: string, act: (next: State) => void): void {
    const next = clone(this.#state);
    act(next);
    this.#found.push([label, next]);
  }

  #event(kind: keyof Budget, label: string, act: (next: State) => void): void {
    const left = this.#state.budget[kind] ?? 0;
    if (left === 0) return;
    this.#add(label, (next) => {
      next.budget[kind] = left - 1;
      act(next);
    });
  }

  #gateway(index: number): void {
    const { tokens, left, lease, applied, exchange } = at(this.#state.gateways, index);
    const newest = this.#state.appointed.length;
    const inLease = lease > 0 || !this.#has("a gateway admits only in its lease");
    const inLoan = left > 0 || !this.#has("a loan ends at the gateway");
    if (tokens > 0 && inLease && inLoan) {
      this.#add(`gateway ${index} admits a call`, (next) => {
        at(next.gateways, index).tokens--;
        next.meter--;
      });
    }
    // A pong names the newest revision, and counts once the gateway has applied it.
    if (applied === newest && lease < this.#setting.lease) {
      this.#add(`gateway ${index} renews its lease`, (next) => {
        at(next.gateways, index).lease = this.#setting.lease;
      });
    }
    if (applied < newest) {
      this.#add(`gateway ${index} applies the appointment`, (next) => {
        const own = at(next.gateways, index);
        own.applied = newest;
        if (!this.#has("a gateway drops the loans of other appointments")) return;
        own.tokens = 0;
        own.exchange = undefined;
      });
    }
    if (exchange === undefined) this.#ask(index);
    else this.#exchange(index, exchange);
  }

  #ask(index: number): void {
    const { tokens, applied } = at(this.#state.gateways, index);
    const lender = at(this.#state.appointed, applied - 1);
    const send = (kept: number, returned: number) => (next: State) => {
      const own = at(next.gateways, index);
      own.tokens = kept;
      own.exchange = {
        ...{ lender, kept, returned, left: this.#setting.loan + MARGIN },
        ...{ loan: undefined, appointment: applied, ended: false },
      };
    };
    this.#event("ask", `gateway ${index} asks lender ${lender}, and has ${tokens}`, send(tokens, 0));
    if (tokens > 0) this.#event("give", `gateway ${index} returns ${tokens} to lender ${lender}`, send(0, tokens));
  }

  #exchange(index: number, { loan, ended, left, lender }: Exchange): void {
    if (!ended) {
      this.#event("break", `the stream of gateway ${index} to lender ${lender} ends`, (next) => {
        const own = at(next.gateways, index);
        // The lender would take a request under way after requests of the next stream.
        if (loan === undefined && !this.#has("a lender takes no request from an older stream")) own.late = own.exchange;
        // A request under way is lost. A response may be buffered at the gateway.
        if (own.exchange?.loan === undefined || this.#has("a gateway takes no loan from a stream that has ended"))
          own.exchange = undefined;
        else own.exchange.ended = true;
      });
    }
    if (loan === undefined) return;
    this.#add(`gateway ${index} receives a loan of ${loan}`, (next) => {
      const own = at(next.gateways, index);
      own.exchange = undefined;
      const granted = this.#has("a loan counts from its request") ? left : this.#setting.loan + MARGIN;
      if (granted === 0 && this.#has("a loan ends at the gateway")) return;
      own.tokens += loan;
      own.left = granted;
    });
    // Only without the safeguard: the next stream begins while the response is still buffered.
    if (ended) this.#askAgain(index);
  }

  /** On the next stream, while the response of the one before is still buffered. */
  #askAgain(index: number): void {
    const { tokens, exchange } = at(this.#state.gateways, index);
    const lender = exchange?.lender ?? 0;
    this.#event("ask", `gateway ${index} tells lender ${lender} on a new stream that it has ${tokens}`, (next) => {
      const { lent } = at(next.lenders, lender);
      lent[index] = { amount: tokens, left: this.#setting.loan + MARGIN };
    });
  }

  #lender(index: number): void {
    const lender = at(this.#state.lenders, index);
    const newest = this.#state.appointed.length;
    const mayLend = lender.appointment > 0 && lender.isSettled && lender.wait === 0;
    for (const [number, { exchange, late }] of this.#state.gateways.entries()) {
      if (late?.lender === index && late.appointment === lender.appointment) this.#takeLate(index, number, late);
      if (exchange?.lender !== index || exchange.loan !== undefined) continue;
      const isOwn = exchange.appointment === lender.appointment;
      const held = this.#has("a loan is at most what the bucket holds") ? lender.level : this.#setting.burst;
      const most = mayLend && isOwn ? held : 0;
      for (let loan = 0; loan <= most; loan++) this.#lend(index, number, loan, mayLend && isOwn);
    }
    if (lender.appointment < newest) {
      this.#add(`lender ${index} reads the appointment`, (next) => {
        const own = at(next.lenders, index);
        const isNew = at(next.appointed, newest - 1) === index;
        own.lent = own.lent.map(() => ({ amount: 0, left: 0 }));
        own.appointment = newest;
        own.isSettled = !isNew || !this.#has("a lender waits until its appointment is settled");
        own.level = isNew && !this.#has("a lender that starts has an empty bucket") ? this.#setting.burst : 0;
      });
    } else if (lender.appointment > 0 && !lender.isSettled && this.#settles(newest)) {
      this.#add(`lender ${index} sees that its appointment is settled`, (next) => {
        at(next.lenders, index).isSettled = true;
      });
    }
    if (at(this.#state.appointed, newest - 1) === index && lender.appointment === newest) this.#restart(index);
  }

  /** The lender is killed and starts again, and knows nothing of its loans. */
  #restart(index: number): void {
    this.#event("restart", `lender ${index} is killed, and starts`, (next) => {
      const own = at(next.lenders, index);
      own.level = this.#has("a lender that starts has an empty bucket") ? 0 : this.#setting.burst;
      own.wait = this.#has("a lender that starts waits for the loans before it") ? this.#span : 0;
      own.lent = own.lent.map(() => ({ amount: 0, left: 0 }));
      for (const gateway of next.gateways) {
        if (gateway.exchange?.lender === index && gateway.exchange.loan === undefined) gateway.exchange = undefined;
      }
    });
  }

  /** Only without the safeguard: the loan is lost with the stream, but what is kept is counted. */
  #takeLate(index: number, gateway: number, { kept, returned }: Exchange): void {
    this.#add(`lender ${index} takes the late request of gateway ${gateway}`, (next) => {
      const own = at(next.lenders, index);
      at(next.gateways, gateway).late = undefined;
      own.level += Math.min(returned, at(own.lent, gateway).amount);
      own.lent[gateway] = { amount: kept, left: this.#span };
    });
  }

  #lend(index: number, gateway: number, loan: number, counts: boolean): void {
    this.#add(`lender ${index} lends ${loan} to gateway ${gateway}`, (next) => {
      const own = at(next.lenders, index);
      const { exchange } = at(next.gateways, gateway);
      if (exchange === undefined) return;
      exchange.loan = loan;
      if (!counts) return;
      const { amount } = at(own.lent, gateway);
      const isCounted = this.#has("a return adds at most what is counted as lent");
      const returned = isCounted ? Math.min(exchange.returned, amount) : exchange.returned;
      own.level = own.level + returned - loan;
      own.lent[gateway] = { amount: exchange.kept + loan, left: this.#span };
      if (this.#has("a loan is at most what the bucket holds")) return;
      own.level = Math.max(0, own.level);
    });
  }

  /** How long a lender counts a loan. */
  get #span(): number {
    const isSafe = this.#has("the lender's count has a margin for clocks that run at different rates");
    return this.#setting.loan + (isSafe ? MARGIN : 0);
  }

  #settles(appointment: number): boolean {
    return this.#state.gateways.every(({ applied, lease }) => applied >= appointment || lease === 0);
  }

  #appoint(): void {
    const { appointed, lenders } = this.#state;
    const next = (at(appointed, appointed.length - 1) + 1) % lenders.length;
    this.#event("appoint", `lender ${next} is appointed`, (state) => {
      state.appointed.push(next);
    });
  }

  #tick(next: State): void {
    const less = (ticks: number) => Math.max(0, ticks - 1);
    const { burst } = this.#setting;
    next.meter = Math.min(burst, next.meter + 1);
    for (const lender of next.lenders) {
      const isFilling = lender.isSettled && (lender.wait === 0 || !this.#has("the bucket fills only after that wait"));
      for (const lent of lender.lent) {
        lent.left = less(lent.left);
        if (lent.left === 0) lent.amount = 0;
      }
      const lent = lender.lent.reduce((sum, { amount }) => sum + amount, 0);
      const most = this.#has("lent tokens count against the burst") ? burst - lent : burst;
      if (isFilling && lender.appointment > 0) lender.level = Math.min(most, lender.level + 1);
      lender.wait = less(lender.wait);
    }
    for (const gateway of next.gateways) {
      gateway.left = less(gateway.left);
      gateway.lease = less(gateway.lease);
      if (gateway.exchange !== undefined) gateway.exchange.left = less(gateway.exchange.left);
      if (gateway.late !== undefined) gateway.late.left = less(gateway.late.left);
      if (gateway.left === 0 && this.#has("a loan ends at the gateway")) gateway.tokens = 0;
    }
  }
}

/** By hand, because structuredClone takes ten times as long. */
function clone({ meter, appointed, lenders, gateways, budget }: State): State {
  return {
    meter,
    appointed: [...appointed],
    lenders: lenders.map((lender) => ({ ...lender, lent: lender.lent.map((lent) => ({ ...lent })) })),
    gateways: gateways.map((own) => ({
      ...own,
      exchange: own.exchange && { ...own.exchange },
      late: own.late && { ...own.late },
    })),
    budget: { ...budget },
  };
}

function at<T>(list: readonly T[], index: number): T {
  return list[index] as T;
}
