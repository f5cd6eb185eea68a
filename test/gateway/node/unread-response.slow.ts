// The connection of a client that stops reading its response is closed. A client that reads slowly
// keeps its connection.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";
import type { HttpPort } from "./dial.js";

/** More than systems buffer for a client. */
const LENGTH = 32 * 1024 ** 2;
/**
 * Systems ask for more of a response only after some MiB. A slow client must read these in less
 * than this time, on a busy computer too.
 */
const PATIENCE = 2_000;

async function open(t: Test): Promise<HttpPort> {
  const body = Buffer.alloc(LENGTH, "x");
  const response = { status: 200, headers: ["Content-Length", String(LENGTH)], body, length: LENGTH };
  const limits = { ...loadConfig({}, {}), maxCallTime: PATIENCE / 2, bodyTime: PATIENCE / 2 };
  const gateway = await listen(async () => response, { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => gateway.close(0));
  return gateway;
}

async function ask({ address }: HttpPort): Promise<Socket> {
  const socket = connect(address.port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(socket, "readable");
  return socket;
}

t.test("the connection of a client that reads nothing of its response is closed", async (t) => {
  const gateway = await open(t);
  const socket = await ask(gateway);
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  // Waits for connections with a request or a response.
  await gateway.close(60_000);
  t.pass("cut");
});

/** Reads at least `length` bytes, and at most `pace` bytes a millisecond. */
async function take(socket: Socket, length: number, pace: number): Promise<void> {
  const began = performance.now();
  for (let got = 0; got < length; ) {
    const chunk = socket.read();
    if (socket.readableEnded || socket.destroyed) throw new Error(`cut after ${got} of ${length} bytes`);
    if (chunk === null) await once(socket, "readable");
    else {
      got += chunk.length;
      // Timers are exact only to a millisecond, so the sum of short waits would be too long.
      const early = got / pace - (performance.now() - began);
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, Math.ceil(early)));
    }
  }
}

t.test("a client that reads slowly gets the whole response, and the next one", async (t) => {
  const socket = await ask(await open(t));
  t.teardown(() => socket.destroy());
  const started = performance.now();
  await take(socket, LENGTH, 8_000);
  t.ok(performance.now() - started > 2 * PATIENCE, "slowly");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await take(socket, LENGTH, 1_000_000);
  t.pass("both are whole");
});
