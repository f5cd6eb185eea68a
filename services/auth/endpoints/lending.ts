/** Lending: lends guards what they may admit of limits of calls. */
import { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { aborted, invalidArgument, type StatusError } from "../../../src/errors.js";
import {
  type BorrowRequest,
  type BorrowResponse,
  LendingService,
  type Need,
} from "../../../src/gen/portico/auth/v1/lending.js";
import { type BuiltInContext, part, type ServicePart } from "../../../src/rpc/service.js";
import type { Borrower, Lender } from "../limits/lender.js";

/** Most needs in one request. */
const MAX_NEEDS = 1_000;
/**
 * Most characters of a subject, and of a guard's name: the lender remembers a million of them. The
 * longest subject is the name of an account.
 */
const MAX_TEXT = 256;

/** The gRPC service portico.auth.v1.Lending. */
export function lending(lender: Lender): ServicePart {
  /** The newest stream of each guard, by the guard. */
  const newest = new Map<string, symbol>();
  return part(LendingService, {
    borrow: (requests, context) => borrow(lender, newest, requests, context),
  });
}

async function* borrow(
  lender: Lender,
  newest: Map<string, symbol>,
  requests: AsyncIterable<BorrowRequest>,
  { caller, system }: BuiltInContext,
): AsyncGenerator<BorrowResponse> {
  const own = Symbol("stream");
  const enrolment = system || !(caller instanceof KnownCaller) ? undefined : caller.enrolment;
  let borrower: Borrower | undefined;
  yield { message: { $case: "hello", value: { lender: lender.id } } };
  try {
    for await (const { appointment, needs, guard } of requests) {
      if (needs.length > MAX_NEEDS) throw invalidArgument(`needs: must have at most ${MAX_NEEDS} entries`);
      for (const need of needs) checkNeed(need);
      if (guard.length > MAX_TEXT) throw tooLong("guard");
      const name = `${enrolment ?? ""}/${guard}`;
      if (borrower === undefined) {
        borrower = { enrolment, guard: name };
        newest.set(name, own);
      }
      // A request that was delayed in an older stream would state what the guard had then.
      if (newest.get(name) !== own) throw aborted("the guard borrows on another stream now");
      const from: Borrower = borrower;
      const loans = await Promise.all(needs.map((need) => lender.lend(from, appointment, need)));
      yield { message: { $case: "loans", value: { loans } } };
    }
  } finally {
    if (borrower !== undefined && newest.get(borrower.guard) === own) {
      newest.delete(borrower.guard);
      lender.gone(borrower);
    }
  }
}

/**
 * Below 0, a number would make what others have borrowed look like less than it is.
 * @throws {StatusError} INVALID_ARGUMENT
 */
function checkNeed({ kept, returned, waiting, soon, refused, subject }: Need): void {
  for (const [name, number] of Object.entries({ kept, returned, waiting, soon, refused })) {
    if (number < 0n) throw invalidArgument(`needs.${name}: must not be negative`);
  }
  if (subject.length > MAX_TEXT) throw tooLong("needs.subject");
}

function tooLong(field: string): StatusError {
  return invalidArgument(`${field}: must have at most ${MAX_TEXT} characters`);
}
