// The port counts its open connections by protocol, until each is closed.
import { once } from "node:events";
import t from "tap";
import { WebSocket } from "ws";
import { rawClient } from "../../http2/peer.js";
import { until } from "../../support/until.js";
import { dial, open, response } from "./dial.js";

t.test("HTTP/1.1, HTTP/2 and WebSockets are counted apart", async (t) => {
  const session = { open() {}, onMessage() {}, onDrain() {} };
  const port = await open(t, ({ target }) =>
    target === "/socket" ? { status: 101, headers: [], body: "", length: 0, session } : response("ok"),
  );
  const counts = () => Object.fromEntries(port.connections);
  t.same(counts(), { http1: 0, http2: 0, websocket: 0 });

  const first = await dial(port);
  first.socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await first.until(/ok$/);
  const second = await rawClient(t, port.address);
  t.ok(await second.answersPing());
  const client = new WebSocket(`ws://127.0.0.1:${port.address.port}/socket`);
  await once(client, "open");
  t.same(counts(), { http1: 1, http2: 1, websocket: 1 });

  first.socket.destroy();
  client.terminate();
  await until(() => counts().http1 === 0 && counts().websocket === 0);
  t.same(counts(), { http1: 0, http2: 1, websocket: 0 });
});
