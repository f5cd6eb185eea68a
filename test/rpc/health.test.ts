import t, { type Test } from "tap";
import { Code } from "../../src/errors.js";
import { HealthService, HealthCheckResponse_ServingStatus as Serving } from "../../src/gen/grpc/health/v1/health.js";
import { stream, unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";

function open() {
  const dispatcher = dispatcherOf([rawService({})]);
  return { dispatcher, channel: new InProcessChannel(dispatcher) };
}

function watch(t: Test, channel: InProcessChannel, service: string) {
  const { send, end, cancel, responses } = stream(channel, HealthService.watch);
  send({ service });
  end();
  t.teardown(cancel);
  const iterator = responses[Symbol.asyncIterator]();
  return async () => (await iterator.next()).value?.status;
}

t.test("Health.Check returns the state of the server and of each service", async (t) => {
  const { dispatcher, channel } = open();
  for (const service of ["", "raw.Raw"]) {
    dispatcher.health.serving = true;
    t.match(await unary(channel, HealthService.check, { service }), { status: Serving.SERVING });
    dispatcher.health.serving = false;
    t.match(await unary(channel, HealthService.check, { service }), { status: Serving.NOT_SERVING });
  }
  await t.rejects(unary(channel, HealthService.check, { service: "raw.Unknown" }), { code: Code.NOT_FOUND });
});

t.test("Health.List returns the state of all services", async (t) => {
  const { statuses } = await unary(open().channel, HealthService.list, {});
  t.match(statuses, { "": { status: Serving.SERVING }, "raw.Raw": { status: Serving.SERVING } });
  t.equal(Object.keys(statuses).length, 2);
});

t.test("Health.Watch reports the state, and each change once", async (t) => {
  const { dispatcher, channel } = open();
  const next = watch(t, channel, "raw.Raw");
  t.equal(await next(), Serving.SERVING);
  dispatcher.health.serving = true;
  dispatcher.health.serving = false;
  t.equal(await next(), Serving.NOT_SERVING);
  dispatcher.health.serving = true;
  t.equal(await next(), Serving.SERVING);
});

t.test("Health.Watch reports SERVICE_UNKNOWN for an unknown service, and stays open", async (t) => {
  const { dispatcher, channel } = open();
  const next = watch(t, channel, "raw.Unknown");
  t.equal(await next(), Serving.SERVICE_UNKNOWN);
  dispatcher.health.close();
  t.equal(await next(), undefined, "until the server closes");
});

t.test("after close, the watches end with NOT_SERVING", async (t) => {
  const { dispatcher, channel } = open();
  const next = watch(t, channel, "");
  t.equal(await next(), Serving.SERVING);
  dispatcher.health.close();
  t.equal(await next(), Serving.NOT_SERVING);
  t.equal(await next(), undefined);
  dispatcher.health.serving = true;
  t.match(await unary(channel, HealthService.check, { service: "" }), { status: Serving.NOT_SERVING });
});
