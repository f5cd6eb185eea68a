// The memory that the process really uses for clients that do not read is what it has reserved for
// them. Otherwise the budget would limit only a part of it.

import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { deploy } from "../gateway/deployment.js";
import { until } from "../support/until.js";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const CLIENTS = 4;
const NAME = "a".repeat(1_000_000);
/** Bytes of a response, which contains the name twice. */
const ANSWER = 2 * NAME.length;

function post(path: string, more: object): string {
  const body = JSON.stringify({ name: NAME, ...more });
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A request for a WebSocket, followed by a message on it: a text frame, masked with zeros. */
function webSocket(text: string): Buffer {
  const header = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(text.length, 6);
  const upgrade =
    "GET /helloworld/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
  return Buffer.concat([Buffer.from(upgrade), header, Buffer.from(text)]);
}

interface Attack {
  readonly title: string;
  readonly requests: Buffer;
  /** Bytes that must be reserved for each client, and how many times as much may be in use. */
  readonly reserved: number;
  readonly times: number;
}

const ATTACKS: readonly Attack[] = [
  // Ten times as much as the operating system buffers.
  { title: "responses", requests: Buffer.from(post("/helloworld/call", {}).repeat(20)), reserved: ANSWER, times: 1.25 },
  // The service stores the request while the stream lasts.
  {
    title: "streams",
    requests: Buffer.from(post("/helloworld/stream", { messages: 1_000 })),
    reserved: ANSWER + NAME.length,
    times: 1.25,
  },
  // A WebSocket's request is no longer reserved when it was passed on.
  {
    title: "WebSockets",
    requests: webSocket(JSON.stringify({ name: NAME, messages: 1_000 })),
    reserved: ANSWER,
    times: 1.75,
  },
];

for (const { title, requests, reserved, times } of ATTACKS) {
  t.test(`unread ${title} take as much memory as is reserved for them`, async (t) => {
    const budget = new MemoryBudget();
    const { gateway, close } = await deploy(t.testdir(), { budget });
    t.teardown(() => close());
    // Another thread also frees what earlier tests left.
    for (let turn = 0; turn < 10; turn++) await collected();
    const before = inUse();
    for (let client = 0; client < CLIENTS; client++) {
      const socket = connect(gateway.address.port, "127.0.0.1").pause();
      t.teardown(() => socket.destroy());
      socket.on("error", () => {}).write(requests);
    }
    await until(() => budget.reserved >= CLIENTS * reserved);
    const held = (): number => inUse() - before;
    for (let turn = 0; turn < 100 && held() > times * budget.reserved; turn++) await collected();
    t.ok(held() <= times * budget.reserved, `${held()} bytes are held, ${budget.reserved} reserved`);
  });
}

async function collected(): Promise<void> {
  collect();
  await new Promise((resolve) => setImmediate(resolve));
}

function inUse(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
