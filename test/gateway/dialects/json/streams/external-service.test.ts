// An external service in a process of its own, called by gRPC, that asks no guard. The guarantees
// of streams hold nevertheless.
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import type { Guard } from "../../../../../src/access/guard.js";
import { loadConfig } from "../../../../../src/config/config.js";
import { Code } from "../../../../../src/errors.js";
import { createLog } from "../../../../../src/log.js";
import { Dispatcher } from "../../../../../src/rpc/dispatch.js";
import { serveHttp2 } from "../../../../../src/rpc/http2/server.js";
import { part, type Service } from "../../../../../src/rpc/service.js";
import { BYTES } from "../../../../rpc/raw-service.js";
import { checkPrompt, createRule, deleteRule, dial, open, type Scene, scene, until } from "./client.js";
import { Feed } from "./feed.js";

const feed = new Feed();
const it = await scene(t);
await serve(it, { ...feed.service, name: "abroad" });

/** Serves a service outside the gateway's process, and resolves when the gateway knows it. */
async function serve({ add, catalog }: Scene, service: Service): Promise<void> {
  const everyone: Guard = {
    admit: (_, endpoint) => ({ endpoint, caller: undefined, namespace: "default" }),
    allows: () => true,
    count: () => undefined,
    follow: () => ({ mayPass: () => true, end: () => {} }),
  };
  const limits = loadConfig({}, {});
  const dispatcher = new Dispatcher({ services: [service], guard: everyone, limits, log: createLog("silent") });
  const server = await serveHttp2(dispatcher, { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => server.close(0));
  const addresses = [`127.0.0.1:${server.address.port}`];
  const descriptors = Buffer.from(service.descriptors);
  add({ service: service.name, addresses, descriptors, grpcServices: ["feed.Feed"] });
  while (catalog.routes.find(`/${service.name}/feed/count`) === undefined) await sleep(1);
}

t.test("an external service streams in both directions", async (t) => {
  const { text } = await open(it, "/abroad/feed/count?messages=2");
  t.equal(await text(), '{"number":"1","padding":""}\n{"number":"2","padding":""}\n');
  const { socket, frames, closed } = await dial(it, "/abroad/feed/collect");
  for (const number of [1, 2]) socket.send(JSON.stringify({ number }));
  socket.send("");
  t.same(await closed, [1000, ""]);
  t.same(frames, ['{"count":"2","total":"3"}']);
});

for (const [title, headers, pattern] of [
  [
    "NDJSON",
    {},
    /^\{"number":"1".*\n\{"number":"2".*\n\{"number":"3".*\n\{"error":\{"Id":"abroad","Code":404,.*\}\}\n$/,
  ],
  ["server-sent events", { accept: "text/event-stream" }, /"1".*\n\nid: 2\n.*\n\nid: 3\n.*\n\nevent: error\n.*\n\n$/],
] as const) {
  t.test(`messages before a failure are sent before it: ${title}`, async (t) => {
    const { status, text } = await open(it, `/abroad/feed/count?messages=3&code=${Code.NOT_FOUND}`, { headers });
    t.equal(status, 200);
    t.match(await text(), pattern);
  });
}

t.test("a deleted rule ends streams of an external service", async (t) => {
  const rule = { scope: "<public>", resource: "service:abroad:*" };
  await createRule(it, { ...rule, id: "nobody", access: "DENIED", priority: 1 });
  await createRule(it, { ...rule, id: "anyone", access: "GRANTED", priority: 2 });
  const { response, text } = await open(it, "/abroad/feed/count?messages=1&hang=true");
  await until(response, /"1"/);
  const { frames, closed } = await dial(it, "/abroad/feed/chat");
  await deleteRule(it, "anyone");
  t.match(await text(), /^\{"error":\{"Id":"abroad","Code":401,.*\}\}\n$/);
  t.same(await closed, [4401, "Unauthorized call made to abroad:Feed.Chat"]);
  t.match(frames, [/^\{"Id":"abroad","Code":401,/]);
  await feed.idle();
  await deleteRule(it, "nobody");
});

t.test("the service learns within 50 ms that a client has left", async (t) => {
  await checkPrompt(t, async () => {
    const { response } = await open(it, "/abroad/feed/count?messages=1&hang=true");
    await until(response, /"1"/);
    const over = once(feed, "over");
    const before = performance.now();
    response.destroy();
    await over;
    return performance.now() - before;
  });
});

t.test("a client that does not read pauses the service", async (t) => {
  feed.produced = 0;
  const padding = 16 * 1024;
  const { response } = await open(it, `/abroad/feed/count?padding=${padding}`);
  response.pause();
  for (let last = -1; last !== feed.produced; await sleep(150)) last = feed.produced;
  const held = (feed.produced * padding) / 1024 ** 2;
  t.ok(held < 16, `after ${held.toFixed(1)} MiB`);
  response.destroy();
  await feed.idle();
});

t.test("a client stream to which the service sends no message gets 502", async (t) => {
  const collect = { path: "/feed.Feed/Collect", requestStream: true, responseStream: true, ...BYTES } as const;
  const nothing = part({ collect }, { async *collect() {} });
  await serve(it, { ...feed.service, name: "wrong", parts: [nothing] });
  const { socket, closed } = await dial(it, "/wrong/feed/collect");
  socket.send("");
  t.same(await closed, [4502, "wrong responded with 0 messages instead of one"]);
});
