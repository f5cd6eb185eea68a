// The exporter sends spans in batches, and one request at a time. A collector that is slow, refuses
// or is absent costs spans, which are counted, and nothing else.
import dns from "node:dns";
import type { IncomingMessage, ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { readRetryAfter } from "../../src/telemetry/collector.js";
import { Exporter, type ExporterOptions } from "../../src/telemetry/exporter.js";
import { type EndedSpan, SpanKind } from "../../src/telemetry/span.js";
import { freePort } from "../support/ports.js";
import { until } from "../support/until.js";
import { accept, openCollector, partialSuccess, type TestCollector } from "./collector.js";

const NEVER_MS = 3_600_000;

const span = (name: string): EndedSpan => ({
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  parentId: undefined,
  isParentRemote: false,
  flags: 1,
  state: undefined,
  name,
  kind: SpanKind.SERVER,
  startMs: 1,
  endMs: 2,
  attributes: {},
  error: undefined,
});

interface Scene {
  readonly collector: TestCollector;
  readonly exporter: Exporter;
  readonly logged: Record<string, unknown>[];
  add(...names: string[]): void;
}

/** An exporter that sends full batches at once, and others only where `intervalMs` says so. */
async function scene(t: Test, options: Partial<ExporterOptions> = {}): Promise<Scene> {
  const collector = await openCollector(t);
  const logged: Record<string, unknown>[] = [];
  const log = { warn: (about: Record<string, unknown>) => void logged.push(about) };
  const sender = { resource: { "service.name": "portico" }, version: "1" };
  const exporter = new Exporter({
    ...{ url: collector.url, sender, log: log as unknown as ExporterOptions["log"] },
    ...{ intervalMs: NEVER_MS, retryMs: 10 },
    ...options,
  });
  t.teardown(() => exporter.close(0));
  const add = (...names: string[]): void => {
    for (const name of names) exporter.queue.add(span(name));
  };
  return { collector, exporter, logged, add };
}

const fullBatch = Array.from({ length: 512 }, (_, index) => `${index}`);
const namesOf = (requests: TestCollector["requests"]) => requests.map((spans) => spans.map(({ name }) => name));
const dropped = ({ exporter }: Scene) => Object.fromEntries(exporter.queue.dropped);

/** Responds in these ways in turn, then accepts. */
function responses(...all: readonly ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const left = [...all];
  return (request: IncomingMessage, response: ServerResponse): void => (left.shift() ?? accept)(request, response, []);
}
const status =
  (code: number, headers: Record<string, string> = {}, body: string | Buffer = "") =>
  (_: unknown, response: ServerResponse) =>
    void response.writeHead(code, headers).end(body);
const closes = (request: IncomingMessage): void => void request.socket.destroy();
const isSilent = (): void => {};
const SWITCHING_PROTOCOLS = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n";

t.test("spans that wait are sent at the interval, in one request", async (t) => {
  const { collector, add } = await scene(t, { intervalMs: 50 });
  add("a", "b");
  await until(() => collector.requests.length > 0);
  t.same(namesOf(collector.requests), [["a", "b"]]);
});

t.test("a full batch is sent at once, and the rest waits", async (t) => {
  const { collector, exporter, add } = await scene(t);
  add(...fullBatch);
  await until(() => collector.requests.length > 0);
  add("later");
  t.same(namesOf(collector.requests), [fullBatch]);
  t.equal(exporter.queue.size, 1);
});

t.test("there is one request at a time, over one connection", async (t) => {
  const { collector, exporter, add } = await scene(t);
  let open = 0;
  let most = 0;
  const sockets = new Set<unknown>();
  collector.respond = (request, response) => {
    sockets.add(request.socket);
    most = Math.max(most, ++open);
    // Further batches fill up while the collector is slow.
    if (collector.requests.length < 4) add(...fullBatch);
    setTimeout(() => {
      open--;
      response.writeHead(200).end();
    }, 20);
  };
  add(...fullBatch);
  await until(() => collector.spans.length === 4 * 512);
  await exporter.close(1_000);
  t.equal(most, 1);
  t.equal(sockets.size, 1);
});

for (const [title, respond] of [
  ["429", status(429)],
  ["502", status(502)],
  ["503", status(503)],
  ["504", status(504)],
  ["closes the connection", closes],
] as const) {
  t.test(`${title}: the same spans are sent again`, async (t) => {
    const it = await scene(t);
    it.collector.respond = responses(respond, respond);
    it.add(...fullBatch);
    await until(() => it.collector.requests.length === 3);
    t.same(namesOf(it.collector.requests), [fullBatch, fullBatch, fullBatch]);
    t.same(dropped(it), {});
    t.match(it.logged, [{ reason: "unsent", dropped: 0 }]);
    t.equal(it.logged.length, 1, "once a minute");
  });
}

t.test("503 with Retry-After: nothing is sent before", async (t) => {
  const it = await scene(t);
  let refusedAt = 0;
  let waitedMs = 0;
  it.collector.respond = responses(
    (request, response) => {
      refusedAt = performance.now();
      status(503, { "Retry-After": "1" })(request, response);
    },
    (request, response) => {
      waitedMs = performance.now() - refusedAt;
      accept(request, response, []);
    },
  );
  it.add(...fullBatch);
  await until(() => waitedMs > 0);
  t.ok(waitedMs >= 990, `${waitedMs} ms`);
  t.same(dropped(it), {});
});

for (const code of [301, 400, 401, 404, 413, 500]) {
  t.test(`${code}: the spans are dropped, and the next are sent`, async (t) => {
    const it = await scene(t);
    it.collector.respond = responses(status(code, { Location: `${it.collector.url}/v1/traces` }));
    it.add(...fullBatch);
    await until(() => dropped(it).rejected === 512);
    it.add(...fullBatch);
    await until(() => it.collector.requests.length === 2);
    t.same(dropped(it), { rejected: 512 });
    t.match(it.logged, [{ reason: "rejected", dropped: 512, problem: `status ${code}` }]);
  });
}

t.test("spans that a collector rejects although it accepts the request are counted", async (t) => {
  const it = await scene(t);
  it.collector.respond = responses(status(200, {}, partialSuccess(12, "too old")));
  it.add(...fullBatch);
  await until(() => it.logged.length > 0);
  t.same(dropped(it), { rejected: 12 });
  t.match(it.logged, [{ reason: "rejected", dropped: 12, problem: "too old" }]);
});

t.test("a collector that rejects more spans than it got: the spans of the request are counted", async (t) => {
  const it = await scene(t);
  it.collector.respond = responses(status(200, {}, partialSuccess(2 ** 52, "")));
  it.add(...fullBatch);
  await until(() => it.logged.length > 0);
  t.same(dropped(it), { rejected: 512 });
});

t.test("200 with another body: the spans count as sent", async (t) => {
  const it = await scene(t);
  it.collector.respond = responses(status(200, {}, "<html>"));
  it.add(...fullBatch);
  await until(() => it.collector.requests.length === 1);
  await it.exporter.close(1_000);
  t.same(dropped(it), {});
});

t.test("a collector that never responds: the request ends, and after some time its spans are dropped", async (t) => {
  const it = await scene(t, { requestMs: 50, giveUpMs: 1_000 });
  it.collector.respond = isSilent;
  it.add(...fullBatch);
  await until(() => dropped(it).unsent === 512);
  t.ok(it.collector.requests.length >= 2, "it was tried again");
  t.match(it.logged, [{ problem: "no response within 50 ms" }]);
});

t.test("while a collector is slow, the queue fills up, and further spans are dropped at once", async (t) => {
  const it = await scene(t);
  it.collector.respond = isSilent;
  for (let count = 0; count < 5_000; count++) it.add("x");
  await until(() => it.collector.requests.length === 1);
  for (let count = 0; count < 1_000; count++) it.add("y");
  // 512 are on their way.
  t.equal(it.exporter.queue.size, 4_096);
  t.same(dropped(it), { queue_full: 6_000 - 4_096 - 512 });
});

t.test("an absent collector: it is tried again, and said in the log", async (t) => {
  const port = await freePort();
  const it = await scene(t, { url: `http://127.0.0.1:${port}`, giveUpMs: 50 });
  it.add(...fullBatch);
  await until(() => dropped(it).unsent === 512);
  t.match(it.logged, [{ collector: `http://127.0.0.1:${port}`, problem: /ECONNREFUSED/ }]);
});

t.test("a name with several addresses, and none responds: the log says why", async (t) => {
  const port = await freePort();
  // Whether a name such as localhost has two addresses depends on the machine.
  const addresses = ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 }));
  const lookup = (_name: string, _options: object, done: (error: null, found: object) => void): void =>
    done(null, addresses);
  const it = await scene(t, { url: `http://collector.test:${port}`, giveUpMs: 50 });
  t.intercept(dns, "lookup", { value: lookup });
  it.add(...fullBatch);
  await until(() => it.logged.length > 0);
  t.match(it.logged, [{ problem: /ECONNREFUSED/ }]);
});

t.test("a stop sends what waits", async (t) => {
  const it = await scene(t);
  it.add("a", "b");
  await it.exporter.close(1_000);
  t.same(namesOf(it.collector.requests), [["a", "b"]]);
});

t.test("a stop ends a pause before a retry, and sends once more", async (t) => {
  const it = await scene(t, { retryMs: 30_000 });
  it.collector.respond = responses(status(503));
  it.add(...fullBatch);
  await until(() => it.logged.length > 0);
  it.add("last");
  await it.exporter.close(1_000);
  t.same(namesOf(it.collector.requests), [fullBatch, fullBatch, ["last"]]);
  t.same(dropped(it), {});
});

t.test("a stop does not wait for a collector that never responds", async (t) => {
  const it = await scene(t);
  it.collector.respond = isSilent;
  it.add(...fullBatch, "last");
  await until(() => it.collector.requests.length === 1);
  const began = performance.now();
  await it.exporter.close(0);
  t.ok(performance.now() - began < 5_000);
  t.same(dropped(it), { unsent: 513 });
});

t.test("a collector that switches to another protocol is tried again, and holds up no stop", async (t) => {
  const it = await scene(t, { giveUpMs: 50 });
  it.collector.respond = ({ socket }) => void socket.write(SWITCHING_PROTOCOLS);
  it.add(...fullBatch);
  await until(() => dropped(it).unsent === 512);
  it.add("last");
  await it.exporter.close(0);
  t.same(dropped(it), { unsent: 513 });
});

t.test("a stop does not wait where no collector listens", async (t) => {
  const it = await scene(t, { url: `http://127.0.0.1:${await freePort()}`, retryMs: 30_000 });
  it.add("last");
  await it.exporter.close(60_000);
  t.same(dropped(it), { unsent: 1 });
});

t.test("a response that is too large is not read to its end", async (t) => {
  const it = await scene(t, { giveUpMs: 0 });
  let isCut = false;
  it.collector.respond = (request, response) => {
    request.socket.on("close", () => {
      isCut = true;
    });
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16 * 1024)));
      response.once("drain", more);
    };
    more();
  };
  it.add(...fullBatch);
  await until(() => isCut);
  await until(() => dropped(it).unsent === 512);
  t.match(it.logged, [{ problem: /larger than 65536 bytes/ }]);
});

t.test("Retry-After is seconds or a date", async (t) => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  t.equal(readRetryAfter("120", now), 120_000);
  t.equal(readRetryAfter("Thu, 01 Jan 2026 00:00:05 GMT", now), 5_000);
  t.equal(readRetryAfter("Thu, 01 Jan 2025 00:00:05 GMT", now), 0);
  t.equal(readRetryAfter("soon", now), undefined);
  t.equal(readRetryAfter(undefined, now), undefined);
});
