// A registry does not wait forever for an external service that accepts requests and never
// responds.
import { EventEmitter, once } from "node:events";
import { mock } from "node:test";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { pino } from "pino";
import t from "tap";
import { Directory } from "../../../services/registry/directory.js";
import { ExternalServices } from "../../../services/registry/external.js";
import { noServiceOptions } from "../../../src/config/service-options.js";
import { ServerReflectionService } from "../../../src/gen/grpc/reflection/v1/reflection.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { replaceClock } from "../../support/clock.js";
import { ownersInMemory } from "../../support/name-owners.js";

/** The maximum delay with which a call ends after its deadline, in milliseconds. */
const LATE = 32;

t.test("a target that does not respond is abandoned after 10 s, and tried again", async (t) => {
  const target = new EventEmitter<{ asked: []; left: [] }>();
  const server = new Server();
  server.addService(ServerReflectionService, {
    serverReflectionInfo(call: EventEmitter) {
      call.on("cancelled", () => target.emit("left"));
      target.emit("asked");
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  t.teardown(() => server.forceShutdown());
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
  t.teardown(() => mock.timers.reset());
  replaceClock(t, performance, Date.now);

  const said: string[] = [];
  const log = pino({}, { write: (line: string) => said.push(JSON.parse(line).reason) });
  const asked = once(target, "asked");
  const external = new ExternalServices({
    directory: new Directory({ owners: ownersInMemory(), log }),
    connect: (address) => new Http2Channel(address),
    refresh: 100,
    log,
  });
  t.teardown(() => external.close());
  external.set([
    {
      name: "silent",
      targets: [{ target: { host: "127.0.0.1", port }, weight: 1 }],
      descriptors: undefined,
      options: noServiceOptions(),
    },
  ]);
  await asked;
  mock.timers.tick(9_999);
  await new Promise(setImmediate);
  t.same(said, []);
  const left = once(target, "left");
  const again = once(target, "asked");
  mock.timers.tick(1 + LATE);
  await left;
  t.match(said, [/Deadline exceeded/]);
  mock.timers.tick(100);
  await again;
});
