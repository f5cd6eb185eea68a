// Whom the authority lends to: the guard's newest stream, by the list of lenders and the revision
// of the limit that both have applied, and a service only for its own calls. Lemmas 3, 4 and 6 of
// docs/limits.md.
import t, { type Test } from "tap";
import { SYSTEM } from "../../src/access/guard.js";
import { Code, type StatusError } from "../../src/errors.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import {
  type BorrowRequest,
  type BorrowResponse,
  Budget,
  LendingService,
  type Need,
} from "../../src/gen/portico/auth/v1/lending.js";
import { type CallOptions, type CallStream, stream } from "../../src/rpc/client.js";
import { type Limited, openLimited } from "./guards.js";

/** A stream of one guard, as a test uses it. */
class Borrower {
  readonly #call: CallStream<BorrowRequest, BorrowResponse>;
  readonly #responses: AsyncIterator<BorrowResponse>;
  readonly #guard: string;

  constructor(t: Test, { channel }: Limited, guard: string, options: CallOptions = { admission: SYSTEM }) {
    this.#guard = guard;
    this.#call = stream(channel, LendingService.borrow, options);
    this.#responses = this.#call.responses[Symbol.asyncIterator]();
    t.teardown(() => this.#call.cancel());
  }

  async next(): Promise<BorrowResponse["message"]> {
    const { value } = await this.#responses.next();
    return (value as BorrowResponse | undefined)?.message;
  }

  /** Sends one request and returns its loans. */
  async ask(needs: readonly Partial<Need>[], appointment = 0n) {
    this.#call.send({ appointment, guard: this.#guard, needs: needs.map(needOf) });
    const message = await this.next();
    return message?.$case === "loans" ? message.value.loans : [];
  }
}

function needOf(need: Partial<Need>): Need {
  return {
    ...{ namespace: "default", limit: "ci", revision: 0n, budget: Budget.RATE, subject: "" },
    ...{ kept: 0n, returned: 0n, waiting: 0n, soon: 0n, refused: 0n, ...need },
  };
}

async function opened(t: Test) {
  const limited = await openLimited(t);
  await limited.create({ id: "ci", rate: "10/d", burst: 10n, resource: "service:helloworld:*" });
  const borrower = new Borrower(t, limited, "guard");
  t.same(await borrower.next(), { $case: "hello", value: { lender: "" } });
  const revision = await revisionOf(borrower);
  return { limited, borrower, revision };
}

/** The revision that set the limit: the only one for which something is lent. */
async function revisionOf(borrower: Borrower, budget = Budget.RATE): Promise<bigint> {
  for (let revision = 0n; revision < 100n; revision++) {
    const [loan] = await borrower.ask([{ revision, budget }]);
    if (loan?.other === false) return revision;
  }
  throw new Error("the limit has no revision");
}

t.test("it lends what is asked for, as long as there is enough", async (t) => {
  const { borrower, revision } = await opened(t);
  t.match(await borrower.ask([{ revision, waiting: 7n }]), [{ amount: 7n, left: 3n, retryMs: 0n }]);
  t.match(await borrower.ask([{ revision, kept: 7n, waiting: 7n }]), [{ amount: 3n, left: 0n }]);
  const [loan] = await borrower.ask([{ revision, kept: 10n, waiting: 7n }]);
  t.equal(loan?.amount, 0n);
  t.ok(Number(loan?.retryMs) > 8_000_000, "a tenth of a day");
});

t.test("nothing for another list of lenders, revision, limit or kind", async (t) => {
  const { borrower, revision } = await opened(t);
  t.match(await borrower.ask([{ revision, waiting: 1n }], 5n), [{ amount: 0n, other: true }]);
  const needs = [{ revision: revision + 1n }, { limit: "none" }, { namespace: "other" }, { budget: Budget.QUOTA }];
  for (const need of needs) {
    t.match(await borrower.ask([{ revision, waiting: 1n, ...need }]), [{ amount: 0n, other: true }]);
  }
});

t.test("a guard's older stream is refused once the guard has a newer one", async (t) => {
  const { limited, borrower, revision } = await opened(t);
  const newer = new Borrower(t, limited, "guard");
  await newer.next();
  t.match(await newer.ask([{ revision, waiting: 10n }]), [{ amount: 10n }]);
  // Had it been taken, it would say that the guard keeps nothing.
  await t.rejects(borrower.ask([{ revision }]), { code: Code.ABORTED });
  const other = new Borrower(t, limited, "another guard");
  await other.next();
  t.match(await other.ask([{ revision, waiting: 1n }]), [{ amount: 0n }]);
});

t.test("a service borrows only for limits that can count its calls", async (t) => {
  const { limited, revision } = await opened(t);
  for (const [name, isOther] of [
    ["helloworld", false],
    ["greeter", true],
  ] as const) {
    const { secret } = await limited.call(EnrolmentsService.create, { name, replace: false }, limited.token);
    const borrower = new Borrower(t, limited, name, { metadata: [["authorization", `Bearer ${secret}`]] });
    await borrower.next();
    t.match(await borrower.ask([{ revision, waiting: 1n }]), [{ other: isOther }], name);
  }
});

t.test("more than 1000 needs in one request are refused", async (t) => {
  const { borrower, revision } = await opened(t);
  const error = (await borrower.ask(Array(1_001).fill({ revision })).catch((thrown) => thrown)) as StatusError;
  t.equal(error.code, Code.INVALID_ARGUMENT);
});

t.test("numbers below 0 are refused: a service could make room for more calls than a limit allows", async (t) => {
  const { limited, revision } = await opened(t);
  for (const name of ["kept", "returned", "waiting", "soon", "refused"] as const) {
    const borrower = new Borrower(t, limited, name);
    await borrower.next();
    const error = (await borrower.ask([{ revision, [name]: -1n }]).catch((thrown) => thrown)) as StatusError;
    t.match(error, { code: Code.INVALID_ARGUMENT, message: `needs.${name}: must not be negative` });
  }
});

t.test("a service cannot fill the memory of the lender with long names", async (t) => {
  const { limited, revision } = await opened(t);
  const longest = "s".repeat(256);
  for (const [guard, subject, field] of [
    ["subject", `${longest}s`, "needs.subject"],
    [`${longest}s`, "", "guard"],
  ] as const) {
    const borrower = new Borrower(t, limited, guard);
    await borrower.next();
    const error = (await borrower.ask([{ revision, subject }]).catch((thrown) => thrown)) as StatusError;
    t.match(error, { code: Code.INVALID_ARGUMENT, message: `${field}: must have at most 256 characters` });
  }
  const borrower = new Borrower(t, limited, longest);
  await borrower.next();
  t.match(await borrower.ask([{ revision, subject: longest, waiting: 1n }]), [{ amount: 1n }]);
});

t.test("a loan of a quota is returned once, also where one request says so twice", async (t) => {
  const { limited, borrower } = await opened(t);
  await limited.set({ id: "ci", quota: "1000/day", resource: "service:helloworld:*" });
  const quota = { revision: await revisionOf(borrower, Budget.QUOTA), budget: Budget.QUOTA };
  const other = new Borrower(t, limited, "another guard");
  await other.next();
  for (const guard of [borrower, other]) t.match(await guard.ask([{ ...quota, waiting: 9n }]), [{ amount: 9n }]);
  await borrower.ask([
    { ...quota, returned: 9n },
    { ...quota, returned: 9n },
  ]);
  t.match(await other.ask([{ ...quota, kept: 9n }]), [{ left: 991n }]);
});

t.test("a caller without an enrolment borrows nothing", async (t) => {
  const { limited } = await opened(t);
  const borrower = new Borrower(t, limited, "caller", { metadata: [["authorization", `Bearer ${limited.token}`]] });
  await t.rejects(borrower.next(), { code: Code.PERMISSION_DENIED });
});
