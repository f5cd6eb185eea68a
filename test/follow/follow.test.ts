// A follower of a source reconnects after growing pauses, until it is stopped.
import { mock } from "node:test";
import t from "tap";
import { Code, StatusError } from "../../src/errors.js";
import { backOff, type FollowAttempt, follow } from "../../src/follow.js";

type FollowOptions = Parameters<typeof follow>[0];
type Failure = Parameters<FollowOptions["onFailure"]>[0];

/**
 * Follows a source that a test scripts. A pause ends when the test calls `next`, which resolves
 * when the next pause begins.
 */
function start(
  attempt: (attempt: FollowAttempt, count: number) => Promise<void>,
  options: Partial<FollowOptions> = {},
) {
  const stopping = new AbortController();
  const failures: Failure[] = [];
  let count = 0;
  let endPause = (): void => {};
  const ended = follow({
    source: "the source",
    attempt: (each) => attempt(each, ++count),
    onFailure: (failure) => failures.push(failure),
    pause: () =>
      new Promise((resolve) => {
        endPause = resolve;
      }),
    firstDelayMs: 100,
    maxDelayMs: 1_000,
    signal: stopping.signal,
    ...options,
  });
  const next = async (): Promise<void> => {
    await turn();
    endPause();
    await turn();
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    endPause();
    await ended;
  };
  return { failures, next, stop, attempts: () => count };
}

const turn = () => new Promise(setImmediate);

async function absent(): Promise<void> {
  throw new Error("no source");
}

function untilAborted({ signal }: FollowAttempt): Promise<void> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("cancelled"))));
}

t.test("the pause doubles up to a maximum, and half of it is random", async (t) => {
  for (const [failures, longest] of [100, 200, 400, 800, 1_000, 1_000].entries()) {
    const delays = Array.from({ length: 200 }, () => backOff(failures, 100, 1_000));
    t.ok(Math.min(...delays) >= longest / 2 && Math.max(...delays) <= longest, `after ${failures} failures`);
    t.ok(new Set(delays).size > 100, "nobody waits as long as another");
  }
});

t.test("an attempt that fails is made again after a pause", async (t) => {
  const { failures, attempts, next, stop } = start(absent);
  await turn();
  t.equal(attempts(), 1);
  await next();
  t.equal(attempts(), 2);
  t.match(failures, [
    { error: { message: "no source" }, repeated: false },
    { error: { message: "no source" }, repeated: true },
  ]);
  await stop();
});

t.test("a response makes the next failure count as the first", async (t) => {
  const { failures, next, stop } = start(({ responded }, count) => {
    if (count === 5) responded();
    return absent();
  });
  for (let count = 0; count < 4; count++) await next();
  await stop();
  t.same(
    failures.map(({ repeated }) => repeated),
    [false, true, true, true, false],
  );
  t.ok((failures[3] as Failure).delayMs >= 400);
  t.ok((failures[4] as Failure).delayMs <= 100);
});

t.test("the maximum pause may change", async (t) => {
  let maxDelayMs = 50;
  const { failures, next, stop } = start(absent, { maxDelayMs: () => maxDelayMs });
  for (let count = 0; count < 4; count++) await next();
  t.ok(failures.every(({ delayMs }) => delayMs <= 50));
  maxDelayMs = 1_000;
  await next();
  t.ok((failures.at(-1) as Failure).delayMs >= 500);
  await stop();
});

t.test("an attempt without a response in time ends; after a response, the source may be silent", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
  const silent = (attempt: FollowAttempt, count: number) => {
    if (count === 2) attempt.responded();
    return untilAborted(attempt);
  };
  const { failures, attempts, next, stop } = start(silent, { timeoutMs: 10_000 });
  mock.timers.tick(9_999);
  await turn();
  t.same(failures, []);
  mock.timers.tick(1);
  await turn();
  const error = new StatusError(Code.DEADLINE_EXCEEDED, "the source did not respond within 10 s");
  t.match(failures, [{ error: { code: error.code, message: error.message } }]);
  await next();
  mock.timers.tick(100_000);
  await turn();
  t.equal(attempts(), 2);
  await stop();
  t.equal(failures.length, 1, "what is stopped has not failed");
});

t.test("a source that ends the attempt is followed again", async (t) => {
  const { failures, attempts, next, stop } = start(async () => {});
  await next();
  t.match(failures[0], { error: { code: Code.UNAVAILABLE, message: "the source ended the stream" } });
  t.equal(attempts(), 2);
  await stop();
});

t.test("stopping ends an attempt", async (t) => {
  let aborted = false;
  const { failures, stop } = start((attempt) => {
    attempt.signal.addEventListener("abort", () => {
      aborted = true;
    });
    return untilAborted(attempt);
  });
  await stop();
  t.ok(aborted);
  t.same(failures, []);
});

t.test("stopping ends a pause", async (t) => {
  const { attempts, stop } = start(absent, { pause: undefined, firstDelayMs: 60_000, maxDelayMs: 60_000 });
  await turn();
  await stop();
  t.equal(attempts(), 1);
});
