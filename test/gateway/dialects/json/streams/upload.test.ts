// A stream of google.api.HttpBody is the body of a plain POST, passed on in chunks. However long it
// is, the gateway never stores all of it.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { listen } from "../../../../../gateway/node/listen.js";
import { loadConfig } from "../../../../../src/config/config.js";
import { checkPrompt, createRule, deleteRule, dial, logLine, open, type Scene, scene } from "./client.js";

const MiB = 1024 ** 2;
const it = await scene(t, { flags: { maxBody: "64KiB" } });
const PATH = "/feed/store";
const NAME = "feed:Feed.Store";

/** Begins to send a body. */
function begin({ port }: Pick<Scene, "port">, contentType: string, headers: Record<string, string> = {}) {
  const sending: ClientRequest = request({
    ...{ host: "127.0.0.1", port, path: PATH, method: "POST", agent: false },
    headers: { "content-type": contentType, ...headers },
  });
  sending.on("error", () => {}); // The response or the service reports it.
  sending.flushHeaders();
  return sending;
}

async function answerTo(
  sending: ClientRequest,
): Promise<{ status: number | undefined; body: Record<string, unknown> }> {
  const [response] = (await once(sending, "response")) as [IncomingMessage];
  const text = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, body: JSON.parse(text) };
}

t.test("a body larger than the maximum message, with a known or an unknown length", async (t) => {
  const bytes = randomBytes(3 * MiB);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  for (const headers of [{ "content-length": `${bytes.length}` }, { "transfer-encoding": "chunked" }]) {
    const sending = begin(it, "image/png", headers as Record<string, string>);
    sending.end(bytes);
    const { status, body } = await answerTo(sending);
    t.equal(status, 200);
    t.match(body, { bytes: `${bytes.length}`, sha256 });
    const [first, ...others] = body.contentTypes as string[];
    t.equal(first, "image/png", "the content type comes with the first piece");
    t.same([...new Set(others)], [""], "and with no other");
  }
});

t.test("an empty body is one message, which has the content type", async (t) => {
  for (const type of ["image/png", undefined]) {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const { status, text } = await open(it, PATH, { method: "POST", headers });
    t.equal(status, 200);
    t.match(JSON.parse(await text()), { contentTypes: [type ?? ""], bytes: "0" });
  }
});

t.test("a client that waits for 100 gets it", async (t) => {
  const sending = begin(it, "text/plain", { expect: "100-continue" });
  await once(sending, "continue");
  sending.end("hello");
  t.match(await answerTo(sending), { status: 200, body: { bytes: "5" } });
});

t.test("each chunk of a body is passed on as it arrives", async (t) => {
  const sending = begin(it, "text/plain");
  for (const word of ["one", "two"]) {
    const stored = once(it.feed, "stored");
    sending.write(word);
    await stored;
  }
  sending.end();
  t.match(await answerTo(sending), { status: 200 });
});

t.test("a service that does not read: the client is not read either", async (t) => {
  const chunk = Buffer.alloc(MiB);
  const sending = begin(it, "test/hang");
  let sent = 0;
  const before = process.memoryUsage().rss;
  for (let room = true; room && sent < 64; sent++) {
    room = sending.write(chunk) || (await Promise.race([once(sending, "drain").then(() => true), sleep(300, false)]));
  }
  const grown = (process.memoryUsage().rss - before) / MiB;
  t.ok(sent < 24, `stopped after ${sent} MiB, of which the service has read ${it.feed.stored} bytes`);
  t.ok(grown < 64, `resident size of both ends has grown by ${grown.toFixed(1)} MiB`);
  // The end of the connection is behind the bytes that were sent.
  sending.destroy();
  it.feed.emit("go");
  await it.feed.idle();
});

t.test("a service that reads more slowly than the client sends: few bytes wait in between", async (t) => {
  const chunk = Buffer.alloc(MiB);
  const sending = begin(it, "video/mp4");
  let sent = 0;
  let most = 0;
  it.feed.on("stored", () => {
    most = Math.max(most, sent - it.feed.stored);
  });
  while (sent < 96 * MiB) {
    sent += chunk.length;
    if (!sending.write(chunk)) await once(sending, "drain");
  }
  sending.end();
  t.match(await answerTo(sending), { status: 200, body: { bytes: `${sent}` } });
  it.feed.removeAllListeners("stored");
  t.ok(most < 24 * MiB, `of ${sent / MiB} MiB at most ${(most / MiB).toFixed(1)} were under way`);
});

t.test("a client that leaves ends the call within 50 ms", async (t) => {
  await checkPrompt(t, async () => {
    it.logged.length = 0;
    const sending = begin(it, "text/plain");
    const stored = once(it.feed, "stored");
    sending.write("some");
    await stored;
    const over = once(it.feed, "over");
    const before = performance.now();
    sending.destroy();
    await over;
    return performance.now() - before;
  });
  t.match(await logLine(it, NAME), { status: 499 });
});

t.test(
  "a service may respond before the whole body has arrived, and the gateway does not wait for the rest",
  async (t) => {
    const sending = begin(it, "test/refused");
    sending.write("some");
    t.match(await answerTo(sending), { status: 400, body: { Code: 400, Detail: "not wanted" } });
  },
);

t.test("a rule that is deleted meanwhile ends the upload", async (t) => {
  const rule = { scope: "<public>", resource: "service:feed:Feed.Store" };
  await createRule(it, { ...rule, id: "nobody", access: "DENIED", priority: 1 });
  await createRule(it, { ...rule, id: "anyone", access: "GRANTED", priority: 2 });
  const sending = begin(it, "text/plain");
  const stored = once(it.feed, "stored");
  sending.write("some");
  await stored;
  const response = answerTo(sending);
  await deleteRule(it, "anyone");
  t.match(await response, { status: 401, body: { Code: 401 } });
  await it.feed.idle();

  const refused = begin(it, "text/plain", { expect: "100-continue" });
  refused.on("continue", () => t.fail("a body of whom may not call was asked for"));
  t.match(await answerTo(refused), { status: 401 });
  await deleteRule(it, "nobody");
});

t.test("the maximum time of an upload", async (t) => {
  const STALL_MS = 600;
  /** Long enough that writing on a busy computer does not stop for this time. */
  const BODY_MS = 400;
  const limits = { ...loadConfig({}, {}), headerTime: 100, bodyTime: BODY_MS, maxCallTime: 100, stallMs: STALL_MS };
  const gateway = await listen(it.handler, { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => gateway.close(0));
  const { port } = gateway.address;

  t.test("a body that keeps arriving has no maximum time", async (t) => {
    const sending = begin({ port }, "text/plain");
    for (const start = performance.now(); performance.now() - start < 3 * BODY_MS; await sleep(30)) sending.write("x");
    sending.end();
    t.match(await answerTo(sending), { status: 200 });
  });

  t.test("a body that stops arriving is given up", async (t) => {
    const sending = begin({ port }, "text/plain");
    sending.write("some");
    t.match(await answerTo(sending), { status: 408, body: { Detail: /^The next chunk/ } });
    await it.feed.idle();
  });

  t.test("a pause while the service takes nothing may last longer, but not for ever", async (t) => {
    const sending = begin({ port }, "test/hang");
    const before = performance.now();
    sending.write(Buffer.alloc(4 * MiB));
    t.match(await answerTo(sending), { status: 504, body: { Detail: /^The service has taken nothing/ } });
    t.ok(performance.now() - before >= STALL_MS);
    await it.feed.idle();
  });

  t.test("a deadline of the caller applies instead", async (t) => {
    const sending = begin({ port }, "test/hang", { "grpc-timeout": "50m" });
    sending.write("some");
    t.match(await answerTo(sending), { status: 504 });
    await it.feed.idle();
  });
});

const refused: [title: string, path: string, ask: Parameters<typeof open>[2], status: number][] = [
  ["GET", PATH, {}, 426],
  ["a query", `${PATH}?a=b`, { method: "POST", body: Buffer.from("x") }, 400],
  ["a compressed body", PATH, { method: "POST", body: Buffer.from("x"), headers: { "content-encoding": "gzip" } }, 415],
];
for (const [title, path, ask, status] of refused) {
  t.test(`${title}: ${status}`, async (t) => {
    const response = await open(it, path, ask);
    t.equal(response.status, status);
    t.equal(JSON.parse(await response.text()).Code, status);
  });
}

t.test("an upload endpoint takes messages over a WebSocket, as any stream does", async (t) => {
  const { socket, frames, closed } = await dial(it, PATH);
  socket.send(JSON.stringify({ contentType: "text/plain", data: "aGVsbG8=" }));
  socket.send("");
  t.same(await closed, [1000, ""]);
  t.match(JSON.parse(String(frames[0])), { contentTypes: ["text/plain"], bytes: "5" });
});
