// Instances of configured services that have gRPC health: a gateway asks them whether they serve.
import t, { type Test } from "tap";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import type { Dispatcher } from "../../../src/rpc/dispatch.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { rawService } from "../../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../../rpc/serve.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";

interface Server {
  calls: number;
  readonly dispatcher: Dispatcher;
  readonly port: number;
}

async function serve(t: Test, options: Parameters<typeof dispatcherOf>[1] = {}): Promise<Server> {
  const one = (): Buffer => {
    server.calls++;
    return Buffer.alloc(0);
  };
  const dispatcher = dispatcherOf([rawService({ one })], options);
  const { address, close } = await serveHttp2(dispatcher, { host: "127.0.0.1", port: 0 }, LIMITS);
  t.teardown(() => close(0));
  const server: Server = { calls: 0, dispatcher, port: address.port };
  return server;
}

/** Serves these servers as the service raw. @returns a function that calls it */
async function deployed(t: Test, ...servers: readonly Server[]) {
  const descriptors = Buffer.from(rawService({}).descriptors);
  const targets = servers.map(({ port }) => ({ target: { host: "127.0.0.1", port }, weight: 1 }));
  const external = [{ name: "raw", targets, descriptors, options: ServiceOptions.fromPartial({}) }];
  const deployment = await deploy(t.testdir(), { external, lookMs: 20 });
  t.teardown(() => deployment.close());
  const url = `http://127.0.0.1:${deployment.gateway.address.port}/raw/one`;
  const call = async (): Promise<number> => {
    const response = await fetch(url);
    await response.text();
    return response.status;
  };
  const callAll = async (count: number): Promise<number[]> => {
    for (const server of servers) server.calls = 0;
    for (let index = 0; index < count; index++) t.equal(await call(), 200);
    return servers.map(({ calls }) => calls);
  };
  return { deployment, callAll };
}

t.test("an instance that is NOT_SERVING gets no calls until it is SERVING", async (t) => {
  const [one, other] = [await serve(t), await serve(t)];
  one.dispatcher.health.serving = false;
  const { callAll, deployment } = await deployed(t, one, other);
  t.same(await callAll(10), [0, 10], "from the first call, because a new connection is asked first");
  t.ok(deployment.logged.some(({ msg }) => msg === "an instance gets no calls: its gRPC health is NOT_SERVING"));
  one.dispatcher.health.serving = true;
  await until(async () => (await callAll(4))[0] === 2);
  one.dispatcher.health.serving = false;
  await until(async () => (await callAll(4))[0] === 0);
  other.dispatcher.health.serving = false;
  await until(async () => (await callAll(4))[0] === 2);
  t.same(await callAll(4), [2, 2], "while none serves, calls go to all");
});

t.test("a server without gRPC health gets calls, and is asked only once", async (t) => {
  let asked = 0;
  const server = await serve(t, { unguarded: [] });
  const find = server.dispatcher.open.bind(server.dispatcher);
  server.dispatcher.open = (...args) => {
    if (args[0].path === "/grpc.health.v1.Health/Check") asked++;
    return find(...args);
  };
  const { callAll } = await deployed(t, server);
  const before = performance.now();
  t.same(await callAll(4), [4]);
  await until(() => performance.now() > before + 100);
  t.equal(asked, 1);
});
