// The command line writes raw bytes of a response unchanged, and sends the bytes of standard input
// unchanged.
import { PassThrough } from "node:stream";
import t from "tap";
import { run } from "../../../../../cli/program.js";
import { EXIT } from "../../../../../cli/terminal/exit.js";
import { ioOf, portico } from "../../../../cli/command-line.js";
import { scene } from "./client.js";

const it = await scene(t);
const env = { PORTICO_URL: `http://127.0.0.1:${it.port}` };
const BYTES = Buffer.from([0, 0xff, 0x1b, 0x0a, 0x22]);
const page = (contentType: string, data = BYTES, code = 0): string =>
  JSON.stringify({ contentType, data: data.toString("base64"), code });

/** Runs a command. @returns the bytes that it wrote */
async function bytesOf(args: string[], stdin: Buffer = Buffer.alloc(0)) {
  const { io, outcome } = ioOf({ env });
  const exit = await run(args, { ...io, stdin: new PassThrough().end(stdin) });
  const stdout = (io.stdout as unknown as PassThrough).read() as Buffer | null;
  return { exit, stdout, stderr: outcome(exit).stderr };
}

for (const [title, args] of [
  ["one response", ["call", "feed", "Page", page("image/png")]],
  ["a stream of chunks", ["call", "feed", "Pieces", page("image/png")]],
  ["bytes that look like JSON", ["call", "feed", "Page", page("application/json")]],
  ["bytes that look like lines", ["call", "feed", "Page", page("application/x-ndjson")]],
  ["with another requested output format", ["call", "feed", "Page", page("image/png"), "-o", "yaml"]],
  ["with fields", ["feed", "page", "--content-type=image/png", `--data=${BYTES.toString("base64url")}`]],
] as [string, string[]][]) {
  t.test(title, async (t) => {
    t.same(await bytesOf(args), { exit: EXIT.ok, stdout: BYTES, stderr: "" });
  });
}

t.test("a raw response that breaks off is a failure", async (t) => {
  const { exit, stdout, stderr } = await bytesOf(["call", "feed", "Pieces", page("image/png", BYTES, 5)]);
  t.equal(exit, EXIT.failed);
  t.ok(BYTES.subarray(0, stdout?.length).equals(stdout ?? BYTES), "what had come was written");
  t.match(stderr, /broke off/);
});

t.test("a call for raw bytes that fails says why", async (t) => {
  const { exit, stdout, stderr } = await bytesOf(["call", "feed", "Pieces", page("image/png", Buffer.alloc(0), 5)]);
  t.match({ exit, stdout, stderr }, { exit: EXIT.failed, stdout: null, stderr: /^as told\nHTTP 404, request \S+\n$/ });
});

t.test("raw bytes on a terminal", async (t) => {
  t.test("are not written if it cannot show them", async (t) => {
    t.same(await portico(["call", "feed", "Page", page("image/png")], { env, terminal: true }), {
      exit: EXIT.usage,
      stdout: "",
      stderr: "The response is image/png, which is not for a terminal. Add: > file\n",
    });
  });

  t.test("are written if they are text, without escape sequences", async (t) => {
    const text = Buffer.from("Grüße\n\u001b[2Jgone\n");
    t.same(await portico(["call", "feed", "Page", page("text/plain; charset=utf-8", text)], { env, terminal: true }), {
      exit: EXIT.ok,
      stdout: "Grüße\n\\u001b[2Jgone\n",
      stderr: "",
    });
  });
});

for (const [endpoint, expected] of [
  ["Upload", { data: BYTES.toString("base64") }],
  ["Store", { bytes: `${BYTES.length}` }],
] as const) {
  t.test(`standard input goes to ${endpoint} unchanged`, async (t) => {
    const { exit, stdout } = await bytesOf(["call", "feed", endpoint, "-"], BYTES);
    t.equal(exit, EXIT.ok);
    t.match(JSON.parse(String(stdout)), expected);
  });
}

t.test("without JSON no body is sent", async (t) => {
  const { stdout } = await bytesOf(["call", "feed", "Upload"]);
  t.same(JSON.parse(String(stdout)), { contentType: "", data: "", code: 0 });
});

for (const [title, args] of [
  ["line by line", ["call", "feed", "Collect"]],
  ["all at once", ["call", "feed", "Collect", "-"]],
] as [string, string[]][]) {
  t.test(`a line that is not UTF-8 is refused, not sent with other characters, ${title}`, async (t) => {
    const stdin = Buffer.from('{"number":1}\n\n{"padding":"\xff\xfe"}\n', "latin1");
    const stderr = "Line 3 of standard input is not UTF-8\n";
    t.same(await bytesOf(args, stdin), { exit: EXIT.usage, stdout: null, stderr });
  });
}
