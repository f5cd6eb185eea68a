// A stream that fails before its first message is an ordinary error. A stream that fails later
// reports the error in its last frame.
import t from "tap";
import { Code } from "../../../../../src/errors.js";
import { dial, open, scene } from "./client.js";

const it = await scene(t);
const EVENTS = { accept: "text/event-stream" };
const ERROR = { Id: "feed", Code: 404, Detail: "as told", Status: "Not Found" };
const TICK = '{"number":"1","padding":""}';
const failing = (messages: number): string => `/feed/count?messages=${messages}&code=${Code.NOT_FOUND}`;

for (const [accept, headers] of [
  ["NDJSON", {}],
  ["server-sent events", EVENTS],
] as const) {
  t.test(`${accept}, early`, async (t) => {
    const { status, headers: answered, text } = await open(it, failing(0), { headers });
    t.equal(status, 404);
    t.equal(answered["content-type"], "application/json");
    t.same(JSON.parse(await text()), ERROR);
  });
}

t.test("a failure after the first message is the last line of NDJSON", async (t) => {
  const { status, text } = await open(it, failing(1));
  t.equal(status, 200);
  t.equal(await text(), `${TICK}\n{"error":${JSON.stringify(ERROR)}}\n`);
});

t.test("a failure after the first message is the last server-sent event", async (t) => {
  const { status, text } = await open(it, failing(1), { headers: EVENTS });
  t.equal(status, 200);
  t.equal(await text(), `id: 1\ndata: ${TICK}\n\nevent: error\ndata: ${JSON.stringify(ERROR)}\n\n`);
});

t.test("a failure is the last message of a WebSocket", async (t) => {
  const { socket, frames, closed } = await dial(it, "/feed/count");
  socket.send(JSON.stringify({ messages: 1, code: Code.NOT_FOUND }));
  t.same(await closed, [4404, "as told"]);
  t.same(frames, [TICK, JSON.stringify(ERROR)]);
});

t.test("the log says how a stream ended, not how it began", async (t) => {
  it.logged.length = 0;
  const { text } = await open(it, failing(2));
  await text();
  t.match(it.logged, [{ status: 404, messages: 2 }]);
});

const BROKEN = { Id: "feed", Code: 502, Detail: "feed did not respond with a valid feed.Tick", Status: "Bad Gateway" };

t.test("a service that sends bytes that are no message ends the stream with 502", async (t) => {
  const { text } = await open(it, "/feed/broken");
  t.equal(await text(), `${TICK}\n{"error":${JSON.stringify(BROKEN)}}\n`);
});

const early: [title: string, path: string, status: number, timeout?: string][] = [
  ["a request that does not fit", "/feed/count?messages=many", 400],
  ["a service that cannot be reached", "/gone/helloworld/stream?messages=1", 503],
  ["a deadline that passes before the first message", "/feed/count?hang=true", 504, "50m"],
];
for (const [title, path, status, timeout] of early) {
  t.test(title, async (t) => {
    const response = await open(it, path, { headers: timeout === undefined ? {} : { "grpc-timeout": timeout } });
    t.equal(response.status, status);
    t.equal(JSON.parse(await response.text()).Code, status);
  });
}

t.test("a deadline that passes after the first message is reported in the last frame", async (t) => {
  const ask = (ms: number) => open(it, "/feed/count?messages=1&hang=true", { headers: { "grpc-timeout": `${ms}m` } });
  let response = await ask(50);
  // On a busy computer it may pass before.
  for (let ms = 100; response.status === 504; ms *= 2) response = await ask(ms);
  t.match(await response.text(), /"1".*\n\{"error":\{"Id":"feed","Code":504,"Detail":"Deadline exceeded",.*\}\n$/);
  await it.feed.idle();
});
