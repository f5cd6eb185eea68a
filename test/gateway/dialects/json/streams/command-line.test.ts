// The command line prints the messages of a stream as they arrive, and sends a stream from standard
// input.
import t from "tap";
import { run } from "../../../../../cli/program.js";
import { EXIT } from "../../../../../cli/terminal/exit.js";
import { ioOf, portico } from "../../../../cli/command-line.js";
import { createRule, deleteRule, scene } from "./client.js";

const it = await scene(t);
const env = { PORTICO_URL: `http://127.0.0.1:${it.port}` };
const GREETING = '{"message":"Hello Ada","msg":"Hello Ada"}\n';
const tick = (number: number): string => `{"number":"${number}","padding":""}\n`;

const calls: [title: string, args: string[], stdin: string, stdout: string][] = [
  ["call with JSON", ["call", "helloworld", "Stream", '{"name":"Ada","messages":"2"}'], "", GREETING.repeat(2)],
  ["call with fields", ["helloworld", "stream", "--name=Ada", "--messages=2"], "", GREETING.repeat(2)],
  ["no messages", ["helloworld", "stream", "--name=Ada"], "", ""],
  ["as YAML", ["call", "feed", "Count", '{"messages":2}', "-o", "yaml"], "", `${yaml(1)}---\n${yaml(2)}`],
  ["two-way, from standard input", ["call", "feed", "Chat"], '{"number":1}\n\n{"number":2}', tick(1) + tick(2)],
  ["two-way, all at once", ["call", "feed", "Chat", "-"], '{"number":1}\n{"number":2}\n', tick(1) + tick(2)],
  ["two-way, one message", ["call", "feed", "Chat", '{"number":7}'], "", tick(7)],
  ["client stream", ["call", "feed", "Collect"], '{"number":1}\n{"number":2}\n', '{"count":"2","total":"3"}\n'],
  ["with a token", ["call", "feed", "Collect"], '{"number":1}', '{"count":"1","total":"1"}\n'],
];
for (const [title, args, stdin, stdout] of calls) {
  t.test(title, async (t) => {
    const token = title === "with a token" ? { PORTICO_TOKEN: it.admin } : {};
    t.same(await portico(args, { env: { ...env, ...token }, stdin }), { exit: EXIT.ok, stdout, stderr: "" });
  });
}

function yaml(number: number): string {
  return `number: "${number}"\npadding: ""\n`;
}

const failures: [title: string, args: string[], stdin: string, stdout: string, stderr: RegExp, exit: number][] = [
  ["early", ["feed", "count", "--code=5"], "", "", /^as told\nHTTP 404, request \S+\n$/, EXIT.failed],
  [
    "later",
    ["feed", "count", "--code=5", "--messages=1"],
    "",
    tick(1),
    /^as told\nHTTP 404, request \S+\n$/,
    EXIT.failed,
  ],
  [
    "in a two-way stream",
    ["call", "feed", "Chat"],
    '{"number":"x"}\n',
    "",
    /^number: .*\nHTTP 400, request \S+\n$/,
    EXIT.failed,
  ],
  ["fields for a stream", ["feed", "chat", "--number=1"], "", "", /portico call feed chat < messages/, EXIT.usage],
];
for (const [title, args, stdin, stdout, stderr, exit] of failures) {
  t.test(`a failure ${title}`, async (t) => {
    const outcome = await portico(args, { env, stdin });
    t.equal(outcome.exit, exit);
    t.equal(outcome.stdout, stdout);
    t.match(outcome.stderr, stderr);
  });
}

t.test("each response is printed before the next one arrives; Ctrl-C ends the stream", async (t) => {
  const stop = new AbortController();
  const { io, outcome } = ioOf({ env });
  const running = run(["feed", "count", "--messages=1", "--hang"], { ...io, signal: stop.signal });
  await new Promise((resolve) => io.stdout.once("readable" as never, resolve));
  stop.abort();
  t.same(outcome(await running), { exit: EXIT.interrupted, stdout: tick(1), stderr: "Interrupted\n" });
  await it.feed.idle();
});

t.test("a rule that is deleted meanwhile ends the stream with the text of the 401", async (t) => {
  const rule = { scope: "<public>", resource: "service:feed:Feed.Count" };
  await createRule(it, { ...rule, id: "nobody", access: "DENIED", priority: 1 });
  await createRule(it, { ...rule, id: "anyone", access: "GRANTED", priority: 2 });
  const { io, outcome } = ioOf({ env });
  const running = run(["feed", "count", "--messages=1", "--hang"], io);
  await new Promise((resolve) => io.stdout.once("readable" as never, resolve));
  await deleteRule(it, "anyone");
  const { exit, stderr } = outcome(await running);
  t.equal(exit, EXIT.failed);
  t.match(stderr, /^Unauthorized call made to feed:Feed.Count\n/);
});
