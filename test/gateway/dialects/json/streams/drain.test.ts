// When the gateway stops, streams may continue for the drain time. Streams that are open after it
// get a last frame with the reason.
import t from "tap";
import { inTime } from "../../../../support/until.js";
import { dial, open, scene, until } from "./client.js";

const STOPPING = '{"Id":"feed","Code":503,"Detail":"Portico is stopping","Status":"Service Unavailable"}';
const ENDLESS = "/feed/count?messages=1&hang=true";

t.test("streams that do not end get the reason in their last frame", async (t) => {
  const it = await scene(t);
  const lines = await open(it, ENDLESS);
  await until(lines.response, /"1"/);
  const events = await open(it, ENDLESS, { headers: { accept: "text/event-stream" } });
  await until(events.response, /"1"/);
  const { socket, frames, closed } = await dial(it, "/feed/chat");
  socket.send('{"number":1}');
  const silent = open(it, "/feed/count?hang=true");
  while (it.feed.open < 4) await new Promise((resolve) => setImmediate(resolve));
  await it.gateway.close(20);
  await it.feed.idle();
  t.equal(await lines.text(), `{"error":${STOPPING}}\n`);
  t.equal(await events.text(), `event: error\ndata: ${STOPPING}\n\n`);
  t.same(await closed, [4503, "Portico is stopping"]);
  t.same(frames.slice(1), [STOPPING]);
  t.equal((await silent).status, 503, "and what has not begun is answered");
});

t.test("the drain ends when all streams have ended", async (t) => {
  const it = await scene(t);
  const { response, text } = await open(it, ENDLESS);
  await until(response, /"1"/);
  const { socket, closed } = await dial(it, "/feed/chat");
  const stopped = it.gateway.close(600_000);
  socket.send('{"number":1}');
  socket.send("");
  t.same(await closed, [1000, ""]);
  response.destroy();
  t.equal(await text(), "");
  await inTime(stopped, "the door's end");
});

t.test("a WebSocket continues until the drain time is over", async (t) => {
  const it = await scene(t);
  const { frames, count, closed, socket } = await dial(it, "/feed/chat");
  const stopped = it.gateway.close(100);
  socket.send('{"number":1}');
  await count(1);
  t.same(await closed, [4503, "Portico is stopping"]);
  t.equal(frames.length, 2);
  await stopped;
});
