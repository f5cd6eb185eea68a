/**
 * Counts the calls that this process admits against the limits that match them (docs/limits.md).
 *
 * Where tokens are here, a call takes one of each limit, and waits for nothing. Otherwise it waits
 * for one request to the limit's lender. Where the lender has said that there are none, calls are
 * refused at once, until then.
 */
import { type Admission, authorityUnreachable } from "../call/admission.js";
import { type CountedCall, type LimitedCall, type LimitState, limited } from "../call/limited-call.js";
import { Code, StatusError, withoutStack } from "../errors.js";
import { Budget } from "../gen/portico/auth/v1/lending.js";
import { type Moment, now } from "../moment.js";
import { budgetKey, lenderOf } from "./lenders.js";
import type { LoanStream } from "./loan-stream.js";
import { LoanStreams, type LoanStreamsOptions } from "./loan-streams.js";
import type { Pool } from "./pool.js";
import { type LimitPolicy, Pools } from "./pools.js";
import { refusalInWords } from "./words.js";

/** How long a call waits for tokens, in milliseconds. */
const WAIT_MS = 1_500;
/** Most calls that wait at once. */
const MAX_WAITING = 10_000;
/** How often unused tokens are returned, and loans renewed, in milliseconds. */
const TEND_MS = 125;

interface Options extends Pick<LoanStreamsOptions, "authorities" | "call"> {
  readonly policy: () => LimitPolicy;
  /** Whether decisions may be made now. */
  readonly hasLease: () => boolean;
}

export class Limiter {
  readonly #options: Options;
  readonly #pools = new Pools();
  readonly #streams: LoanStreams;
  /** The pools that the next request to each lender contains. */
  readonly #due = new Map<string, Set<Pool>>();
  /** The pools of the request under way to each lender. */
  readonly #underWay = new Map<string, readonly Pool[]>();
  /** For each call that waits, what makes it look again. */
  readonly #waits = new Set<() => void>();
  #waitingCalls = 0;
  #isTurnOpen = false;
  #appointment = -1n;
  #tending: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#streams = new LoanStreams({
      authorities: options.authorities,
      call: options.call,
      onReady: (stream, isNew) => this.#onReady(stream, isNew),
      onEnd: (lender) => this.#onEnd(lender),
    });
  }

  /** As Guard.count. */
  count(admission: Admission, call: CountedCall): LimitedCall | Promise<LimitedCall> | undefined {
    const pools = this.#pools.of(this.#options.policy(), admission, call);
    if (pools === undefined) return undefined;
    const slots: Pool[] = [];
    if (this.#takeNow(pools, slots)) return new Counted(this, { admission, call, pools, slots });
    const taken = this.#waitAndTake(() => this.#pools.of(this.#options.policy(), admission, call) ?? NONE, slots);
    return taken.then((found) => new Counted(this, { admission, call, pools: found, slots }));
  }

  /** Counts one more message of a call. @throws {LimitedError} (or rejects with one) */
  countMessage(admission: Admission, call: CountedCall): void | Promise<void> {
    // Looked up again, because limits may have changed since the call was opened.
    const find = (): readonly Pool[] => {
      const pools = this.#pools.of(this.#options.policy(), admission, call) ?? NONE;
      return pools.filter(({ budget }) => budget !== Budget.CONCURRENT);
    };
    const pools = find();
    if (pools.length === 0 || this.#takeNow(pools, NO_SLOTS)) return;
    return this.#waitAndTake(find, NO_SLOTS).then(() => undefined);
  }

  /**
   * The policy has changed. Tokens of a former lender may not be used any more. Tokens of a changed
   * limit cannot be used, because a call looks up the limit as it is. A call that waits does so
   * again.
   */
  onChange(): void {
    for (const wake of [...this.#waits]) wake();
    const { lenders } = this.#options.policy();
    if (lenders.revision === this.#appointment) return;
    this.#appointment = lenders.revision;
    this.#due.clear();
    for (const pool of this.#pools) {
      const { namespace, limit, subject } = pool;
      pool.changeLender(lenderOf(budgetKey(namespace, limit.id, subject), lenders.ids));
      if (pool.isNeeded) this.#ask(pool);
    }
  }

  close(): void {
    clearInterval(this.#tending);
    this.#streams.close();
    for (const pool of this.#pools) pool.close();
  }

  /**
   * Takes a token of each pool, or of none.
   * @param slots gets the pools whose slots were taken
   * @param began when the call began to wait: it is refused where its lender has said since that
   * there are no tokens, also if this process was too busy to see that before there may be some
   * @returns whether all tokens were here
   * @throws {StatusError} LimitedError; UNAVAILABLE if no lease runs
   */
  #takeNow(pools: readonly Pool[], slots: Pool[], began = Number.POSITIVE_INFINITY): boolean {
    if (!this.#options.hasLease()) throw authorityUnreachable();
    const at = now();
    const { monotonic } = at;
    let lacks = false;
    let empty: Pool | undefined;
    for (const pool of pools) {
      if (pool.limit.shadow || pool.has(at)) continue;
      lacks = true;
      const isLonger = empty === undefined || pool.retryAfter(monotonic) > empty.retryAfter(monotonic);
      if ((pool.isEmpty(monotonic) || pool.emptySince(began)) && isLonger) empty = pool;
    }
    if (empty !== undefined) throw this.#refusal(empty, monotonic);
    if (lacks) return false;
    for (const pool of pools) this.#takeOne(pool, slots, at);
    return true;
  }

  #takeOne(pool: Pool, slots: Pool[], at: Moment): void {
    if (pool.has(at)) {
      if (pool.budget === Budget.CONCURRENT) slots.push(pool);
      if (pool.take(at.monotonic)) this.#ask(pool);
      return;
    }
    // Only a shadow can lack a token here.
    pool.called(at.monotonic);
    if (pool.isEmpty(at.monotonic)) pool.refuse();
    else {
      pool.owe();
      this.#ask(pool);
    }
  }

  #refusal(pool: Pool, monotonic: number): StatusError {
    pool.called(monotonic);
    pool.refuse();
    const { limit, budget, subject } = pool;
    return limited(refusalInWords(limit, budget, subject), pool.state(monotonic), pool.retryAfter(monotonic));
  }

  /**
   * @param find the pools that count the call, by the limits as they are
   * @returns the pools whose tokens were taken
   * @throws {StatusError} (rejects) as `#takeNow`; UNAVAILABLE if the lender does not respond
   */
  async #waitAndTake(find: () => readonly Pool[], slots: Pool[]): Promise<readonly Pool[]> {
    const began = performance.now();
    let pools = find();
    if (this.#waitingCalls >= MAX_WAITING) throw notCounted(pools, "too many calls wait for that");
    const deadline = began + WAIT_MS;
    this.#waitingCalls++;
    try {
      do {
        await this.#response(lackingOf(pools), deadline);
        pools = find();
        if (this.#takeNow(pools, slots, began)) return pools;
      } while (performance.now() < deadline);
      const lacking = lackingOf(pools);
      // A lender that has responded, but too late for its loan to be used, can be reached.
      const late = lacking[0];
      if (late !== undefined && lacking.every((pool) => pool.heardSince(began))) {
        throw this.#refusal(late, performance.now());
      }
      throw notCounted(pools, "their authority does not respond");
    } finally {
      this.#waitingCalls--;
    }
  }

  /** Asks for tokens of the pools. Resolves at the next response, or when limits have changed. */
  async #response(pools: readonly Pool[], deadline: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waits.delete(done);
        for (const pool of pools) pool.waiting.delete(done);
        resolve();
      };
      // Where this process was busy until then, a response that has arrived is received first.
      const timer = setTimeout(() => setImmediate(done), Math.max(0, deadline - performance.now()));
      this.#waits.add(done);
      for (const pool of pools) {
        pool.waiting.add(done);
        this.#ask(pool);
      }
      if (pools.length === 0) done();
    });
  }

  /** Adds the pool to the next request to its lender. */
  #ask(pool: Pool): void {
    if (pool.asked) return;
    const due = this.#due.get(pool.lender) ?? new Set();
    this.#due.set(pool.lender, due.add(pool));
    this.#tending ??= setInterval(() => this.#tend(), TEND_MS).unref();
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    setImmediate(() => {
      this.#isTurnOpen = false;
      for (const lender of [...this.#due.keys()]) this.#send(lender, this.#streams.to(lender));
    });
  }

  #send(lender: string, stream: LoanStream | undefined): void {
    const due = this.#due.get(lender);
    if (due === undefined || due.size === 0 || stream?.isReady !== true) return;
    const at = now();
    const pools = [...due].slice(0, MAX_NEEDS);
    for (const pool of pools) {
      due.delete(pool);
      pool.asked = true;
    }
    this.#underWay.set(lender, pools);
    const asked = pools.map((pool) => ({ need: pool.need(at), epoch: pool.epoch }));
    const { revision } = this.#options.policy().lenders;
    stream.send(
      revision,
      asked.map(({ need }) => need),
      (loans, sent) => {
        this.#underWay.delete(lender);
        for (const [index, pool] of pools.entries()) {
          pool.asked = false;
          const loan = loans[index]!;
          if (!loan.other) pool.reported();
          if (pool.epoch !== asked[index]?.epoch) this.#askIfNeeded(pool);
          else this.#receive(pool, pool.receive(loan, sent, now()), loan.other);
        }
      },
    );
  }

  #receive(pool: Pool, retry: number, isOther: boolean): void {
    if (retry > 0) pool.later(retry, () => this.#askIfNeeded(pool));
    if (!isOther) for (const wake of [...pool.waiting]) wake();
  }

  #askIfNeeded(pool: Pool): void {
    if (pool.isNeeded || pool.wasCalled) this.#ask(pool);
  }

  #onReady(stream: LoanStream, isNew: boolean): void {
    const { lender = "" } = stream;
    // A lender that has started anew does not know what is kept here.
    if (isNew) for (const pool of this.#pools) if (pool.lender === lender && pool.holds) this.#ask(pool);
    this.#send(lender, stream);
  }

  #onEnd(lender: string): void {
    const pools = this.#underWay.get(lender) ?? [];
    this.#underWay.delete(lender);
    for (const pool of pools) {
      pool.asked = false;
      this.#askIfNeeded(pool);
    }
  }

  #tend(): void {
    const at = now();
    for (const pool of this.#pools) if (pool.tend(at)) this.#ask(pool);
    this.#pools.forget(at.monotonic);
    if (this.#pools.size > 0) return;
    clearInterval(this.#tending);
    this.#tending = undefined;
  }
}

/** Most pools in one request. */
const MAX_NEEDS = 1_000;

/** Those without which a call cannot be admitted now. */
function lackingOf(pools: readonly Pool[]): readonly Pool[] {
  return pools.filter((pool) => !pool.limit.shadow && !pool.has(now()));
}

function notCounted(pools: readonly Pool[], why: string): StatusError {
  const ids = [...new Set(pools.map(({ limit }) => limit.id))].join(", ");
  const message = `The call cannot be counted by the limits that match it (${ids}): ${why}; try again`;
  return withoutStack(() => new StatusError(Code.UNAVAILABLE, message));
}

/** For messages of streams, which take no slots. */
const NO_SLOTS: Pool[] = [];
const NONE: readonly Pool[] = [];

/** What a call that was counted has taken. */
interface Taken {
  readonly admission: Admission;
  readonly call: CountedCall;
  readonly pools: readonly Pool[];
  readonly slots: Pool[];
}

class Counted implements LimitedCall {
  /** The pools whose slots it has taken. */
  readonly #slots: Pool[];
  readonly #limiter: Limiter;
  readonly #admission: Admission;
  readonly #call: CountedCall;
  readonly #pools: readonly Pool[];

  constructor(limiter: Limiter, { admission, call, pools, slots }: Taken) {
    this.#limiter = limiter;
    this.#slots = slots;
    this.#admission = admission;
    this.#call = call;
    this.#pools = pools;
  }

  get state(): LimitState | undefined {
    const at = performance.now();
    const states = this.#pools.filter(({ limit }) => !limit.shadow).map((pool) => pool.state(at));
    if (states.length === 0) return undefined;
    return states.reduce((a, b) => (b.remaining / b.quota < a.remaining / a.quota ? b : a));
  }

  message(): void | Promise<void> {
    return this.#limiter.countMessage(this.#admission, this.#call);
  }

  end(): void {
    for (const pool of this.#slots.splice(0)) pool.release(performance.now());
  }
}
