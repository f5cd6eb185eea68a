// A registry does not wait forever for a service that opens a registration stream and sends
// nothing.
import { mock } from "node:test";
import { pino } from "pino";
import t from "tap";
import { createRegistry } from "../../../services/registry/registry.js";
import { SYSTEM } from "../../../src/access/guard.js";
import type { GrpcTarget } from "../../../src/address/address.js";
import { Code } from "../../../src/errors.js";
import { RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { stream } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { dispatcherOf } from "../../rpc/serve.js";
import { TableGuard } from "../../rpc/table-guard.js";
import { ownersInMemory } from "../../support/name-owners.js";

t.test("a service that sends nothing is refused after 10 s", async (t) => {
  const connect = (target: GrpcTarget) => new Http2Channel(target);
  const log = pino({ level: "silent" });
  const registry = createRegistry({ guard: new TableGuard(), external: [], owners: ownersInMemory(), connect, log });
  const channel = new InProcessChannel(dispatcherOf([registry.service]));
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());

  const call = stream(channel, RegistryService.register, { admission: SYSTEM });
  let failure: unknown;
  const ended = call.responses[Symbol.asyncIterator]()
    .next()
    .catch((error) => {
      failure = error;
    });
  await new Promise(setImmediate);
  mock.timers.tick(9_999);
  await new Promise(setImmediate);
  t.equal(failure, undefined);
  mock.timers.tick(1);
  await ended;
  t.match(failure, { code: Code.DEADLINE_EXCEEDED, message: "no instance within 10 s of opening the stream" });
});
