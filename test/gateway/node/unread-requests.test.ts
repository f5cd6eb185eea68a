// Requests that wait before they are read, because their service has too many: which do, and what becomes of them.
import { Socket } from "node:net";
import t, { type Test } from "tap";
import type { UnreadRequest } from "../../../gateway/backlog.js";
import type { Handler } from "../../../gateway/http.js";
import type { Limits } from "../../../gateway/node/listen.js";
import { inTime, until } from "../../support/until.js";
import { answer, answersIn, dial, get, open } from "./dial.js";

/** A client whose first call was answered, by a service that has too many calls now. */
async function full(t: Test, limits: Partial<Limits> = {}) {
  const waiting: UnreadRequest[] = [];
  const backlog = { isFull: false, wait: (request: UnreadRequest) => waiting.push(request) };
  const begun: string[] = [];
  const handler: Handler = async (request) => {
    begun.push(request.target);
    request.setBacklog?.(backlog);
    return answer(request.target);
  };
  const door = await open(t, handler, limits);
  const client = await dial(door);
  t.teardown(() => client.socket.destroy());
  client.socket.write(get("/s/call?1"));
  await client.until(/call\?1$/);
  backlog.isFull = true;
  begun.length = 0;
  const goOn = (): void => {
    backlog.isFull = false;
    for (const request of waiting.splice(0)) request.readUnread();
  };
  return { door, client, backlog, waiting, begun, goOn };
}

t.test("a call like the last one of its connection waits, and is read when its service takes more", async (t) => {
  const { client, waiting, begun, goOn } = await full(t);
  client.socket.write(get("/s/call?2"));
  await until(() => waiting.length === 1);
  t.same(begun, []);
  goOn();
  await client.until(/call\?2$/);
});

t.test("it is read when it may be, though the service has too many again", async (t) => {
  const { client, waiting } = await full(t);
  client.socket.write(get("/s/call?2"));
  await until(() => waiting.length === 1);
  waiting[0]?.readUnread();
  await client.until(/call\?2$/);
  t.equal(waiting.length, 1);
});

const served: readonly (readonly [title: string, request: string])[] = [
  ["a call of another path", get("/s/other")],
  ["a call of a path that begins alike", get("/s/call/2")],
  ["a call by another method", get("/s/call").replace("GET", "DELETE")],
  ["a call of many bytes", get(`/s/call?${"a".repeat(5_000)}`)],
];
for (const [title, request] of served) {
  t.test(`${title} is read at once`, async (t) => {
    const { client, waiting } = await full(t);
    client.socket.write(request);
    await until(async () => answersIn(await client.until(/$/)) === 2);
    t.same(waiting, []);
  });
}

t.test("the first call of another connection is read at once", async (t) => {
  const { door, waiting } = await full(t);
  const other = await dial(door);
  other.socket.write(get("/s/call?2"));
  await other.until(/call\?2$/);
  other.socket.destroy();
  t.same(waiting, []);
});

t.test("the rest of a head that looks like such a call is read at once", async (t) => {
  const { door, client, waiting } = await full(t);
  client.socket.write("GET /s/other HTTP/1.1\r\nX: ");
  const other = await dial(door);
  other.socket.write(get("/s/call"));
  await other.until(/call$/);
  other.socket.destroy();
  client.socket.write(get("/s/call?2"));
  await client.until(/other$/);
  t.same(waiting, []);
});

t.test("what is sent behind it is not read meanwhile, and is answered in order", async (t) => {
  const { client, waiting, begun, goOn } = await full(t);
  client.socket.write(get("/s/call?2"));
  await until(() => waiting.length === 1);
  const paused = new Set<unknown>();
  const { pause } = Socket.prototype;
  t.teardown(() => {
    Socket.prototype.pause = pause;
  });
  Socket.prototype.pause = function () {
    paused.add(this);
    return pause.call(this);
  };
  client.socket.write(get("/other") + get("/s/call?3"));
  await until(() => paused.size === 1);
  t.same(begun, []);
  goOn();
  await client.until(/call\?2.*\/other.*call\?3$/s);
  client.socket.write(get("/s/call?4"));
  await client.until(/call\?4$/);
});

t.test("a client that goes meanwhile leaves nothing behind", async (t) => {
  const { client, waiting, begun, goOn } = await full(t);
  client.socket.write(get("/s/call?2"));
  await until(() => waiting.length === 1);
  client.socket.end();
  await inTime(client.rest(), "the end of the connection");
  goOn();
  t.same(begun, []);
});

t.test("it is answered when the port closes", async (t) => {
  const { door, client, waiting, goOn } = await full(t);
  client.socket.write(get("/s/call?2"));
  await until(() => waiting.length === 1);
  const closed = door.close(3_600_000);
  t.match(await inTime(client.rest(), "the end of the connection"), /Connection: close.*call\?2$/s);
  await inTime(closed, "the port's end");
  goOn();
});

t.test("a call that comes while the port closes is read at once", async (t) => {
  const { door, client, waiting } = await full(t);
  const closed = door.close(3_600_000);
  client.socket.write(get("/s/call?2"));
  t.match(await inTime(client.rest(), "the end of the connection"), /Connection: close.*call\?2$/s);
  t.same(waiting, []);
  await inTime(closed, "the port's end");
});

t.test("its wait is not time in which the client is idle", async (t) => {
  const keepAlive = 40;
  const { door, client, waiting, goOn } = await full(t, { keepAlive });
  client.socket.write(get("/s/call?2"));
  await until(() => waiting.length === 1);
  const idle = await dial(door);
  idle.socket.write(get("/"));
  await inTime(idle.rest(), "the end of an idle connection");
  goOn();
  await inTime(client.until(/call\?2$/), "the answer");
});
