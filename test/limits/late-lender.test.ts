// A caller over the limit gets a refusal with the time to wait also where the lender responds late,
// or this process is busy. UNAVAILABLE is for a lender that does not respond. A call that waits for
// a loan goes on by the limits as they are now, once they have changed.
import t, { type Test } from "tap";
import { SYSTEM } from "../../src/access/guard.js";
import type { Admission } from "../../src/call/admission.js";
import { LimitedError } from "../../src/call/limited-call.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { PUBLIC } from "../../src/contract/scope.js";
import { Code, type StatusError } from "../../src/errors.js";
import { type BorrowRequest, LendingService, type Loan, type Need } from "../../src/gen/portico/auth/v1/lending.js";
import { LimitSet } from "../../src/limits/limit-set.js";
import { Limiter } from "../../src/limits/limiter.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { part } from "../../src/rpc/service.js";
import { dispatcherOf } from "../rpc/serve.js";
import { replaceClock } from "../support/clock.js";
import { deferred } from "../support/deferred.js";
import { ENDPOINT, limitOf } from "./guards.js";

const NO_LOAN: Loan = { amount: 0n, lifetimeMs: 1_000n, retryMs: 0n, left: 0n, other: false };
const LIMIT = { id: "ci", rate: "500/s", burst: 500n, scope: PUBLIC, resource: "*:*:*" };
const ADMISSION: Admission = { endpoint: ENDPOINT, caller: undefined, namespace: "default" };

/** A process whose clock and lender the test controls. */
class Controlled {
  /** In milliseconds. */
  now = 5_000;
  /** How much later the clock shows at each look. */
  step = 0;
  readonly #limits = new LimitSet();
  readonly #limiter: Limiter;

  /** @param lend responds to each need; undefined for a lender that never responds */
  constructor(t: Test, lend: (need: Need, it: Controlled) => Partial<Loan> | undefined) {
    replaceClock(t, performance, () => {
      this.now += this.step;
      return this.now;
    });
    const it = this;
    const lending = part(LendingService, {
      async *borrow(requests: AsyncIterable<BorrowRequest>) {
        yield { message: { $case: "hello", value: { lender: "" } } } as const;
        for await (const { needs } of requests) {
          const loans = needs.map((need) => lend(need, it));
          if (loans.includes(undefined)) await new Promise(() => undefined);
          yield { message: { $case: "loans", value: { loans: loans.map((loan) => ({ ...NO_LOAN, ...loan })) } } };
        }
      },
    });
    this.#limits.set({ limit: limitOf(LIMIT), revision: 1n });
    const channel = new InProcessChannel(
      dispatcherOf([{ name: "auth", parts: [lending], descriptors: descriptorsOf("portico.auth.v1") }]),
    );
    const policy = { limitsOf: () => this.#limits, tenantLimits: undefined, lenders: { ids: [], revision: 0n } };
    this.#limiter = new Limiter({
      authorities: () => [{ name: "authority", channel }],
      call: { admission: SYSTEM },
      policy: () => policy,
      hasLease: () => true,
    });
    t.teardown(() => {
      this.#limiter.close();
      channel.close();
    });
  }

  /** Changes the limits while calls may wait. Then the clock goes on. */
  change(t: Test, change: (limits: LimitSet) => void): void {
    change(this.#limits);
    this.#limiter.onChange();
    const timer = setInterval(() => {
      this.now += 100;
    }, 10);
    t.teardown(() => clearInterval(timer));
  }

  /** The error of one call; undefined if it is counted. */
  async call(): Promise<StatusError | undefined> {
    try {
      await this.#limiter.count(ADMISSION, { address: "192.0.2.1", asserted: false });
      return undefined;
    } catch (error) {
      return error as StatusError;
    }
  }
}

t.test("the lender has nothing, and this process is too busy to see it in time", async (t) => {
  const it = new Controlled(t, () => ({ retryMs: 2n }));
  it.step = 5;
  const began = it.now;
  const errors = await Promise.all(Array.from({ length: 10 }, () => it.call()));
  for (const error of errors) t.ok(error instanceof LimitedError && error.retryAfter === 1, `${error}`);
  t.ok(it.now - began < 1_500, `refused after ${it.now - began} ms, as soon as the lender has responded`);
});

t.test("each loan has ended when it arrives", async (t) => {
  const it = new Controlled(t, (_need, it) => {
    it.now += 1_100;
    return { amount: 10n };
  });
  const error = await it.call();
  t.ok(error instanceof LimitedError && error.retryAfter === 1, `${error}`);
});

t.test("the lender does not respond", async (t) => {
  const it = new Controlled(t, () => undefined);
  const timer = setInterval(() => {
    it.now += 100;
  }, 10);
  t.teardown(() => clearInterval(timer));
  t.match(await it.call(), { code: Code.UNAVAILABLE, message: /authority does not respond/ });
});

t.test("the authority says that it does not lend", async (t) => {
  const it = new Controlled(t, (_need, it) => {
    it.now += 200;
    return { other: true, retryMs: 1n };
  });
  t.match(await it.call(), { code: Code.UNAVAILABLE });
});

t.test("the limit is deleted while a call waits for a loan that never comes", async (t) => {
  const asked = deferred<void>();
  const it = new Controlled(t, () => void asked.resolve());
  const call = it.call();
  await asked.promise;
  const began = it.now;
  it.change(t, (limits) => limits.delete("ci"));
  t.equal(await call, undefined);
  t.equal(it.now, began, "it goes on at once");
});

t.test("the limit is set while a call waits for a loan of its earlier form", async (t) => {
  const asked = deferred<void>();
  const it = new Controlled(t, ({ revision }) => {
    asked.resolve();
    return revision === 2n ? { amount: 10n } : { other: true, retryMs: 50n };
  });
  const call = it.call();
  await asked.promise;
  it.change(t, (limits) => limits.set({ limit: limitOf({ ...LIMIT, rate: "600/s" }), revision: 2n }));
  t.equal(await call, undefined);
});
