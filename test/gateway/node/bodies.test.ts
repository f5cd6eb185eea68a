// How the port receives the bodies of requests: when it asks for them, how large they may be, and
// what it drops.
import t from "tap";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { answersIn, dial, echo, get, held, open, post, response } from "./dial.js";

t.test("a response may come before the body", async (t) => {
  const early: RequestHandler = () => response("early", 404);

  t.test("a small body is dropped, and the connection stays open", async (t) => {
    const client = await dial(await open(t, early));
    client.socket.write(post(5));
    await client.until(/early/);
    client.socket.write(`12345${get("/2")}`);
    t.equal(answersIn(await client.until(/early.*early/s)), 2);
  });

  t.test(
    "a large body is received before the connection closes, for clients that send everything before they read",
    async (t) => {
      const client = await dial(await open(t, early));
      client.socket.pause();
      const size = 12_000_000; // More than the system buffers of it.
      const failure = await new Promise((resolve) => client.socket.write(post(size) + "x".repeat(size), resolve));
      t.notOk(failure);
      client.socket.resume();
      t.match(await client.rest(), /404 .*Connection: close.*early$/s);
    },
  );

  t.test("a large body that does not come closes the connection, without a second response", async (t) => {
    const client = await dial(await open(t, early, { headerTime: 100, bodyTime: 100 }));
    client.socket.write(`${post(10_000_000)}${"x".repeat(1_000_000)}`);
    const text = await client.rest();
    t.match(text, /404 .*Connection: close.*early$/s);
    t.equal(answersIn(text), 1, "not even when its time is over");
  });

  t.test("a body that waits for 100 Continue is never asked for", async (t) => {
    const client = await dial(await open(t, early));
    client.socket.write("POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    t.match(await client.until(/early/), /^HTTP\/1\.1 404 .*Connection: close/s);
  });
});

t.test("a body that waits for 100 Continue is asked for when it is read", async (t) => {
  const client = await dial(await open(t, echo));
  client.socket.write("POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  client.socket.write("12345");
  t.match(await client.until(/\/p 5$/), /200 OK/);
});

t.test("a body of the maximum size is read, one byte more is not", async (t) => {
  const gateway = await open(t, echo, { maxBody: 100_000 });
  const chunked = "POST /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  const chunk = (length: number): string => `${length.toString(16)}\r\n${"x".repeat(length)}\r\n`;
  for (const [size, status, bytes] of [
    [100_000, 200, post(100_000) + "x".repeat(100_000)],
    [100_001, 413, post(100_001) + "x".repeat(100_001)],
    [100_000, 200, `${chunked}${chunk(50_000)}${chunk(50_000)}0\r\n\r\n`],
    [100_001, 413, `${chunked}${chunk(50_000)}${chunk(50_001)}0\r\n\r\n`],
  ] as const) {
    const client = await dial(gateway);
    client.socket.write(bytes);
    t.match(await client.until(/(refused|\d+)$/), new RegExp(`^HTTP/1.1 ${status} `), `${size} bytes`);
    client.socket.destroy();
  }
});

t.test("the bodies of all connections share one limit until their responses", async (t) => {
  const { handler, finish, asked } = held();
  const gateway = await open(
    t,
    async (request) => {
      const echoed = await echo(request);
      return request.target === "/p" && echoed.status === 200 ? handler(request) : echoed;
    },
    { budget: new MemoryBudget({ limit: 320_000 }) },
  );
  const first = await dial(gateway);
  first.socket.write(post(60_000) + "x".repeat(60_000));
  await asked;

  const second = await dial(gateway);
  second.socket.write(post(60_000) + "x".repeat(60_000));
  t.match(await second.until(/refused$/), /^HTTP\/1\.1 503 /, "one more");

  const third = await dial(gateway);
  const small = `${"1\r\nx\r\n".repeat(600)}0\r\n\r\n`;
  third.socket.write(`POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${small}`);
  t.match(await third.until(/refused$/), /^HTTP\/1\.1 503 /, "few bytes in many chunks");

  finish();
  await first.until(/finished$/);
  second.socket.write(post(60_000).replace("/p", "/again") + "x".repeat(60_000));
  t.match(await second.until(/\/again 60000$/), /200 OK/, "when memory is free again");
});

t.test("bytes that follow a rejected body use no memory", async (t) => {
  const gateway = await open(t, echo, { budget: new MemoryBudget({ limit: 260_000 }) });
  const refused = await dial(gateway);
  refused.socket.write(post(80_000) + "x".repeat(60_000));
  t.match(await refused.until(/refused$/), /^HTTP\/1\.1 503 /);
  refused.socket.write("x".repeat(10_000));
  const other = await dial(gateway);
  other.socket.write(post(50_000) + "x".repeat(50_000));
  t.match(await other.until(/(refused|50000)$/), /200 OK/);
  refused.socket.end("x".repeat(10_000));
  await refused.rest();
});

t.test("a response body given as text is sent in UTF-8", async (t) => {
  for (const body of ["plain", "Zoë, Ædan, 李, 🙂", "ÿ".repeat(20_000)]) {
    const length = Buffer.byteLength(body);
    const headers = ["Content-Length", String(length)];
    const gateway = await open(t, async () => ({ status: 200, headers, body, length }));
    const client = await dial(gateway);
    client.socket.write(get("/"));
    const octets = Buffer.from(body).toString("latin1");
    const text = await client.until(new RegExp(`${octets.slice(-10)}$`, "s"));
    t.equal(text.slice(text.indexOf("\r\n\r\n") + 4), octets);
    client.socket.destroy();
  }
});
