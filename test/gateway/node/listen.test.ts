// Requests on a connection: each one gets exactly one response, and in order.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { listen } from "../../../gateway/node/listen.js";
import { config, dial, echo, get, open, post, response } from "./dial.js";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

t.test("a connection stays open for the next request", async (t) => {
  const client = await dial(await open(t, echo));
  client.socket.write(get("/1"));
  await client.until(/\/1 0/);
  client.socket.write(get("/2"));
  t.match(await client.until(/\/2 0/), /Keep-Alive: timeout=65/);
});

t.test("an idle connection keeps no memory of its last call", async (t) => {
  let kept: WeakRef<object>[] = [];
  const gateway = await open(t, async (request) => {
    const stop = (): void => {};
    request.onAbort(stop);
    kept = [...(await request.body()), stop, request, request.headers].map((one) => new WeakRef(one));
    return response("done");
  });
  const client = await dial(gateway);
  client.socket.write(`${post(100_000)}${"x".repeat(100_000)}`);
  await client.until(/done/);
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  t.ok(kept.length > 1);
  t.same(
    kept.filter((one) => one.deref() !== undefined),
    [],
  );
});

t.test("requests sent at once get their responses in order", async (t) => {
  const waits = new Map<string, () => void>();
  const gateway = await open(t, async ({ target }) => {
    await new Promise<void>((resolve) => waits.set(target, resolve));
    return response(target);
  });
  const client = await dial(gateway);
  client.socket.write(get("/slow") + get("/fast"));
  while (waits.size < 2) await new Promise((resolve) => setImmediate(resolve));
  waits.get("/fast")?.();
  waits.get("/slow")?.();
  t.match(await client.until(/\/fast$/), /\/slow.*\/fast$/s);
});

t.test("clients that ask at the same time all get their own response", async (t) => {
  const gateway = await open(t, echo);
  const clients = await Promise.all(Array.from({ length: 300 }, () => dial(gateway)));
  // In the first round the server still accepts the connections, one after the other.
  for (const round of [1, 2]) {
    for (const [index, { socket }] of clients.entries()) socket.write(get(`/${round}-${index}`));
    const texts = await Promise.all(clients.map((client) => client.until(new RegExp(`/${round}-.* 0$`))));
    t.same(
      texts.map((text) => text.slice(text.lastIndexOf("/"))),
      clients.map((_, index) => `/${round}-${index} 0`),
    );
  }
  for (const { socket } of clients) socket.destroy();
});

t.test("bytes after a request that are no request", async (t) => {
  t.test("do not cost the request its response, and close the connection", async (t) => {
    const client = await dial(await open(t, echo));
    client.socket.write(`${get("/1")}garbage\r\n\r\n`);
    const text = await client.rest();
    t.match(text, /\/1 0/);
    t.match(text, /Connection: close/);
  });

  t.test("are rejected separately when the request has had its response", async (t) => {
    const client = await dial(await open(t, echo));
    client.socket.write(get("/1"));
    await client.until(/\/1 0/);
    client.socket.write("garbage\r\n\r\n");
    t.match(await client.rest(), /200 OK.*400 Bad Request.*fault$/s);
  });
});

t.test("the error names an address that is in use", async (t) => {
  const { address } = await open(t, echo);
  await t.rejects(listen(echo, address, config), { code: "EADDRINUSE" });
});

t.test("a response body to a request for a WebSocket arrives unchanged", async (t) => {
  const bytes = Buffer.from([0x1f, 0x8b, 0xff, 0x00]);
  const { socket, rest } = await dial(await open(t, () => ({ status: 200, headers: [], body: bytes, length: 4 })));
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  t.ok((await rest()).endsWith(`\r\n\r\n${bytes.toString("latin1")}`));
});

t.test("a client that asks for a tunnel and resets the connection does no harm", async (t) => {
  const gateway = await open(t, echo);
  for (const wait of ["none", "response"]) {
    const { socket, until } = await dial(gateway);
    socket.write("GET /1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    await until(/\/1 0/);
    socket.write("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n");
    if (wait === "response") await until(/fault$/);
    socket.resetAndDestroy();
  }
  await gateway.close(5000);
  t.pass("an unhandled error event would have ended this process");
});
