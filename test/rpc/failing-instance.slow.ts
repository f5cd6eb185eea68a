// One of two instances fails while calls are made: its handler hangs, its process is stopped, or
// its connection carries no more bytes. The tests count how many calls fail, and for how long.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { type Address, parseAddress } from "../../src/address/address.js";
import { Code } from "../../src/errors.js";
import { Balancer } from "../../src/rpc/balancer.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { listenHttp2 } from "../http2/serve.js";
import { MAX_WAIT, until } from "../support/until.js";
import { rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";

const CALLERS = 20;
/** The pause between two calls of a caller. */
const PAUSE_MS = 20;

const TICK_MS = 100;
/**
 * The clock of these tests, in ticks of TICK_MS. When a busy computer does nothing for a while,
 * this clock stands still, as do the timers that are tested.
 */
let now = 0;
const ticking = setInterval(() => now++, TICK_MS);
t.teardown(() => clearInterval(ticking));

// The tests run in parallel, because they mostly wait.
t.jobs = 3;

interface Load {
  /** Ends the load. @returns how its calls went since the fault, with times in ticks */
  stop(): Promise<{ made: number; failed: number; lastFailure: number; longest: number }>;
}

/**
 * Starts callers that each make one call after another. A pause between the calls leaves processor
 * time to the tests that run in parallel.
 */
function load(balancer: Balancer, path: string, time: number): Load {
  const from = now;
  let running = true;
  let made = 0;
  let failed = 0;
  let longest = 0;
  let lastFailure = 0;
  const caller = async (): Promise<void> => {
    while (running) {
      const began = now;
      made++;
      const code = await end(balancer, path, time);
      longest = Math.max(longest, now - began);
      if (code === Code.OK) continue;
      failed++;
      lastFailure = now - from;
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  return {
    async stop() {
      running = false;
      await Promise.all(callers);
      return { made, failed, lastFailure, longest };
    },
  };
}

function end(balancer: Balancer, path: string, time: number): Promise<Code> {
  return new Promise((resolve) => {
    const start = { path, metadata: [], deadlineMonotonicMs: performance.now() + time };
    const onEnd = ({ code }: { code: Code }): unknown => setTimeout(resolve, PAUSE_MS, code);
    const call = balancer.open(start, { onMessage() {}, onEnd });
    call.send(Buffer.alloc(0));
    call.end();
  });
}

function balance(t: Test, ...addresses: Address[]): Balancer {
  const balancer = new Balancer("raw");
  balancer.update(new Map(addresses.map((address, index) => [`${index}`, new Http2Channel(address)])));
  t.teardown(() => balancer.close());
  return balancer;
}

/** Waits for a number of ticks. */
async function pass(ticks: number): Promise<void> {
  const end = now + ticks;
  await until(() => now >= end, { within: 10 * MAX_WAIT });
}

function report(t: Test, { made, failed, lastFailure, longest }: Awaited<ReturnType<Load["stop"]>>): void {
  t.comment(`${made} calls, ${failed} failed, the last ${lastFailure} ticks after the fault`);
  t.comment(`the longest call took ${longest} ticks`);
}

t.test(
  "a handler that hangs fails the calls that wait for it, and then one probe at a time",
  { buffered: true },
  async (t) => {
    let hanging = false;
    const one = (): Buffer | Promise<Buffer> => (hanging ? new Promise(() => {}) : Buffer.from("a"));
    const sick = await listenHttp2(t, dispatcherOf([rawService({ one })]));
    const well = await listenHttp2(t, dispatcherOf([rawService({ one: () => Buffer.from("b") })]));
    const balancer = balance(t, sick.address, well.address);
    for (let call = 0; call < 100; call++) await end(balancer, "/raw.Raw/One", 1_000);
    hanging = true;
    const running = load(balancer, "/raw.Raw/One", 1_000);
    await pass(40);
    const told = await running.stop();
    report(t, told);
    t.ok(told.failed >= 1 && told.failed <= CALLERS / 2 + 1, `${told.failed} calls failed`);
    t.ok(told.lastFailure < 25, "none later than a little after the first deadline");
    t.ok(told.made > 10 * told.failed, "the others went on");
  },
);

t.test("a process that is suspended (SIGSTOP) is noticed within six seconds", { buffered: true }, async (t) => {
  const [sick, well] = [await greeter(t), await greeter(t)];
  const balancer = balance(t, sick.address, well.address);
  for (let call = 0; call < 100; call++) await end(balancer, "/foreign.Greeter/Greet", 60_000);
  sick.child.kill("SIGSTOP");
  const running = load(balancer, "/foreign.Greeter/Greet", 60_000);
  await pass(70);
  const told = await running.stop();
  report(t, told);
  t.ok(told.failed <= CALLERS / 2 + 1, `${told.failed} calls failed`);
  t.ok(told.lastFailure < 65 && told.longest < 65, "within 2.5 s of silence and 2.5 s for a response");
});

t.test("a connection that no longer carries bytes is noticed within six seconds", { buffered: true }, async (t) => {
  const server = await listenHttp2(t, dispatcherOf([rawService({ one: () => Buffer.from("a") })]));
  const well = await listenHttp2(t, dispatcherOf([rawService({ one: () => Buffer.from("b") })]));
  const proxy = await forward(t, server.address);
  const balancer = balance(t, proxy.address, well.address);
  for (let call = 0; call < 100; call++) await end(balancer, "/raw.Raw/One", 60_000);
  proxy.drop();
  const running = load(balancer, "/raw.Raw/One", 60_000);
  await pass(70);
  const told = await running.stop();
  report(t, told);
  t.ok(told.failed <= CALLERS / 2 + 1, `${told.failed} calls failed`);
  t.ok(told.lastFailure < 65 && told.longest < 65);
});

async function greeter(t: Test) {
  const child = spawn(process.execPath, ["examples/external-greeter/server.js", "127.0.0.1:0"]);
  t.teardown(() => child.kill("SIGKILL"));
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return { child, address: parseAddress(/listening on (\S+)/.exec(line)?.[1] ?? "") };
}

/**
 * A proxy that forwards all bytes until `drop`. Then it forwards nothing and keeps the connections
 * open.
 */
async function forward(t: Test, to: Address) {
  const sockets: Socket[] = [];
  let dropped = false;
  const server = createServer((near) => {
    const far = connect(to.port, to.host);
    sockets.push(near, far);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on("data", (bytes) => dropped || other.write(bytes));
      one.on("error", () => {});
      one.on("close", () => dropped || other.destroy());
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const drop = (): void => {
    dropped = true;
  };
  return { address: { host: "127.0.0.1", port: (server.address() as { port: number }).port }, drop };
}
