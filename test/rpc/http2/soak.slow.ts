// Mixed load for ten seconds, or SOAK_SECONDS (`npm run soak`: ten minutes), with resets,
// connections that reach their maximum age, and a server that restarts. Every call must end once.
// No response may be lost, duplicated or delivered to another call. The use of memory and handles
// must not grow.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { Code, StatusError } from "../../../src/errors.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { freePort } from "../../support/ports.js";
import { until } from "../../support/until.js";
import { RawService, rawService } from "../raw-service.js";
import { dispatcherOf, LIMITS } from "../serve.js";

const SECONDS = Number(process.env.SOAK_SECONDS ?? 10);
const WORKERS = 40;
/** The time between two restarts of the server, in milliseconds. */
const RESTART = 3_000;
/** The maximum age of a connection, in milliseconds. */
const AGE = 700;

t.setTimeout((SECONDS + 60) * 1_000);

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** How often the endpoint has seen each call that is still open. */
const seen = new Map<string, number>();

const service = rawService({
  async one(request) {
    const id = request.subarray(0, 12).toString();
    const times = seen.get(id);
    if (times !== undefined) seen.set(id, times + 1);
    if (id.endsWith("7")) await new Promise((resolve) => setTimeout(resolve, 5));
    return request;
  },
  async *chat(requests) {
    for await (const request of requests) yield request;
  },
});

const address = { host: "127.0.0.1", port: await freePort() };
let server = await serveHttp2(dispatcherOf([service]), address, LIMITS, {
  maxConnectionAge: AGE,
});
const channel = new Http2Channel(address);

const stopAt = Date.now() + SECONDS * 1_000;
const counts = { ok: 0, unavailable: 0, cancelled: 0, streams: 0, restarts: 0 };
const wrong: string[] = [];
let next = 0;

/** The error that is allowed while the server restarts. */
const expected = (error: unknown): boolean => error instanceof StatusError && error.code === Code.UNAVAILABLE;

async function one(): Promise<void> {
  const id = String(next++).padStart(12, "0");
  const request = Buffer.concat([Buffer.from(id), Buffer.alloc(next % 50 === 0 ? 100_000 : 20, id)]);
  const controller = new AbortController();
  const cancelled = next % 20 === 0;
  seen.set(id, 0);
  if (cancelled) setTimeout(() => controller.abort(), next % 3);
  try {
    const options = { signal: controller.signal, deadlineMonotonicMs: performance.now() + 10_000 };
    const reply = await unary(channel, RawService.one, request, options);
    if (!reply.equals(request)) wrong.push(`${id} was answered with another's reply`);
    if (seen.get(id) !== 1) wrong.push(`${id} was seen ${seen.get(id)} times`);
    counts.ok++;
  } catch (error) {
    if (cancelled && (error as StatusError).code === Code.CANCELLED) counts.cancelled++;
    else if (expected(error)) counts.unavailable++;
    else wrong.push(`${id}: ${error}`);
    if ((seen.get(id) ?? 0) > 1) wrong.push(`${id} was seen ${seen.get(id)} times`);
    if (expected(error)) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  seen.delete(id);
}

async function chat(): Promise<void> {
  const { send, drained, end, responses } = stream(channel, RawService.chat, {
    deadlineMonotonicMs: performance.now() + 10_000,
  });
  const sent = Array.from({ length: 30 }, (_, index) => Buffer.alloc(index * 200, `${next++}`));
  const sending = (async () => {
    for (const message of sent) if (!send(message)) await drained();
    end();
  })();
  const heard: Buffer[] = [];
  try {
    for await (const response of responses) heard.push(response);
    if (heard.length !== sent.length) wrong.push(`a stream of ${heard.length} instead of ${sent.length}`);
    counts.streams++;
  } catch (error) {
    if (!expected(error)) wrong.push(`a stream: ${error}`);
    else await new Promise((resolve) => setTimeout(resolve, 10));
  }
  if (heard.some((message, index) => !message.equals(sent[index] as Buffer))) wrong.push("a stream out of order");
  await sending;
}

async function work(worker: number): Promise<void> {
  while (Date.now() < stopAt) await (worker % 4 === 0 ? chat() : one());
}

async function restart(): Promise<void> {
  while (Date.now() < stopAt - RESTART) {
    await new Promise((resolve) => setTimeout(resolve, RESTART));
    // Half of the restarts are like a crash, and half are orderly.
    await server.close(counts.restarts++ % 2 === 0 ? 0 : 1_000);
    server = await serveHttp2(dispatcherOf([service]), address, LIMITS, { maxConnectionAge: AGE });
  }
}

const memory: number[] = [];
const sampling = setInterval(
  () => {
    collect();
    memory.push(process.memoryUsage().heapUsed);
  },
  (SECONDS * 1_000) / 20,
);

await Promise.all([restart(), ...Array.from({ length: WORKERS }, (_, worker) => work(worker))]);
clearInterval(sampling);
channel.close();
await server.close(0);
const left = () => process.getActiveResourcesInfo().filter((kind) => /TCP|Timeout/.test(kind));

t.comment(`${JSON.stringify(counts)}, heap ${memory.map((bytes) => Math.round(bytes / 1e6)).join(" ")} MB`);
t.same(wrong.slice(0, 10), []);
t.ok(counts.ok > SECONDS * 100 && counts.streams > SECONDS && counts.cancelled > SECONDS, "there was load");
t.equal(seen.size, 0);
const [early, late] = [Math.max(...memory.slice(2, 7)), Math.min(...memory.slice(-5))];
t.ok(late < early + 10e6, `${early} bytes of heap at first, ${late} in the end`);
await until(() => left().length === 0, { what: () => `no socket and no timer is left: ${left()}` });
