// The catalog follows the registry: instances that join can be called, instances that leave cannot,
// and broken ones disturb no other instance. The registry here is a scripted service, because
// Portico's own registry neither stops nor sends wrong data.

import t, { type Test } from "tap";
import { Catalog } from "../../../gateway/catalog/catalog.js";
import type { KnownInstance } from "../../../gateway/catalog/instances.js";
import { type Guard, SYSTEM } from "../../../src/access/guard.js";
import { loadConfig } from "../../../src/config/config.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { Code, StatusError } from "../../../src/errors.js";
import { Instance, Joined, RegistryService, WatchResponse } from "../../../src/gen/portico/registry/v1/registry.js";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import { createLog } from "../../../src/log.js";
import { Dispatcher } from "../../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { part, type Service } from "../../../src/rpc/service.js";
import { until } from "../../support/until.js";

const config = loadConfig({}, {});

interface Scene {
  readonly catalog: Catalog;
  /** Errors in the log: service, id and message. */
  readonly errors: string[];
  /** Addresses whose channels are open. */
  readonly open: string[];
  /** The names of the credentials with which channels to `greeter` were opened, in order. */
  readonly credentials: (string | undefined)[];
  /** Makes the registry send news. Resolves when the catalog has received it. */
  say(news: { joined?: Instance[]; left?: Instance[]; complete?: boolean }): Promise<void>;
  /** Breaks the watch. Resolves when the catalog watches again. */
  interrupt(): Promise<void>;
}

function instance(service: string, id: string, changes: Partial<Instance> = {}): Instance {
  const grpcServices = ["helloworld.Helloworld"];
  const addresses = [`${service}-${id}:1`];
  const joined = Joined.ENROLMENT;
  const fields = { service, id, addresses, descriptors: descriptorsOf(), grpcServices, joined };
  return Instance.fromPartial({ ...fields, ...changes });
}

function scene(t: Test, options: { graceMs?: number; refuse?: string } = {}): Scene {
  let watching: (() => void) | undefined;
  let wake = (): void => {};
  const queue: (WatchResponse | StatusError)[] = [];
  const watched = (): Promise<void> =>
    new Promise((resolve) => {
      watching = resolve;
    });
  const registry: Service = {
    name: "registry",
    descriptors: descriptorsOf(),
    parts: [
      part(RegistryService, {
        register: () => never(),
        list: () => ({ services: [], unread: [] }),
        resolve: () => ({ addresses: [] }),
        describe: () => ({ service: undefined, proto: "" }),
        async *watch() {
          watching?.();
          for (;;) {
            for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
              if (next instanceof StatusError) throw next;
              yield next;
            }
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
      }),
    ],
  };
  const errors: string[] = [];
  const log = createLog("error", {
    write(line) {
      const { service, id, msg } = JSON.parse(line);
      errors.push(`${service} ${id}: ${msg}`);
    },
  });
  const nobody: Guard = {
    admit: () => never(),
    allows: () => false,
    count: () => undefined,
    follow: () => ({ mayPass: () => true, end: () => {} }),
  };
  const dispatcher = new Dispatcher({ services: [registry], guard: nobody, limits: config, log });
  const open: string[] = [];
  const credentials: Scene["credentials"] = [];
  const connect = (address: string, to: Pick<KnownInstance, "service" | "options">): InProcessChannel => {
    if (address === options.refuse) throw new Error("no such address");
    if (to.service === "greeter") credentials.push(to.options.credential?.name);
    open.push(address);
    const channel = new InProcessChannel(dispatcher);
    const close = channel.close.bind(channel);
    channel.close = () => {
      open.splice(open.indexOf(address), 1);
      close();
    };
    return channel;
  };
  const catalog = new Catalog({
    channel: new InProcessChannel(dispatcher),
    admission: SYSTEM,
    connect,
    readContract: async () => undefined,
    log,
    ...(options.graceMs === undefined ? {} : { graceMs: options.graceMs }),
  });
  t.teardown(() => catalog.close());
  let said = 0;
  const tell = (news: WatchResponse | StatusError): void => {
    queue.push(news);
    wake();
  };
  return {
    catalog,
    errors,
    open,
    credentials,
    async say({ joined = [], left = [], complete = true }) {
      // A marker service at the end of the news shows when all of it was received.
      const marker = instance("marker", String(said++), { addresses: ["marker:1"] });
      const path = `/marker${said}`;
      tell(WatchResponse.fromPartial({ joined: [...joined, { ...marker, service: `marker${said}` }], left, complete }));
      await until(() => catalog.routes.near(path).service !== undefined);
    },
    async interrupt() {
      const again = watched();
      tell(new StatusError(Code.UNAVAILABLE, "interrupted"));
      await again;
    },
  };
}

function never(): never {
  throw new Error("not called here");
}

const PATH = "/greeter/helloworld/call";
const routed = ({ catalog }: Scene): boolean => catalog.routes.find(PATH) !== undefined;
const channelsOf = ({ open }: Scene): string[] => open.filter((address) => !address.startsWith("marker")).sort();

t.test("the catalog is ready when the registry has sent everything once", async (t) => {
  const it = scene(t);
  t.notOk(it.catalog.ready, "not before");
  await it.say({ joined: [instance("greeter", "1")], complete: false });
  t.notOk(it.catalog.ready, "not in between");
  await it.say({});
  t.ok(it.catalog.ready);
});

t.test("a service that joins is routed; one that leaves is not, and its channel is closed", async (t) => {
  const it = scene(t);
  await it.say({ joined: [instance("greeter", "1"), instance("greeter", "2")] });
  t.ok(routed(it));
  t.same(channelsOf(it), ["greeter-1:1", "greeter-2:1"]);
  await it.say({ left: [instance("greeter", "1")] });
  t.ok(routed(it), "while one is left");
  t.same(channelsOf(it), ["greeter-2:1"]);
  await it.say({ left: [instance("greeter", "2")] });
  t.notOk(routed(it));
  t.same(channelsOf(it), []);
});

t.test("an instance that moves is called at its new address", async (t) => {
  const it = scene(t);
  await it.say({ joined: [instance("greeter", "1")] });
  await it.say({ joined: [instance("greeter", "1", { addresses: ["elsewhere:1"] })] });
  t.same(channelsOf(it), ["elsewhere:1"]);
});

t.test("an instance whose options change gets another channel, and the one before is closed", async (t) => {
  const it = scene(t);
  const joined = Joined.CONFIGURATION;
  for (const name of ["first", "first", "second"]) {
    const options = ServiceOptions.fromPartial({ credential: { name } });
    await it.say({ joined: [instance("greeter", "one", { joined, options })] });
  }
  await it.say({ joined: [instance("greeter", "one", { joined })] });
  t.same(it.credentials, ["first", "second", undefined]);
  t.same(channelsOf(it), ["greeter-one:1"]);
});

t.test("an instance without an address is in this process", async (t) => {
  const it = scene(t);
  await it.say({ joined: [instance("greeter", "7", { addresses: [] })] });
  t.same(channelsOf(it), ["in-process:7"]);
});

const broken: [title: string, changes: Partial<Instance>, error: string][] = [
  ["bytes that are no descriptors", { descriptors: Buffer.from([0xff]) }, "its descriptors cannot be used"],
  ["descriptors that are empty", { descriptors: Buffer.alloc(0) }, "its descriptors cannot be used"],
  ["a gRPC service that its descriptors lack", { grpcServices: ["a.B"] }, "its descriptors cannot be used"],
];

for (const [title, changes, error] of broken) {
  t.test(`${title}: left out and logged, without an effect on other instances`, async (t) => {
    const it = scene(t, { refuse: "nowhere:1" });
    await it.say({ joined: [instance("greeter", "1"), instance("bad", "1", changes), instance("other", "1")] });
    t.ok(routed(it));
    t.ok(it.catalog.routes.find("/other/helloworld/call"));
    t.same(it.errors, [`bad 1: an instance is left out: ${error}`]);
  });
}

t.test("an unusable address is left out and logged, and the others are used", async (t) => {
  const it = scene(t, { refuse: "nowhere:1" });
  await it.say({ joined: [instance("greeter", "1", { addresses: ["nowhere:1", "one:1", "two:1", "one:1"] })] });
  t.same(channelsOf(it), ["one:1", "two:1"]);
  t.same(it.errors, ["greeter 1: an address is left out: no channel leads to it"]);
});

for (const name of [
  "v1",
  "livez",
  "readyz",
  "openapi",
  "explore",
  "console",
  "metrics",
  "gateway",
  "Other",
  "a_b",
  "",
]) {
  t.test(`no service can be named ${JSON.stringify(name)}`, async (t) => {
    const it = scene(t);
    await it.say({ joined: [instance(name, "1"), instance("greeter", "1")] });
    t.notOk(it.catalog.routes.find(`/${name}/helloworld/call`));
    t.ok(routed(it));
    t.match(it.errors, [/cannot be routed/]);
  });
}

t.test("the endpoints of all instances with readable descriptors are routed", async (t) => {
  const it = scene(t);
  await it.say({ joined: [instance("greeter", "1")] });
  await it.say({ joined: [instance("greeter", "2", { grpcServices: ["grpc.health.v1.Health"] })] });
  t.ok(routed(it));
  t.ok(it.catalog.routes.find("/greeter/health/check"));
  await it.say({ joined: [instance("greeter", "3", { descriptors: Buffer.from([0xff]) })] });
  t.ok(it.catalog.routes.find("/greeter/health/check"));
  await it.say({ left: [instance("greeter", "2")] });
  t.ok(routed(it));
  t.notOk(it.catalog.routes.find("/greeter/health/check"));
});

t.test("a service learns who calls in a form that fits all its instances", async (t) => {
  const it = scene(t);
  const identity = (): string | undefined => it.catalog.routes.find(PATH)?.target.identity;
  await it.say({ joined: [instance("greeter", "1")] });
  t.equal(identity(), "assertion");
  await it.say({ joined: [instance("greeter", "2", { joined: Joined.CONFIGURATION, identity: true })] });
  t.equal(identity(), "none");
  await it.say({ left: [instance("greeter", "1")] });
  t.equal(identity(), "names");
  await it.say({ joined: [instance("greeter", "2", { joined: Joined.CONFIGURATION })] });
  t.equal(identity(), "none", "where the configuration does not ask for it");
});

t.test("while the registry is away", async (t) => {
  t.test("the known instances stay", async (t) => {
    const it = scene(t);
    await it.say({ joined: [instance("greeter", "1")] });
    await it.interrupt();
    t.ok(routed(it));
    t.ok(it.catalog.ready);
  });

  t.test("when it is back, instances that it does not name have some time to register again", async (t) => {
    const it = scene(t, { graceMs: 50 });
    await it.say({ joined: [instance("greeter", "1"), instance("other", "1")] });
    await it.interrupt();
    await it.say({});
    t.ok(routed(it), "not named, but not gone yet");
    await it.say({ joined: [instance("greeter", "1")] });
    await until(() => it.catalog.routes.find("/other/helloworld/call") === undefined);
    t.ok(routed(it), "came back in time; the other did not");
    t.same(channelsOf(it), ["greeter-1:1"]);
  });
});

t.test("services of one contract share its compiled codecs", async (t) => {
  const it = scene(t);
  await it.say({ joined: [instance("greeter", "1"), instance("other", "1")] });
  const types = (path: string): unknown => it.catalog.routes.find(path)?.target.types;
  t.equal(types(PATH), types("/other/helloworld/call"));
});
