// A stream continues only while a new call would be admitted. Its last frame has the reason for its
// end.
import { once } from "node:events";
import t from "tap";
import { login, post } from "../../../deployment.js";
import { createRule, deleteRule, dial, open, scene, until } from "./client.js";

const it = await scene(t);
const RESOURCE = "service:feed:Feed.Count";
const UNAUTHORIZED = {
  ...{ Id: "feed", Code: 401, Detail: "Unauthorized call made to feed:Feed.Count", Status: "Unauthorized" },
};
const PASSWORD = "a password for both";
const ENDLESS = "/feed/count?messages=1&hang=true";
await createRule(it, { id: "nobody", scope: "<public>", access: "DENIED", resource: RESOURCE, priority: 1 });
const admit = (id: string): Promise<void> =>
  createRule(it, { id, scope: "<public>", access: "GRANTED", resource: RESOURCE, priority: 2 });

for (const [title, headers, last] of [
  ["NDJSON", {}, `{"error":${JSON.stringify(UNAUTHORIZED)}}\n`],
  ["server-sent events", { accept: "text/event-stream" }, `event: error\ndata: ${JSON.stringify(UNAUTHORIZED)}\n\n`],
] as const) {
  t.test(`the rule that admitted the stream is deleted: ${title}`, async (t) => {
    await admit(title.slice(0, 3));
    const { response, text } = await open(it, ENDLESS, { headers });
    await until(response, /"1"/);
    await deleteRule(it, title.slice(0, 3));
    t.equal(await text(), last);
    await it.feed.idle();
  });
}

t.test("the rule that admitted the stream is deleted: WebSocket", async (t) => {
  await admit("ws");
  const { socket, frames, count, closed } = await dial(it, "/feed/count");
  socket.send('{"messages":1,"hang":true}');
  await count(1);
  await deleteRule(it, "ws");
  t.same(await closed, [4401, UNAUTHORIZED.Detail]);
  t.same(frames.slice(1), [JSON.stringify(UNAUTHORIZED)]);
  await it.feed.idle();
});

for (const by of ["login", "API key"] as const) {
  t.test(`the account of the stream's ${by} is disabled`, async (t) => {
    const name = by === "login" ? "ann" : "robot";
    await post(it.handler, "/v1/auth/Accounts/Create", { name, password: PASSWORD, scopes: ["staff"] }, it.admin);
    let token = await login(it.handler, name, PASSWORD);
    if (by === "API key") token = String((await post(it.handler, "/v1/auth/Keys/Create", { name }, token)).secret);
    await createRule(it, { id: name, scope: "staff", access: "GRANTED", resource: RESOURCE, priority: 3 });
    const { response, text } = await open(it, ENDLESS, { headers: { authorization: `Bearer ${token}` } });
    await until(response, /"1"/);
    await post(it.handler, "/v1/auth/Accounts/SetDisabled", { name, disabled: true }, it.admin);
    // The guard has ended it by now, whenever the client reads that.
    await it.feed.idle();
    t.equal(await text(), `{"error":${JSON.stringify(UNAUTHORIZED)}}\n`);
    await deleteRule(it, name);
  });
}

t.test("a stream refused before its first message is an ordinary 401", async (t) => {
  await admit("early");
  const opened = once(it.feed, "opened");
  const response = open(it, "/feed/count?hang=true");
  await opened;
  await deleteRule(it, "early");
  const { status, headers, text } = await response;
  t.equal(status, 401);
  t.match(headers["www-authenticate"], /^Bearer resource_metadata="/);
  t.same(JSON.parse(await text()), UNAUTHORIZED);
});

t.test("a stream that another rule admits continues", async (t) => {
  await admit("one");
  await admit("two");
  const { response } = await open(it, ENDLESS);
  await deleteRule(it, "one");
  t.equal(it.feed.open, 1);
  response.destroy();
  await it.feed.idle();
});
