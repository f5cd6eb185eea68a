// What the process really holds for clients that do not read is what it has reserved for them: else the budget would limit
// only a part of it.

import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { MemoryBudget } from "../../src/memory-budget.js";
import { deploy } from "../gateway/deployment.js";
import { until } from "../support/until.js";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const CLIENTS = 4;
const NAME = "a".repeat(1_000_000);
/** Bytes of an answer, which has the name twice. */
const ANSWER = 2 * NAME.length;

function post(path: string, more: object): string {
  const body = JSON.stringify({ name: NAME, ...more });
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const ATTACKS: [title: string, requests: Buffer, reserved: number][] = [
  // Ten times as much as the system buffers.
  ["answers", Buffer.from(post("/helloworld/call", {}).repeat(20)), ANSWER],
  // A service may keep the request of a stream.
  ["streams", Buffer.from(post("/helloworld/stream", { messages: 1_000 })), ANSWER + NAME.length],
];

for (const [title, requests, each] of ATTACKS) {
  t.test(`what is held for ${title} that are not read is what is reserved`, async (t) => {
    const budget = new MemoryBudget();
    const { door, close } = await deploy(t.testdir(), { budget });
    t.teardown(() => close());
    collect();
    const before = inUse();
    for (let client = 0; client < CLIENTS; client++) {
      const socket = connect(door.address.port, "127.0.0.1").pause();
      t.teardown(() => socket.destroy());
      socket.on("error", () => {}).write(requests);
    }
    await until(() => budget.reserved >= CLIENTS * each);
    const held = (): number => inUse() - before;
    // Another thread gives back what was collected.
    for (let turn = 0; turn < 100 && held() > 1.25 * budget.reserved; turn++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.ok(held() <= 1.25 * budget.reserved, `${held()} bytes are held, ${budget.reserved} reserved`);
  });
}

function inUse(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
