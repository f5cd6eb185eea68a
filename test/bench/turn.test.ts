/** A failed measurement of the benchmark loses its own row, and no other. */
import t from "tap";
import { report } from "../../bench/report.js";
import type { Results } from "../../bench/results.js";
import { type Failure, isOurs, START, takeTurn } from "../../bench/turn.js";

const ROWS = ["small", "large", "streams"];

/**
 * Takes turns of a system.
 * @param outcomes returns the error of a step, or undefined if the step succeeds
 * @returns the failures, and the steps in order
 */
async function take(turns: number, outcomes: (row: string) => Error | undefined) {
  const failures: Failure[] = [];
  const events: string[] = [];
  const happens = async (what: string) => {
    events.push(what);
    const error = outcomes(what);
    if (error !== undefined) throw error;
  };
  const stop = async () => void events.push("stop");
  for (let turn = 0; turn < turns; turn++) {
    await takeTurn({ system: "peer", start: () => happens(START), measure: happens, stop }, ROWS, failures);
  }
  return { failures, events };
}

/**
 * Makes a row fail.
 * @param times the attempts that fail, from 1
 */
function failing(row: string, ...times: number[]) {
  let tried = 0;
  return (what: string) => (what === row && times.includes(++tried) ? new Error(`closed ${tried}`) : undefined);
}

const failed = (row: string, ...times: number[]) =>
  times.map((time) => ({ system: "peer", row, error: `closed ${time}` }));

t.test("a row that fails once is measured again, after a restart of the system", async (t) => {
  const { failures, events } = await take(1, failing("large", 1));
  t.strictSame(events, [START, "small", "large", "stop", START, "large", "streams", "stop"]);
  t.strictSame(failures, failed("large", 1));
});

t.test("a row that fails twice is skipped for the rest of the run, and the other rows are measured", async (t) => {
  const { failures, events } = await take(2, failing("large", 1, 2));
  const first = [START, "small", "large", "stop", START, "large", "stop", START, "streams", "stop"];
  t.strictSame(events, [...first, START, "small", "streams", "stop"]);
  t.strictSame(failures, failed("large", 1, 2));
});

t.test("a row that failed in an earlier round is not measured again if it fails", async (t) => {
  const { events } = await take(2, failing("streams", 2, 3));
  const second = [START, "small", "large", "streams", "stop", START, "streams", "stop", "stop"];
  t.strictSame(events, [START, "small", "large", "streams", "stop", ...second]);
});

t.test("a system that does not start is started once more, and then skipped", async (t) => {
  const { failures, events } = await take(2, failing(START, 1, 2));
  t.strictSame(
    events.filter((event) => event !== "stop"),
    [START, START],
  );
  t.strictSame(failures, failed(START, 1, 2));
});

t.test("only a failure of Portico fails the run", async (t) => {
  const [peer] = failed("large", 1);
  t.equal(isOurs(peer!), false);
  t.ok(isOurs({ ...peer!, system: "Portico mesh → Go gRPC" }));
});

t.test("the page says which rows failed and why", async (t) => {
  const telling = { rate: 1, p50: 1, p99: 1, generator: 1, processor: [1], memory: [1] };
  const results: Results = {
    machine: { date: "", commit: "", cores: 2, model: "", memory: 1, kernel: "", loadBefore: 0, versions: {} },
    plan: { rounds: 5, warmUp: 1, newCodeWarmUp: 1, duration: 1, firstWarmUp: 1, points: ROWS },
    round: 3,
    systems: [{ name: "peer", roles: ["gateway"], start: 1, points: { small: telling } }],
    failures: failed("large", 1, 2),
    left: [],
  };
  const page = report(results);
  t.ok(page.includes("**this run has begun 3**"));
  t.ok(page.includes("| peer | large | closed 1 |\n| peer | large | closed 2 |"));
  const [, large] = page.split("## large");
  t.equal(large!.split("## ")[0]!.match(/^\| peer .*$/m)?.[0], "| peer | failed | | | | |");
  t.equal(page.split("## small")[1]!.split("## ")[0]!.includes("failed"), false);
});
