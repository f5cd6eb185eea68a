// Requests whose bodies arrive later than their headers. They wait for another turn, because their
// calls begin only when the body has arrived.
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import t, { type Test } from "tap";
import { MAX_WAIT_MS } from "../../../src/overload/call-queue.js";
import { fillTurn } from "../../overload/manual-loop.js";
import { until } from "../../support/until.js";
import { startBusy } from "./busy.js";

const BODY = '{"name":"Ada"}';
const PATH = "/helloworld/call";

/** A request that has begun. It sends its body when the process has no time for more. */
async function start(t: Test) {
  const it = await startBusy(t, { maxThrottleMs: 1 });
  it.turn();
  const socket = connect(it.gateway.address.port, it.gateway.address.host);
  t.teardown(() => socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  const headers = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue`;
  socket.write(`POST ${PATH} HTTP/1.1\r\n${headers}\r\n\r\n`);
  await until(() => text.includes("100 Continue"));
  fillTurn(it.callQueue, it.loop);
  socket.write(BODY);
  await it.waiting();
  t.same(it.callQueue.groups, ["helloworld"]);
  t.same(it.dispatched, [], "the call has not begun");
  return { ...it, socket, response: () => text };
}

t.test("the call begins when its turn has come", async (t) => {
  const it = await start(t);
  it.turn();
  await until(() => it.response().includes("Hello Ada"));
  t.same(it.dispatched, ["service:helloworld:Helloworld.Call"]);
});

t.test("a request that has waited too long is refused, without a line in the log", async (t) => {
  const it = await start(t);
  it.loop.turn();
  it.loop.milliseconds += MAX_WAIT_MS + 1;
  it.turn();
  await until(() => /HTTP\/1\.1 503[\s\S]*Retry-After: 1\r\n/.test(it.response()));
  t.same(it.dispatched, []);
  t.same(it.logged, []);
  t.equal(it.callQueue.refused, 1);
});

t.test("a request whose client has gone leaves the queue", async (t) => {
  const it = await start(t);
  it.socket.destroy();
  await until(() => it.callQueue.cancelled === 1);
  it.turn();
  t.same(it.dispatched, []);
});

t.test("the same happens over HTTP/2", async (t) => {
  const { gateway, callQueue, loop, turn, waiting, dispatched } = await startBusy(t, { maxThrottleMs: 1 });
  turn();
  const session = connectHttp2(`http://${gateway.address.host}:${gateway.address.port}`);
  t.teardown(() => session.destroy());
  const headers = { "content-type": "application/json", expect: "100-continue" };
  const request = session.request({ ":method": "POST", ":path": PATH, ":authority": "localhost", ...headers });
  await once(request, "continue");
  fillTurn(callQueue, loop);
  request.end(BODY);
  await waiting();
  t.same(dispatched, []);
  turn();
  const [{ ":status": status }] = await once(request, "response");
  t.equal(status, 200);
});
