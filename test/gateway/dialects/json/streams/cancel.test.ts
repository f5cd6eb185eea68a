// A client that leaves ends its call at the service, within 50 ms.
import { once } from "node:events";
import t from "tap";
import type { WebSocket } from "ws";
import { inTime } from "../../../../support/until.js";
import { checkPrompt, dial, logLine, open, scene } from "./client.js";

const it = await scene(t);
const NAME = "feed:Feed.Count";

/** How long after `leave` the service learns that the call has ended, in milliseconds. */
async function hears(leave: () => void): Promise<number> {
  const over = inTime(once(it.feed, "over"), "the end of the call at the service");
  const before = performance.now();
  leave();
  await over;
  return performance.now() - before;
}

for (const [title, path, headers] of [
  ["a silent stream", "/feed/count?messages=1&hang=true", {}],
  ["a busy stream", "/feed/count", {}],
  ["events", "/feed/count?messages=1&hang=true", { accept: "text/event-stream" }],
] as const) {
  t.test(title, async (t) => {
    await checkPrompt(t, async () => {
      it.logged.length = 0;
      const { response } = await open(it, path, { headers });
      await once(response, "readable");
      return hears(() => response.destroy());
    });
    t.match(await logLine(it, NAME), { status: 200, endedBy: "client" });
    t.notMatch(await it.metrics.text(), /^portico_requests_total.*"feed:Feed.Count".*code="4/m);
  });
}

t.test("a client that leaves before the first message cancels the call", async (t) => {
  const { request } = await import("node:http");
  await checkPrompt(t, async () => {
    const opened = once(it.feed, "opened");
    const asked = request({ host: "127.0.0.1", port: it.port, path: "/feed/count?hang=true", agent: false });
    asked.on("error", () => {}).end();
    await opened;
    return hears(() => asked.destroy());
  });
});

const LEAVING: [title: string, leave: (socket: WebSocket) => void][] = [
  ["a WebSocket that is closed", (socket) => socket.close()],
  ["a WebSocket whose connection is cut", (socket) => socket.terminate()],
];
for (const [title, leave] of LEAVING) {
  t.test(`${title} while the service reads nothing`, async (t) => {
    await checkPrompt(t, async () => {
      it.feed.read = 0;
      const { socket } = await dial(it, "/feed/stall");
      for (let sent = 0; sent < 200; sent++) socket.send("{}");
      socket.ping();
      await once(socket, "pong");
      t.equal(it.feed.read, 1);
      return hears(() => leave(socket));
    });
  });
}

for (const [title, leave] of LEAVING) {
  t.test(title, async (t) => {
    await checkPrompt(t, async () => {
      const { socket, count } = await dial(it, "/feed/chat");
      socket.send('{"number":1}');
      await count(1);
      return hears(() => leave(socket));
    });
  });
}
