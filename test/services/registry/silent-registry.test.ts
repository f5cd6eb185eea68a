// A service does not wait forever for a registry that takes its registration and never responds.
import { EventEmitter, once } from "node:events";
import { mock } from "node:test";
import { pino } from "pino";
import t from "tap";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { RegisterResponse, RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { register } from "../../../src/rpc/registration.js";
import { part, type Service } from "../../../src/rpc/service.js";
import { dispatcherOf } from "../../rpc/serve.js";
import { caller, TableGuard } from "../../rpc/table-guard.js";
import { greeter } from "./instances.js";
import { bearer } from "./mesh.js";

class Silent extends EventEmitter<{ opened: []; over: [] }> {
  readonly service: Service = {
    name: "registry",
    descriptors: descriptorsOf(),
    parts: [
      part(RegistryService, {
        register: (_requests, { signal }) => this.#register(signal),
        async *watch() {},
        list: () => ({ services: [], unread: [] }),
        resolve: () => ({ addresses: [] }),
        describe: () => ({ service: undefined, proto: "" }),
      }),
    ],
  };

  async *#register(signal: AbortSignal): AsyncGenerator<RegisterResponse> {
    this.emit("opened");
    await once(signal, "abort");
    this.emit("over");
    yield RegisterResponse.fromPartial({});
  }
}

t.test("a registry that does not respond is abandoned after 10 s, and tried again", async (t) => {
  const silent = new Silent();
  const guard = new TableGuard();
  guard.callers.set("known", caller("", { enrolment: "greeter" }));
  const channel = new InProcessChannel(dispatcherOf([silent.service], { guard }));
  const said: string[] = [];
  const log = pino({}, { write: (line: string) => said.push(JSON.parse(line).reason) });
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());

  const opened = once(silent, "opened");
  const registration = register({ channel, metadata: bearer("known"), instance: greeter(), log });
  t.teardown(() => registration.close());
  await opened;
  mock.timers.tick(9_999);
  await new Promise(setImmediate);
  t.same(said, []);

  const over = once(silent, "over");
  mock.timers.tick(1);
  await over;
  await new Promise(setImmediate);
  t.same(said, ["the registry did not respond within 10 s"]);

  const again = once(silent, "opened");
  mock.timers.tick(100);
  await again;
});
