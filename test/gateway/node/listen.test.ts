// What happens on a connection: kept, closed, drained, left by the client. Each connection gets one answer a request, never
// two.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import type { HttpError } from "../../../gateway/errors.js";
import type { GatewayRequest, GatewayResponse, Handler } from "../../../gateway/http.js";
import { type Limits, type Listening, listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config.js";
import { MemoryBudget } from "../../../src/memory-budget.js";
import { deferred } from "../../support/deferred.js";

const config = loadConfig({}, {});

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

async function open(t: Test, handler: Handler, limits: Partial<Limits> = {}): Promise<Listening> {
  const door = await listen(handler, { host: "127.0.0.1", port: 0 }, { ...config, ...limits });
  t.teardown(() => door.close(0));
  return door;
}

function answer(body: string, status = 200): GatewayResponse {
  return { status, headers: ["Content-Length", String(body.length)], body, length: body.length };
}

/** Answers with the target, after the body has been read. */
const echo: Handler = async (request) => {
  if (request.fault !== undefined) return answer("fault", request.fault.status);
  try {
    const body = await request.body();
    return answer(`${request.target} ${Buffer.concat(body).length}`);
  } catch (error) {
    return answer("refused", (error as HttpError).status);
  }
};

/** A handler whose answers wait for `finish`. */
function held(): { handler: Handler; finish: () => void; asked: Promise<void> } {
  const { promise: finished, resolve: finish } = deferred();
  const { promise: asked, resolve: told } = deferred();
  const handler: Handler = async () => {
    told();
    await finished;
    return answer("finished");
  };
  return { handler, finish, asked };
}

interface Client {
  readonly socket: Socket;
  /** Resolves when so much has come that the pattern matches. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with all that came, when the server has closed the connection. */
  rest(): Promise<string>;
}

async function dial({ address }: Listening): Promise<Client> {
  const socket = connect(address.port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {}); // A reset is an end like any other here.
  const closed = once(socket, "close");
  await once(socket, "connect");
  return {
    socket,
    async until(pattern) {
      while (!pattern.test(text)) await once(socket, "data");
      return text;
    },
    async rest() {
      await closed;
      return text;
    },
  };
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (length: number): string => `POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
const answersIn = (text: string): number => text.split("HTTP/1.1 ").length - 1;

t.test("a connection is kept for the next request", async (t) => {
  const client = await dial(await open(t, echo));
  client.socket.write(get("/1"));
  await client.until(/\/1 0/);
  client.socket.write(get("/2"));
  t.match(await client.until(/\/2 0/), /Keep-Alive: timeout=65/);
});

t.test("a connection that is kept keeps nothing of its last call", async (t) => {
  let kept: WeakRef<object>[] = [];
  const door = await open(t, async (request) => {
    const stop = (): void => {};
    request.onAbort(stop);
    kept = [...(await request.body()), stop, request, request.headers].map((one) => new WeakRef(one));
    return answer("done");
  });
  const client = await dial(door);
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

t.test("requests sent at once are answered in their order", async (t) => {
  const waits = new Map<string, () => void>();
  const door = await open(t, async ({ target }) => {
    await new Promise<void>((resolve) => waits.set(target, resolve));
    return answer(target);
  });
  const client = await dial(door);
  client.socket.write(get("/slow") + get("/fast"));
  while (waits.size < 2) await new Promise((resolve) => setImmediate(resolve));
  waits.get("/fast")?.();
  waits.get("/slow")?.();
  t.match(await client.until(/\/fast$/), /\/slow.*\/fast$/s);
});

t.test("an answer may come before the body has", async (t) => {
  const early: Handler = () => answer("early", 404);

  t.test("a small body is dropped and the connection kept", async (t) => {
    const client = await dial(await open(t, early));
    client.socket.write(post(5));
    await client.until(/early/);
    client.socket.write(`12345${get("/2")}`);
    t.equal(answersIn(await client.until(/early.*early/s)), 2);
  });

  t.test(
    "a large body is taken in before the connection closes, for clients that send all before they read",
    async (t) => {
      const client = await dial(await open(t, early));
      client.socket.pause();
      const size = 12_000_000; // More than the system holds of it.
      const failure = await new Promise((resolve) => client.socket.write(post(size) + "x".repeat(size), resolve));
      t.notOk(failure);
      client.socket.resume();
      t.match(await client.rest(), /404 .*Connection: close.*early$/s);
    },
  );

  t.test("a large body that does not come closes the connection, and nothing more is said", async (t) => {
    const client = await dial(await open(t, early, { headerTime: 100, bodyTime: 100 }));
    client.socket.write(`${post(10_000_000)}${"x".repeat(1_000_000)}`);
    const text = await client.rest();
    t.match(text, /404 .*Connection: close.*early$/s);
    t.equal(answersIn(text), 1, "not even when its time is over");
  });

  t.test("a body that waits for 100 is never asked for", async (t) => {
    const client = await dial(await open(t, early));
    client.socket.write("POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    t.match(await client.until(/early/), /^HTTP\/1\.1 404 .*Connection: close/s);
  });
});

t.test("a body that waits for 100 is asked for when it is read", async (t) => {
  const client = await dial(await open(t, echo));
  client.socket.write("POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  client.socket.write("12345");
  t.match(await client.until(/\/p 5$/), /200 OK/);
});

t.test("a body of the largest size is read, one byte more is not", async (t) => {
  const door = await open(t, echo, { maxBody: 100_000 });
  const chunked = "POST /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  const chunk = (length: number): string => `${length.toString(16)}\r\n${"x".repeat(length)}\r\n`;
  for (const [size, status, bytes] of [
    [100_000, 200, post(100_000) + "x".repeat(100_000)],
    [100_001, 413, post(100_001) + "x".repeat(100_001)],
    [100_000, 200, `${chunked}${chunk(50_000)}${chunk(50_000)}0\r\n\r\n`],
    [100_001, 413, `${chunked}${chunk(50_000)}${chunk(50_001)}0\r\n\r\n`],
  ] as const) {
    const client = await dial(door);
    client.socket.write(bytes);
    t.match(await client.until(/(refused|\d+)$/), new RegExp(`^HTTP/1.1 ${status} `), `${size} bytes`);
    client.socket.destroy();
  }
});

t.test("the bodies of all connections have a bound, until they are answered", async (t) => {
  const { handler, finish, asked } = held();
  const door = await open(
    t,
    async (request) => {
      const echoed = await echo(request);
      return request.target === "/p" && echoed.status === 200 ? handler(request) : echoed;
    },
    { budget: new MemoryBudget({ limit: 320_000 }) },
  );
  const first = await dial(door);
  first.socket.write(post(60_000) + "x".repeat(60_000));
  await asked;

  const second = await dial(door);
  second.socket.write(post(60_000) + "x".repeat(60_000));
  t.match(await second.until(/refused$/), /^HTTP\/1\.1 503 /, "one more");

  const third = await dial(door);
  const small = `${"1\r\nx\r\n".repeat(600)}0\r\n\r\n`;
  third.socket.write(`POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${small}`);
  t.match(await third.until(/refused$/), /^HTTP\/1\.1 503 /, "few bytes in many pieces");

  finish();
  await first.until(/finished$/);
  second.socket.write(post(60_000).replace("/p", "/again") + "x".repeat(60_000));
  t.match(await second.until(/\/again 60000$/), /200 OK/, "when there is room again");
});

t.test("what is still sent of a body that was refused takes no room", async (t) => {
  const door = await open(t, echo, { budget: new MemoryBudget({ limit: 260_000 }) });
  const refused = await dial(door);
  refused.socket.write(post(80_000) + "x".repeat(60_000));
  t.match(await refused.until(/refused$/), /^HTTP\/1\.1 503 /);
  refused.socket.write("x".repeat(10_000));
  const other = await dial(door);
  other.socket.write(post(50_000) + "x".repeat(50_000));
  t.match(await other.until(/(refused|50000)$/), /200 OK/);
  refused.socket.end("x".repeat(10_000));
  await refused.rest();
});

t.test("as many as ask at the same time are answered, each with its own answer", async (t) => {
  const door = await open(t, echo);
  const clients = await Promise.all(Array.from({ length: 300 }, () => dial(door)));
  // In the first round the server still accepts them, one after the other.
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

t.test("a body given as a text is sent in UTF-8", async (t) => {
  for (const body of ["plain", "Zoë, Ædan, 李, 🙂", "ÿ".repeat(20_000)]) {
    const length = Buffer.byteLength(body);
    const headers = ["Content-Length", String(length)];
    const door = await open(t, async () => ({ status: 200, headers, body, length }));
    const client = await dial(door);
    client.socket.write(get("/"));
    const octets = Buffer.from(body).toString("latin1");
    const text = await client.until(new RegExp(`${octets.slice(-10)}$`, "s"));
    t.equal(text.slice(text.indexOf("\r\n\r\n") + 4), octets);
    client.socket.destroy();
  }
});

t.test("bytes after a request that are no request", async (t) => {
  t.test("does not cost the request its answer, and closes the connection", async (t) => {
    const client = await dial(await open(t, echo));
    client.socket.write(`${get("/1")}garbage\r\n\r\n`);
    const text = await client.rest();
    t.match(text, /\/1 0/);
    t.match(text, /Connection: close/);
  });

  t.test("is refused by itself when the request has been answered", async (t) => {
    const client = await dial(await open(t, echo));
    client.socket.write(get("/1"));
    await client.until(/\/1 0/);
    client.socket.write("garbage\r\n\r\n");
    t.match(await client.rest(), /200 OK.*400 Bad Request.*fault$/s);
  });
});

t.test("a client that disconnects", async (t) => {
  t.test("is reported while its answer is awaited", async (t) => {
    const { promise: request, resolve: asked } = deferred<GatewayRequest>();
    const door = await open(t, (it) => {
      asked(it);
      return new Promise<GatewayResponse>(() => {});
    });
    const client = await dial(door);
    client.socket.write(get("/1"));
    const gone = new Promise<void>((resolve) => void request.then((it) => it.onAbort(() => resolve())));
    await request;
    client.socket.destroy();
    await gone;
    t.pass("gone");
    await new Promise<void>((resolve) => void request.then((it) => it.onAbort(() => resolve())));
    t.pass("also to whoever asks later");
  });

  t.test("ends the reading of its body", async (t) => {
    const { promise: why, resolve: ended } = deferred<HttpError>();
    const door = await open(t, async (request) => {
      await Promise.resolve(request.body()).catch(ended);
      return answer("nobody reads this");
    });
    const client = await dial(door);
    client.socket.write(`${post(5)}12`, () => client.socket.destroy());
    t.equal((await why).status, 499);
  });

  t.test("is not reported after its answer", async (t) => {
    let reported = false;
    const door = await open(t, (request) => {
      request.onAbort(() => {
        reported = true;
      });
      return answer("done");
    });
    const client = await dial(door);
    client.socket.write(get("/1"));
    await client.until(/done/);
    client.socket.destroy();
    await door.close(1000);
    t.notOk(reported);
  });
});

t.test("closing the port", async (t) => {
  t.test("lets what is in flight finish, and closes its connection", async (t) => {
    const { handler, finish, asked } = held();
    const door = await open(t, handler);
    const client = await dial(door);
    client.socket.write(get("/1"));
    await asked;
    const closed = door.close(10_000);
    const late = connect(door.address.port, "127.0.0.1");
    await t.rejects(once(late, "connect"), { code: "ECONNREFUSED" }, "and accepts no more");
    finish();
    await closed;
    t.match(await client.rest(), /Connection: close.*finished$/s);
  });

  t.test("lets an answer be taken that is still on its way", async (t) => {
    const length = 32 * 1024 ** 2;
    const door = await open(t, async () => answer("x".repeat(length)));
    const client = await dial(door);
    client.socket.write(get("/1"));
    await client.until(/x$/);
    client.socket.pause();
    const closed = door.close(600_000);
    await new Promise(setImmediate);
    client.socket.resume();
    const text = await client.rest();
    t.equal(text.length - text.indexOf("\r\n\r\n") - 4, length);
    await closed;
  });

  t.test("cuts what does not finish in time", async (t) => {
    const { handler, asked } = held();
    const door = await open(t, handler);
    const client = await dial(door);
    client.socket.write(get("/1"));
    await asked;
    await door.close(20);
    t.equal(await client.rest(), "");
  });

  t.test("does not wait for connections that are idle, or never sent anything", async (t) => {
    const door = await open(t, echo);
    const idle = await dial(door);
    idle.socket.write(get("/1"));
    await idle.until(/\/1 0/);
    const silent = await dial(door);
    const before = performance.now();
    await door.close(10_000);
    t.ok(performance.now() - before < 5000);
    await Promise.all([idle.rest(), silent.rest()]);
  });
});

t.test("connections beyond the limit are closed", async (t) => {
  const door = await open(t, echo, { maxConnections: 1 });
  const first = await dial(door);
  first.socket.write(get("/1"));
  await first.until(/\/1 0/);
  const second = await dial(door);
  second.socket.write(get("/2"));
  t.equal(await second.rest(), "");
});

t.test("an address that is in use is named in the error", async (t) => {
  const { address } = await open(t, echo);
  await t.rejects(listen(echo, address, config), { code: "EADDRINUSE" });
});

t.test("bytes answered to a request for a WebSocket arrive as they are", async (t) => {
  const bytes = Buffer.from([0x1f, 0x8b, 0xff, 0x00]);
  const { socket, rest } = await dial(await open(t, () => ({ status: 200, headers: [], body: bytes, length: 4 })));
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  t.ok((await rest()).endsWith(`\r\n\r\n${bytes.toString("latin1")}`));
});

t.test("a client that asks for a tunnel and resets the connection takes nothing with it", async (t) => {
  const door = await open(t, echo);
  for (const wait of ["none", "answer"]) {
    const { socket, until } = await dial(door);
    socket.write("GET /1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    await until(/\/1 0/);
    socket.write("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n");
    if (wait === "answer") await until(/fault$/);
    socket.resetAndDestroy();
  }
  await door.close(5000);
  t.pass("an error nobody listens for would have ended this process");
});
