// A server-streaming endpoint over plain HTTP: one JSON object per line, each sent as it arrives.
import t from "tap";
import { OF_UNKNOWN_LENGTH, open, scene, until } from "./client.js";

const it = await scene(t);
const AUTHORIZED = { authorization: `Bearer ${it.admin}` };
const GREETING = '{"message":"Hello Ada","msg":"Hello Ada"}\n';

for (const [title, path, ask] of [
  ["GET", "/helloworld/stream?name=Ada&messages=3", {}],
  ["GET, canonical letters", "/helloworld/Helloworld/Stream?name=Ada&messages=3", {}],
  ["POST", "/helloworld/stream", { body: { name: "Ada", messages: 3 } }],
  ["POST, versioned", "/v1/helloworld/stream", { body: { name: "Ada", messages: 3 }, headers: AUTHORIZED }],
] as const) {
  t.test(title, async (t) => {
    const { status, headers, text } = await open(it, path, ask);
    t.equal(status, 200);
    t.match(headers, {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
      "x-request-id": /./,
      ...OF_UNKNOWN_LENGTH,
    });
    t.equal(await text(), GREETING.repeat(3));
  });
}

t.test("a stream without messages is an empty body", async (t) => {
  const { status, headers, text } = await open(it, "/helloworld/stream?messages=0");
  t.equal(status, 200);
  t.equal(headers["content-type"], "application/x-ndjson");
  t.equal(await text(), "");
});

t.test("each message is sent before the next one arrives", async (t) => {
  const { response } = await open(it, "/feed/count?messages=2&hang=true");
  t.equal(await until(response, /"2".*\n/), '{"number":"1","padding":""}\n{"number":"2","padding":""}\n');
  response.destroy();
});

t.test("HEAD gets the headers, and the call ends", async (t) => {
  const { status, headers, text } = await open(it, "/feed/count", { method: "HEAD" });
  t.equal(status, 200);
  t.equal(headers["content-type"], "application/x-ndjson");
  t.equal(await text(), "");
  await it.feed.idle();
});

t.test("the connection stays open for the next request", async (t) => {
  const { Agent, request } = await import("node:http");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const ports = new Set<number | undefined>();
  for (let round = 0; round < 2; round++) {
    await new Promise<void>((resolve) => {
      const asked = request({ agent, host: "127.0.0.1", port: it.port, path: "/helloworld/stream?messages=1" });
      asked.on("response", (response) => {
        ports.add(response.socket.localPort);
        response.resume().on("end", () => setImmediate(resolve));
      });
      asked.end();
    });
  }
  t.equal(ports.size, 1);
});

t.test("one line of the log when it ends: status, messages, bytes", async (t) => {
  it.logged.length = 0;
  const { status, text } = await open(it, "/helloworld/stream?name=Ada&messages=3");
  t.equal(status, 200);
  await text();
  const endpoint = "helloworld:Helloworld.Stream";
  t.match(it.logged, [{ endpoint, status: 200, messages: 3, bytes: 3 * GREETING.length, namespace: "default" }]);
  t.match(
    await it.metrics.text(),
    /portico_requests_total\{service="helloworld",endpoint="helloworld:Helloworld.Stream",code="200"\} \d/,
  );
});
