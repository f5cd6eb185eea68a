// Each case of the corpus is read as recorded: requests, bodies, rejections, and whether the
// connection was closed. The record has the results of node:http (llhttp 9.3.1);
// `differential.slow.ts` compares the port with node:http again. WRITE_OUTCOMES=1 writes the
// record.
import { readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { forEachCase, openTestGateway, summaryOf } from "./compare.js";
import { corpus } from "./corpus.js";
import { isComparable } from "./differences.js";
import { outcomeOf } from "./recording.js";

const FILE = "test/gateway/node/differential/corpus/outcomes.json";

t.test("each case of the corpus is read as recorded", async (t) => {
  const found = new Map<string, string>();
  const http1 = corpus().filter(({ bytes }) => isComparable(bytes));
  const cases = http1.map(({ title, bytes }) => ({ title, chunks: [bytes] }));
  await forEachCase(cases, [openTestGateway], async ({ title, chunks }, [ours]) => {
    found.set(title, summaryOf(await outcomeOf(ours!, chunks)));
  });
  const outcomes = Object.fromEntries(cases.map(({ title }) => [title, found.get(title)]));
  if (process.env.WRITE_OUTCOMES === "1") writeFileSync(FILE, `${JSON.stringify(outcomes, undefined, 2)}\n`);
  t.same(outcomes, JSON.parse(readFileSync(FILE, "utf8")));
  t.equal(Object.keys(outcomes).length, cases.length, "each title stands once");
});
