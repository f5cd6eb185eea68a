// If a client's share of the memory is full, its oldest unfinished bodies are given up for bodies
// that will be complete.
import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { type ConnectionMemory, MemoryBudget, type UnfinishedBody } from "../../src/memory/memory-budget.js";
import { deploy } from "../gateway/deployment.js";
import { until } from "../support/until.js";

const LIMIT = 20 * 1024 ** 2;
const BODY = JSON.stringify({ name: "a".repeat(100_000) });

/** A body that has memory reserved until it is given up. */
class Body implements UnfinishedBody {
  freeable = 0;
  isGivenUp = false;

  constructor(readonly memory: ConnectionMemory) {}

  tryReserve(bytes: number): boolean {
    if (!this.memory.tryReserve(bytes, this)) return false;
    this.freeable += bytes;
    return true;
  }

  giveUp(): void {
    this.isGivenUp = true;
    this.memory.finished(this);
    this.memory.release(this.freeable);
  }
}

/** Bodies of one address, each on its own connection, until no more fit unless one is given up. */
function fill(budget: MemoryBudget): Body[] {
  const bodies: Body[] = [];
  while (bodies.every(({ isGivenUp }) => !isGivenUp) && bodies.length < 1_000) {
    const body = new Body(budget.open("192.0.2.1"));
    t.ok(body.tryReserve(1_000_000));
    bodies.push(body);
  }
  return bodies;
}

t.test("the oldest unfinished body of the address is given up, and no more than needed", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const bodies = fill(budget);
  t.same(
    bodies.map(({ isGivenUp }) => isGivenUp),
    bodies.map((_, index) => index === 0),
  );
});

t.test("finished bodies, and bodies of other addresses, are not given up", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const other = new Body(budget.open("198.51.100.1"));
  t.ok(other.tryReserve(1_000_000));
  const finished = new Body(budget.open("192.0.2.1"));
  t.ok(finished.tryReserve(1_000_000));
  finished.memory.finished(finished);
  const [oldest] = fill(budget);
  t.same([other.isGivenUp, finished.isGivenUp, oldest?.isGivenUp], [false, false, true]);
});

t.test("no younger body is given up, and none if that would not be enough", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const [given, oldest, ...younger] = fill(budget);
  t.ok(given?.isGivenUp);
  t.notOk(oldest?.tryReserve(1_000_000), "the oldest is refused itself");
  t.notOk(new Body(budget.open("192.0.2.1")).tryReserve(LIMIT));
  t.notOk(younger.some(({ isGivenUp }) => isGivenUp));
});

t.test("if only a connection's share is full, other connections of the address keep their bodies", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const other = new Body(budget.open("192.0.2.1"));
  t.ok(other.tryReserve(1_000_000));
  const connection = budget.open("192.0.2.1");
  const bodies = Array.from({ length: 6 }, () => new Body(connection));
  for (const body of bodies) t.ok(body.tryReserve(1_000_000));
  t.ok(bodies[0]?.isGivenUp);
  t.notOk(other.isGivenUp);
});

interface TestGateway {
  readonly budget: MemoryBudget;
  readonly port: number;
}

async function openTestGateway(t: Test, limit = LIMIT): Promise<TestGateway> {
  const budget = new MemoryBudget({ limit });
  const { gateway, close } = await deploy(t.testdir(), { budget });
  t.teardown(close);
  return { budget, port: gateway.address.port };
}

/** Bodies over HTTP/1.1 that never end, until the share of the address is full. */
async function fillByHttp1(t: Test, { budget, port }: TestGateway): Promise<Socket[]> {
  const head =
    "POST /helloworld/call HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n";
  const sockets: Socket[] = [];
  for (let size = 1_000_000; size >= 50_000; ) {
    const before = budget.reserved;
    const socket = connect(port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.on("error", () => {});
    socket.write(head + " ".repeat(size));
    sockets.push(socket);
    await until(() => budget.reserved >= before + size || sockets.some((one) => one.bytesRead > 0));
    if (sockets.some((one) => one.bytesRead > 0)) return sockets;
    if (budget.reserved + 2 * size > LIMIT / 2) size = Math.floor(size / 2);
  }
  return sockets;
}

async function call({ port }: TestGateway): Promise<number> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`http://127.0.0.1:${port}/helloworld/call`, { method: "POST", headers, body: BODY });
  await response.arrayBuffer();
  return response.status;
}

t.test("HTTP/1.1: bodies of 100 KB pass while others of the address never end", async (t) => {
  const gateway = await openTestGateway(t);
  const [oldest] = await fillByHttp1(t, gateway);
  for (let round = 0; round < 5; round++) t.equal(await call(gateway), 200);
  await until(() => (oldest as Socket).bytesRead > 0);
  t.pass("the oldest was answered");
});

async function openStream(
  t: Test,
  session: ClientHttp2Session,
  bytes: number,
  path = "/helloworld/call",
): Promise<{ status: number | undefined }> {
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
  const state: { status: number | undefined } = { status: undefined };
  stream.on("response", (headers) => (state.status = headers[":status"]));
  stream.on("error", () => {});
  stream.resume();
  t.teardown(() => stream.destroy());
  stream.write(" ".repeat(bytes));
  return state;
}

async function openSession(t: Test, { port }: TestGateway): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  t.teardown(() => session.destroy());
  await once(session, "connect");
  return session;
}

async function callByHttp2(session: ClientHttp2Session): Promise<number | undefined> {
  const stream = session.request({
    ":method": "POST",
    ":path": "/helloworld/call",
    "content-type": "application/json",
  });
  stream.end(BODY);
  const [headers] = await once(stream, "response");
  stream.resume();
  await once(stream, "close");
  return headers[":status"];
}

t.test("HTTP/2: bodies of 100 KB pass while others of the connection never end", async (t) => {
  const gateway = await openTestGateway(t);
  const session = await openSession(t, gateway);
  const states: { status: number | undefined }[] = [];
  while (states.every(({ status }) => status === undefined) && states.length < 40) {
    const before = gateway.budget.reserved;
    states.push(await openStream(t, session, 400_000));
    await until(() => gateway.budget.reserved > before + 300_000 || states.some(({ status }) => status !== undefined));
  }
  t.equal(await callByHttp2(session), 200);
  t.equal(states[0]?.status, 503, "the oldest made room");
  t.ok(states.slice(3).every(({ status }) => status === undefined));
});

// Any client may send a body to /auth/login: it is read before the caller is known.

/** A login whose body never ends. @param framing the header that states the length of the body */
function openLogin(t: Test, { port }: TestGateway, framing: string, body: Buffer): Socket {
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(`POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`);
  socket.write(body);
  return socket;
}

t.test("HTTP/1.1: bodies of 100 KB pass while logins of 4 MiB never end, which are refused at once", async (t) => {
  const gateway = await openTestGateway(t);
  // Together as much as the address may reserve, if they were received.
  const part = Buffer.alloc(LIMIT / 2 / 20 - 4_000, " ");
  const statuses: string[] = [];
  for (let count = 0; count < 20; count++) {
    const socket = openLogin(t, gateway, `Content-Length: ${4 * 1024 ** 2}`, part);
    socket.once("data", (response) => statuses.push(String(response).slice(0, "HTTP/1.1 413".length)));
  }
  await until(() => statuses.length === 20 || gateway.budget.reserved >= 20 * part.length);
  for (let round = 0; round < 5; round++) t.equal(await call(gateway), 200);
  t.same(statuses, Array(20).fill("HTTP/1.1 413"));
});

/** The beginning of the largest accepted login; only its end is missing. */
const LOGIN = Buffer.alloc(16_000, " ");
const SMALL_LIMIT = 2 * 1024 ** 2;

t.test("HTTP/1.1: bodies of 100 KB pass while as many logins as fit in the memory never end", async (t) => {
  const gateway = await openTestGateway(t, SMALL_LIMIT);
  const chunk = Buffer.concat([Buffer.from(`${LOGIN.length.toString(16)}\r\n`), LOGIN]);
  const sockets: Socket[] = [];
  while (gateway.budget.reserved < SMALL_LIMIT - 2 * LOGIN.length) {
    const before = gateway.budget.reserved;
    sockets.push(openLogin(t, gateway, "Transfer-Encoding: chunked", chunk));
    await until(() => gateway.budget.reserved >= before + LOGIN.length);
  }
  for (let round = 0; round < 5; round++) t.equal(await call(gateway), 200);
  await until(() => (sockets[0] as Socket).bytesRead > 0);
  t.equal(sockets.at(-1)?.bytesRead, 0, "the newest login still waits for its end");
});

t.test("HTTP/2: bodies of 100 KB pass while logins of the connection never end", async (t) => {
  const gateway = await openTestGateway(t, SMALL_LIMIT);
  const session = await openSession(t, gateway);
  const states: { status: number | undefined }[] = [];
  while (states.every(({ status }) => status === undefined)) {
    const before = gateway.budget.reserved;
    states.push(await openStream(t, session, LOGIN.length, "/auth/login"));
    await until(
      () => gateway.budget.reserved >= before + LOGIN.length || states.some(({ status }) => status !== undefined),
    );
  }
  for (let round = 0; round < 5; round++) t.equal(await callByHttp2(session), 200);
  t.equal(states[0]?.status, 503, "the oldest made room");
  t.equal(states.at(-1)?.status, undefined, "the newest login still waits for its end");
});
