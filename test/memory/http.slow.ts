// The memory that clients of the HTTP port can make the gateway use is limited, whatever they do.
// When they have disconnected, or have read their responses, nothing stays reserved.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { type Deployment, deploy } from "../gateway/deployment.js";
import { fc } from "../support/properties.js";
import { until } from "../support/until.js";

const LIMIT = 20 * 1024 ** 2;
const NAME = "a".repeat(500_000);

interface Fixture extends Deployment {
  readonly budget: MemoryBudget;
}

async function open(t: Test, limit = LIMIT): Promise<Fixture> {
  const budget = new MemoryBudget({ limit });
  const deployment = await deploy(t.testdir(), { budget });
  t.teardown(() => deployment.close());
  return { ...deployment, budget };
}

function post(path: string, body: string, length = body.length): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

const UPGRADE =
  "GET /helloworld/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
/** A text frame of 1 MiB, masked with zeros, without its last byte. */
const FRAME = Buffer.concat([
  Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]),
  Buffer.alloc(2 ** 20 - 1, "a"),
]);

const HOSTILE: [title: string, bytes: readonly (string | Buffer)[]][] = [
  ["responses that are not read", [post("/helloworld/call", JSON.stringify({ name: NAME })).repeat(10)]],
  ["bodies that do not end", [post("/helloworld/call", JSON.stringify({ name: NAME.repeat(4) }), 4 * 2 ** 20)]],
  ["streams that are not read", [post("/helloworld/stream", JSON.stringify({ name: NAME, messages: 1_000 }))]],
  ["WebSocket messages that do not end", [UPGRADE, FRAME]],
];

/** A client that reads nothing. Resolves when it was disconnected, or could write everything. */
async function attack(t: Test, { gateway }: Fixture, bytes: readonly (string | Buffer)[]): Promise<Socket> {
  const socket = connect({ port: gateway.address.port, host: "127.0.0.1", localAddress: "127.0.0.2" }).pause();
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  for (const some of bytes) socket.write(some);
  return socket;
}

for (const [title, bytes] of HOSTILE) {
  t.test(`${title}: one address can reserve at most half of the memory`, async (t) => {
    const it = await open(t);
    const sockets: Socket[] = [];
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, it.budget.reserved);
    }, 1);
    t.teardown(() => clearInterval(watch));
    for (let round = 0; round < 16; round++) sockets.push(await attack(t, it, bytes));
    await until(() => most > LIMIT / 8);
    const call = await fetch(`http://127.0.0.1:${it.gateway.address.port}/helloworld/call`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: NAME }),
    });
    t.equal(call.status, 200, "another address is served");
    await call.arrayBuffer();
    // What waits for the other address is not of this one.
    t.ok(most <= LIMIT / 2 + 3 * NAME.length, `${most} bytes`);
    for (const socket of sockets) socket.destroy();
    await until(() => it.budget.reserved === 0);
    t.pass("and nothing when they have gone");
  });
}

t.test("66 unfinished uploads of one address leave memory for another address", async (t) => {
  const budget = new MemoryBudget();
  const deployment = await deploy(t.testdir(), { budget });
  t.teardown(() => deployment.close());
  const body = JSON.stringify({ name: "a".repeat(4_000_000) });
  for (let client = 0; client < 66; client++) {
    await attack(t, { ...deployment, budget }, [post("/helloworld/call", body, 4 * 2 ** 20)]);
  }
  await until(() => budget.reserved > 100 * 2 ** 20);
  const response = await fetch(`http://127.0.0.1:${deployment.gateway.address.port}/helloworld/call`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "a".repeat(1_900_000) }),
  });
  t.equal(response.status, 200);
  await response.arrayBuffer();
});

t.test("a response for which there is no memory is refused before it begins", async (t) => {
  const it = await open(t, 3_000_000);
  const response = await fetch(`http://127.0.0.1:${it.gateway.address.port}/helloworld/call`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: NAME }),
  });
  t.equal(response.status, 503);
  t.match(await response.json(), { Id: "helloworld", Code: 503, Detail: /too much/i });
  t.equal(response.headers.get("retry-after"), "1");
});

t.test("a WebSocket whose message does not fit is closed with a reason", async (t) => {
  const it = await open(t, 2_000_000);
  const socket = connect(it.gateway.address.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let response = "";
  socket.setEncoding("latin1").on("data", (text) => {
    response += text;
  });
  socket.on("error", () => {});
  socket.write(UPGRADE);
  socket.write(FRAME);
  await new Promise((resolve) => socket.once("close", resolve));
  t.match(response, /"Code":503/);
});

t.test("calls that fit leave nothing reserved", async (t) => {
  const it = await open(t);
  const url = `http://127.0.0.1:${it.gateway.address.port}/helloworld`;
  for (const [path, name] of [
    ["call", "a"],
    ["call", NAME],
    ["stream", "a"],
    ["stream", NAME],
  ]) {
    const body = JSON.stringify({ name, ...(path === "stream" ? { messages: 3 } : {}) });
    const response = await fetch(`${url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    await response.arrayBuffer();
  }
  await until(() => it.budget.reserved === 0);
  t.pass();
});

t.test("clients that send parts, read parts and disconnect, in any order, leave nothing reserved", async (t) => {
  const it = await open(t, 4 * 1024 ** 2);
  const requests = [
    post("/helloworld/call", JSON.stringify({ name: "a".repeat(10_000) })),
    post("/helloworld/call", JSON.stringify({ name: "a".repeat(300_000) })),
    post("/helloworld/stream", JSON.stringify({ name: "a".repeat(50_000), messages: 20 })),
    "GET /helloworld/call?name=a HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50),
    "POST /helloworld/call HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
      "2000\r\n".concat(" ".repeat(0x2000), "\r\n").repeat(20),
    `${UPGRADE}${FRAME.toString("latin1").slice(0, 200_000)}`,
    "nonsense\r\n\r\n",
  ];
  const client = fc.record({
    request: fc.nat(requests.length - 1),
    /** How much of it is sent, in percent. */
    sent: fc.constantFrom(10, 50, 90, 100, 100),
    reads: fc.boolean(),
    leaves: fc.constantFrom("destroy", "reset", "end"),
    after: fc.nat(5),
  });
  const property = fc.asyncProperty(fc.array(client, { minLength: 1, maxLength: 12 }), async (clients) => {
    await Promise.all(
      clients.map(async ({ request, sent, reads, leaves, after }) => {
        const socket = connect(it.gateway.address.port, "127.0.0.1");
        socket.on("error", () => {});
        await once(socket, "connect");
        if (reads) socket.resume();
        const text = requests[request] as string;
        socket.write(text.slice(0, (text.length * sent) / 100), "latin1");
        for (let turn = 0; turn < after; turn++) await new Promise((resolve) => setImmediate(resolve));
        if (leaves === "reset") socket.resetAndDestroy();
        else if (leaves === "end") socket.end(() => socket.destroy());
        else socket.destroy();
      }),
    );
    // Also of connections that had reserved nothing.
    await until(() => it.budget.addresses === 0);
    assert.equal(it.budget.reserved, 0);
  });
  await fc.assert(property, { numRuns: 40 });
});
