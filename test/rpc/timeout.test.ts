import t from "tap";
import { formatTimeout, parseTimeout } from "../../src/call/metadata.js";

const TIMEOUTS: [milliseconds: number, text: string][] = [
  [-5, "1m"],
  [0.2, "1m"],
  [30_000, "30000m"],
  [99_999_999, "99999999m"],
  [100_000_000, "100000S"],
  [1e12, "16666667M"],
  [1e14, "27777778H"],
  [1e20, "99999999H"],
];

for (const [milliseconds, text] of TIMEOUTS) {
  t.test(`${milliseconds} ms are written as ${text}`, async (t) => {
    t.equal(formatTimeout(milliseconds), text);
    t.ok((parseTimeout(text) as number) >= Math.min(milliseconds, 99_999_999 * 3_600_000), "never less");
  });
}

t.test("timeouts are read in every unit, and malformed ones are not", async (t) => {
  const read = ["1H", "1M", "1S", "1m", "1000u", "1000000n", "0m"].map(parseTimeout);
  t.same(read, [3_600_000, 60_000, 1_000, 1, 1, 1, 0]);
  for (const text of ["", "1", "m", "-1m", "1.5S", "123456789m", "1s", " 1m"]) t.equal(parseTimeout(text), undefined);
});
