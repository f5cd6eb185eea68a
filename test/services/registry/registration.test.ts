/** How a service keeps itself registered. */
import { pino } from "pino";
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { unary } from "../../../src/rpc/client.js";
import { register } from "../../../src/rpc/registration.js";
import { deferred } from "../../support/deferred.js";
import { greeter } from "./instances.js";
import { bearer, openMesh } from "./mesh.js";

const mesh = await openMesh(t);

function listen() {
  const said: string[] = [];
  let heard: () => void = () => {};
  const write = (line: string) => {
    const { msg, reason } = JSON.parse(line);
    said.push(reason === undefined ? msg : `${msg}: ${reason}`);
    heard();
  };
  /** All log lines, once there are at least `lines`. */
  const until = async (lines: number) => {
    while (said.length < lines) {
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
    return said;
  };
  return { said, until, log: pino({}, { write }) };
}

async function watch(t: Test) {
  const next = mesh.watch(t);
  await next();
  return next;
}

t.test(
  "registers, registers again after a lost connection, and not after it is closed; each change is logged once",
  async (t) => {
    const { said, until, log } = listen();
    const next = await watch(t);
    const channel = mesh.connect();
    const registration = register({ channel, metadata: await mesh.enrol("greeter"), instance: greeter(), log });
    await registration.registered();
    t.equal(await next(), "+greeter/one complete");

    const change = next();
    await mesh.restart();
    t.equal(await change, "-greeter/one complete");
    t.equal(await next(), "+greeter/one complete");

    await until(4);
    registration.close();
    t.equal(await next(), "-greeter/one complete");
    // helloworld has the same gRPC service.
    const problem = "the service is registered, and not served as declared";
    t.match(said, ["registered", problem, /^not registered; trying again: /, "registered"]);
  },
);

t.test("registers when it is ready, not before", async (t) => {
  const { said, log } = listen();
  const next = await watch(t);
  const ready = deferred<undefined>();
  const metadata = await mesh.enrol("greeter");
  const registration = register({ channel: mesh.connect(), metadata, instance: greeter(), ready: ready.promise, log });
  // A later request to the registry. When its response arrives, the instance would be registered.
  await unary(mesh.connect(), RegistryService.list, {});
  t.same(said, []);
  ready.resolve(undefined);
  await registration.registered();
  t.equal(await next(), "+greeter/one complete");
  registration.close();
  t.equal(await next(), "-greeter/one complete");
});

t.test("repeats a refused registration until it is accepted, and logs the reason once", async (t) => {
  const { said, log } = listen();
  const next = await watch(t);
  const channel = mesh.connect();
  const other = await mesh.enrol("other");
  let tries = 0;
  const counting = {
    ...channel,
    state: "ready" as const,
    close: () => channel.close(),
    open: (...call: Parameters<typeof channel.open>) => {
      tries++;
      return channel.open(...call);
    },
  };
  const refused = register({ channel: counting, metadata: other, instance: greeter(), log });
  while (tries < 3) await new Promise(setImmediate);
  t.match(said, [/^not registered; trying again: Registering "greeter" takes the enrolment token of that name/]);
  t.equal(said.length, 1);
  refused.close();
  await t.rejects(refused.registered(), { code: Code.CANCELLED });

  const allowed = register({ channel, metadata: await mesh.enrol("greeter"), instance: greeter(), log });
  t.equal(await next(), "+greeter/one complete");
  allowed.close();
});

t.test("repeats attempts to reach a registry that is absent until it is closed", async (t) => {
  const { until, log } = listen();
  const channel = mesh.connect({ host: "127.0.0.1", port: 1 });
  const registration = register({ channel, metadata: bearer("x"), instance: greeter(), log });
  t.match(await until(1), [/the service cannot be reached/]);
  registration.close();
  await t.rejects(registration.registered(), { code: Code.CANCELLED });
});
