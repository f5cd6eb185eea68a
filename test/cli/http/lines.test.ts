// Input that arrives in chunks is split into lines.
import t from "tap";
import { linesOf } from "../../../cli/http/request.js";

const cases: [title: string, pieces: string[], lines: string[]][] = [
  ["empty input has no lines", [], []],
  ["a line without a line feed", ["a"], ["a"]],
  ["a line with a line feed", ["a\n"], ["a"]],
  ["several lines in one piece, some of them empty", ["a\n\nb\r\nc"], ["a", "", "b\r", "c"]],
  ["a line in several pieces", ["a", "", "b", "c\nd"], ["abc", "d"]],
  ["line feeds in pieces of their own", ["a", "\n", "\n", "b", "\n"], ["a", "", "b"]],
];
for (const [title, chunks, lines] of cases) {
  t.test(title, async (t) => {
    t.same(await all(chunks.map((chunk) => Buffer.from(chunk))), lines);
  });
}

async function all(chunks: Buffer[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(chunks)) lines.push(String(line));
  return lines;
}

t.test("a character whose bytes arrive in several chunks is not damaged", async (t) => {
  const bytes = Buffer.from("a\u{1f600}b");
  t.same(await all(Array.from(bytes, (byte) => Buffer.of(byte))), ["a\u{1f600}b"]);
});

t.test("accepts a line of 64 MiB, and rejects a longer one", async (t) => {
  const chunk = Buffer.alloc(1024 ** 2);
  const lines = linesOf(Array(64).fill(chunk));
  t.equal((await lines.next()).value?.length, 64 * 1024 ** 2);
  await t.rejects(linesOf([...Array(64).fill(chunk), Buffer.of(0)]).next(), { message: /larger than 64 MiB/, exit: 2 });
});

t.test("a line four times as long takes about four times as long", async (t) => {
  const [small, large] = [await cost(1), await cost(4)];
  t.ok(large < small * 10 + 1, `${small.toFixed(2)} and ${large.toFixed(2)} ms`);
});

/** The minimum cost of some runs with a line of `size` MiB, in milliseconds of processor time. */
async function cost(size: number): Promise<number> {
  const chunks = Array<Buffer>(size * 256).fill(Buffer.alloc(4096, "a"));
  let best = Infinity;
  for (let round = 0; round < 4; round++) {
    const before = process.cpuUsage();
    await linesOf(chunks).next();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}
