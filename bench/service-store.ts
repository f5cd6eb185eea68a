/**
 * Measures calls that store something, through the gateway: cache.Set and wallet.Credit with 16
 * callers. For comparison, it also makes one write at a time to the same database. Its only
 * argument is the URL of a store of services: `node --import tsx bench/service-store.ts
 * postgres://…` or `sqlite:/path/to/file`.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openServiceStore } from "../src/store/open.js";
import { administrator, start } from "../test/support/process.js";

const CALLERS = 16;
const DURATION_MS = 8_000;
const WARM_UP_MS = 2_000;

/**
 * Several callers repeat an action. Prints how many actions ran per second, and how long they took.
 */
async function measure(what: string, callers: number, act: (number: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  let [next, measuring] = [0, false];
  const end = performance.now() + WARM_UP_MS + DURATION_MS;
  const timer = setTimeout(() => {
    measuring = true;
  }, WARM_UP_MS);
  const caller = async (): Promise<void> => {
    for (let began = performance.now(); began < end; began = performance.now()) {
      await act(next++);
      if (measuring) times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  clearTimeout(timer);
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)]?.toFixed(1);
  console.log(`${what}: ${Math.round((times.length / DURATION_MS) * 1000)} /s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}

const [, , url = "sqlite:"] = process.argv;
const data = mkdtempSync(join(tmpdir(), "portico-bench-"));
const server = await start(["server"], { PORTICO_DATA: data, PORTICO_SERVICE_STORE: url });
const http = server.address("HTTP");
const headers = { ...(await administrator(http, data)), "content-type": "application/json" };
const agent = new Agent({ keepAlive: true });

function call(path: string, body: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${http}${path}`, { method: "POST", headers, agent }, (response) => {
      response.resume().on("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${path}: ${response.statusCode}`));
      });
    });
    sent.on("error", reject).end(JSON.stringify(body));
  });
}

try {
  const run = `${Date.now()}`;
  await call("/v1/wallet/create", { id: run });
  await measure("cache.Set", CALLERS, (number) => call("/v1/cache/set", { key: `${number % 1000}`, value: "x" }));
  const credit = (number: number) =>
    call("/v1/wallet/credit", { id: run, amount: 1, idempotencyKey: `${run} ${number}` });
  await measure("wallet.Credit of one wallet", CALLERS, credit);
  const store = await openServiceStore(url, data);
  const value = readFileSync(process.argv[1]!, "utf8").slice(0, 100);
  const write = (number: number) =>
    store.commit([{ kind: "set", key: `bench ${number % 10}`, value, expires: undefined }]);
  await measure("one durable commit after the other", 1, write);
  await store.close();
} finally {
  await server.stop();
  rmSync(data, { recursive: true });
}
