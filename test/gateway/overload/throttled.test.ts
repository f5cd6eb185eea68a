// A client that repeats a request after it was refused in an overload: which of its requests are
// throttled before they are read, and for how long.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { MAX_WAIT_MS, PERIOD_MS } from "../../../src/overload/call-queue.js";
import { HTTP_VERSIONS, httpClient } from "../../support/http-client.js";
import { inTime, until } from "../../support/until.js";
import { startBusy } from "./busy.js";

/** Longer than any test. */
const LONG = 3_600_000;

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (path: string, name: string): string => {
  const body = JSON.stringify({ name });
  const headers = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST ${path} HTTP/1.1\r\n${headers}\r\n\r\n${body}`;
};
const HELLO = "/helloworld/call";

/** A client whose first request has been refused. */
async function refused(t: Test, maxThrottleMs: number) {
  const it = await startBusy(t, { maxThrottleMs });
  const { gateway, loop, dispatched } = it;
  const socket = connect(gateway.address.port, gateway.address.host).setNoDelay();
  t.teardown(() => socket.destroy());
  const responses = statusesOf(socket);
  socket.write(get(`${HELLO}?name=Ada`));
  await it.waiting();
  loop.turn();
  loop.milliseconds += MAX_WAIT_MS + 1;
  it.turn();
  await until(() => responses().length === 1);
  t.same(responses(), ["503"]);
  t.ok(loop.isIdle);
  /** Waits until the port has read all bytes that were sent before, on any connection. */
  const read = async () => {
    const client = httpClient(t, "HTTP/1.1", gateway.address);
    t.equal((await inTime(client.send({ path: "/probe/tell" }), "another call")).status, 200);
  };
  return { ...it, dispatched, socket, statuses: responses, read };
}

/** The statuses that have arrived so far. */
function statusesOf(socket: Socket): () => string[] {
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  return () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status as string);
}

t.test("the same call on the connection is throttled, and read when the port closes", async (t) => {
  const it = await refused(t, LONG);
  it.socket.write(get(`${HELLO}?name=Bob`));
  await it.read();
  t.same(it.dispatched, ["service:probe:Probe.Tell"], "it has not been read");
  const closed = it.gateway.close(LONG);
  await until(() => it.statuses().length === 2);
  t.same(it.statuses(), ["503", "200"]);
  await inTime(closed, "the port's end");
});

t.test("a throttled call is read when its time has come", async (t) => {
  const it = await refused(t, 1);
  it.socket.write(get(`${HELLO}?name=Bob`));
  await until(() => it.statuses().length === 2);
  t.same(it.statuses(), ["503", "200"]);
});

const served: readonly (readonly [title: string, request: string, endpoint: string | undefined])[] = [
  ["a call of another endpoint", get("/probe/tell"), "Probe.Tell"],
  ["a request for another path that begins alike", get(`${HELLO}s`), undefined],
  ["a call by another method", post(HELLO, "Bob"), "Helloworld.Call"],
  ["a call with more bytes than the port buffers", get(`${HELLO}?name=${"a".repeat(5_000)}`), "Helloworld.Call"],
];
for (const [title, request, endpoint] of served) {
  t.test(`${title} on the connection is served at once`, async (t) => {
    const it = await refused(t, LONG);
    it.socket.write(request);
    await until(() => it.statuses().length === 2);
    t.same(it.statuses(), ["503", endpoint === undefined ? "404" : "200"]);
    t.match(it.dispatched, endpoint === undefined ? [] : [new RegExp(endpoint)]);
  });
}

t.test("a throttled call that arrives in chunks stays throttled as a whole", async (t) => {
  const it = await refused(t, LONG);
  it.socket.write(`GET ${HELLO}?`);
  await it.read();
  it.socket.write("name=Bob HTTP/1.1\r\nHost: x\r\n\r\n");
  await it.read();
  t.notMatch(it.dispatched, [/Helloworld/]);
  const closed = it.gateway.close(LONG);
  await until(() => it.statuses().length === 2);
  t.same(it.statuses(), ["503", "200"]);
  await inTime(closed, "the port's end");
});

t.test("a throttled call is served at once when more of it arrives than the port buffers", async (t) => {
  const it = await refused(t, LONG);
  it.socket.write(`GET ${HELLO}?name=`);
  await it.read();
  it.socket.write(`${"a".repeat(5_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(() => it.statuses().length === 2);
  t.same(it.statuses(), ["503", "200"]);
});

t.test("the connection of a client that goes while its call is throttled closes at once", async (t) => {
  const it = await refused(t, LONG);
  const closed = once(it.socket, "close");
  it.socket.end(get(`${HELLO}?name=Gone`));
  await inTime(closed, "the connection's end");
  await inTime(it.gateway.close(0), "the port's end");
  t.notMatch(it.dispatched, [/Helloworld/]);
});

for (const version of HTTP_VERSIONS) {
  t.test(`${version}: if more calls wait than began in the last period, a call is refused as it arrives`, async (t) => {
    const { loop, callQueue, gateway } = await startBusy(t, { maxThrottleMs: 1 });
    const begin = (): void => {
      loop.milliseconds += PERIOD_MS;
    };
    for (let call = 0; call < 5; call++)
      callQueue.wait("helloworld", { begin, refuse: () => t.fail("it has not waited for long") });
    for (let turn = 0; turn < 3; turn++) loop.turn();
    const response = httpClient(t, version, gateway.address).send({ path: `${HELLO}?name=Ada` });
    t.equal((await inTime(response, "the refusal")).status, 503);
    t.equal(callQueue.refused, 1);
  });
}
