// A TypeScript client retries a call when that is safe, and only then.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer } from "node:http";
import t from "tap";
import { PorticoClient } from "../../src/client/client.js";
import { PorticoError } from "../../src/client/error.js";
import type { PorticoOptions } from "../../src/client/options.js";
import { freePort } from "../support/ports.js";
import { openFaultyGateway } from "./faulty-gateway.js";

interface Probe {
  call(): Promise<unknown>;
  tell(): Promise<unknown>;
  count(): AsyncGenerator<unknown>;
}

class Client extends PorticoClient {
  readonly probe: Probe = this.bind("probe", {
    call: { path: "/probe/Call", shape: "unary" },
    tell: { path: "/probe/Tell", shape: "unary", idempotent: true },
    count: { path: "/probe/Count", shape: "server" },
  });
}

const gateway = await openFaultyGateway(t);

function probe(failure: string, options: PorticoOptions = {}): Probe {
  return new Client({ url: `${gateway.url}/${failure}`, token: "", ...options }).probe;
}

async function errorOf(call: Promise<unknown>): Promise<PorticoError> {
  const error = await call.then(
    () => undefined,
    (error) => error,
  );
  if (error instanceof PorticoError) return error;
  throw new Error("the call did not fail with a PorticoError", { cause: error });
}

t.test("an idempotent endpoint is called again after 503, 429 and a broken connection", async (t) => {
  for (const [failure, calls] of [
    ["busy", 3],
    ["limited", 2],
    ["broken", 2],
  ] as const) {
    t.same(await probe(failure).tell(), {}, failure);
    t.equal(gateway.calls(`/${failure}/probe/Tell`), calls, failure);
  }
});

t.test("an endpoint that is not idempotent is called once", async (t) => {
  for (const failure of ["busy", "limited", "broken"]) {
    t.ok([503, 429].includes((await errorOf(probe(failure).call())).Code), failure);
    t.equal(gateway.calls(`/${failure}/probe/Call`), 1, failure);
  }
});

t.test("a call that a limit refused is repeated after the time that the gateway tells", async (t) => {
  const before = performance.now();
  t.same(await probe("used-up").call(), {}, "also where the endpoint is not idempotent");
  t.equal(gateway.calls("/used-up/probe/Call"), 2);
  t.ok(performance.now() - before >= 1_000);
  const error = await errorOf(probe("used-up-for-long").call());
  t.match(error, { Code: 429, retryAfter: 3600 });
  t.equal(gateway.calls("/used-up-for-long/probe/Call"), 1);
});

t.test("other errors are not retried", async (t) => {
  t.equal((await errorOf(probe("wrong").tell())).Code, 400);
  t.equal(gateway.calls("/wrong/probe/Tell"), 1);
});

t.test("the number of retries is limited", async (t) => {
  t.equal((await errorOf(probe("busy/bounded", { retries: 1 }).tell())).Code, 503);
  t.equal(gateway.calls("/busy/bounded/probe/Tell"), 2);
});

t.test("a retry that would be after the deadline is not waited for", async (t) => {
  const error = await errorOf(probe("busy-for-long").tell());
  t.match(error, { Code: 503, retryAfter: 3600 });
  t.equal(gateway.calls("/busy-for-long/probe/Tell"), 1);
});

t.test("if no connection can be opened, a call of every endpoint is retried", async (t) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { neverSent, Code, Id, Detail } = await errorOf(new Client({ url, retries: 0 }).probe.call());
  t.same({ neverSent, Code, Id }, { neverSent: true, Code: 503, Id: "probe" });
  t.match(Detail, `No response from ${url}: `);
  const server = createServer((_, response) => response.setHeader("content-type", "application/json").end("{}"));
  t.teardown(() => void server.close().closeAllConnections());
  // Node publishes each failed connection: https://undici.nodejs.org/#/docs/api/DiagnosticsChannel
  const listen = (): void => {
    unsubscribe("undici:client:connectError", listen);
    server.listen(port, "127.0.0.1");
  };
  subscribe("undici:client:connectError", listen);
  t.same(await new Client({ url, retries: 20 }).probe.call(), {});
});

t.test("a response that is not from Portico is reported as such", async (t) => {
  const { Code, Detail } = await errorOf(probe("no-portico").tell());
  t.same(
    { Code, Detail },
    { Code: 502, Detail: `${gateway.url}/no-portico/probe/Tell answered 502 Bad Gateway, but not as Portico does` },
  );
});

t.test("a success without content is an empty message", async (t) => {
  for (const status of ["no-content", "reset-content"]) t.same(await probe(status).call(), {}, status);
});

t.test("a redirect is not followed, because the token would be sent to the new address", async (t) => {
  t.equal((await errorOf(probe("elsewhere").call())).Code, 503);
  t.equal(gateway.calls("/busy/probe/Tell"), 3, "only the calls before");
});

t.test("a stream that breaks off delivers the messages before, then the error", async (t) => {
  const messages: unknown[] = [];
  const reading = (async () => {
    for await (const message of probe("cut").count()) messages.push(message);
  })();
  t.equal((await errorOf(reading)).Code, 503);
  t.same(messages, [{}, {}]);
});
