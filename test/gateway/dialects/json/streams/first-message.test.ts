// A stream may be opened long before its first message. The service is called with that message,
// and the call is authorized at that time.
import { once } from "node:events";
import { request } from "node:http";
import t, { type Test } from "tap";
import { createRule, deleteRule, dial, type Scene, scene } from "./client.js";

const DETAIL = "Unauthorized call made to feed:Feed.Chat";

/** A gateway where only the rule `id` grants the endpoint. */
async function openedBy(t: Test, endpoint: string, id: string): Promise<Scene> {
  const it = await scene(t);
  const resource = `service:feed:${endpoint}`;
  await createRule(it, { id, scope: "<public>", access: "GRANTED", resource });
  await deleteRule(it, "default");
  return it;
}

/** How many calls have reached the service. */
const callsOf = ({ starts }: Scene): number => starts.filter(({ path }) => path.startsWith("/feed.")).length;

t.test("a WebSocket: the service is called with the first message, and authorized again at that time", async (t) => {
  const it = await openedBy(t, "Feed.Chat", "chat");
  const { socket, count } = await dial(it, "/feed/chat");
  t.equal(callsOf(it), 0, "not called yet");
  socket.send('{"number":1}');
  await count(1);
  t.equal(callsOf(it), 1);
  t.equal(it.decided.filter((resource) => resource.endsWith("Feed.Chat")).length, 2, "judged at both moments");
  socket.close();
});

t.test("a WebSocket that has sent nothing is closed when its rule is deleted", async (t) => {
  const it = await openedBy(t, "Feed.Chat", "chat");
  const { socket, closed } = await dial(it, "/feed/chat");
  await deleteRule(it, "chat");
  socket.send('{"number":1}');
  t.same(await closed, [4401, DETAIL]);
  t.equal(callsOf(it), 0, "and never reached the service");
});

t.test("a WebSocket that has sent nothing ends at its deadline", async (t) => {
  const it = await openedBy(t, "Feed.Chat", "chat");
  const { closed } = await dial(it, "/feed/chat", [], { "grpc-timeout": "50m" });
  t.same(await closed, [4504, "Deadline exceeded"]);
});

t.test("an upload: the service is called with the first chunk", async (t) => {
  const it = await openedBy(t, "Feed.Store", "store");
  const sending = request({ host: "127.0.0.1", port: it.port, path: "/feed/store", method: "POST", agent: false });
  sending.setHeader("expect", "100-continue");
  sending.flushHeaders();
  await once(sending, "continue");
  t.equal(callsOf(it), 0, "not called yet");
  await deleteRule(it, "store");
  sending.on("error", () => {});
  const response = once(sending, "response");
  sending.end("hello");
  t.equal((await response)[0].statusCode, 401);
  t.equal(callsOf(it), 0, "and never reached the service");
});
