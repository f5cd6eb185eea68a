/**
 * The catalog combines the registries of several authorities. Each registry may be away, or may not
 * know all instances yet.
 */
import t, { type Test } from "tap";
import { Catalog } from "../../../gateway/catalog/catalog.js";
import { Authorities } from "../../../src/access/follow/authorities.js";
import { type Guard, SYSTEM } from "../../../src/access/guard.js";
import { loadConfig } from "../../../src/config/config.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { Code, StatusError } from "../../../src/errors.js";
import { Instance, Joined, RegistryService, WatchResponse } from "../../../src/gen/portico/registry/v1/registry.js";
import { Dispatcher } from "../../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { part, type Service } from "../../../src/rpc/service.js";
import { silent } from "../../services/auth/open.js";
import { until } from "../../support/until.js";

const config = loadConfig({}, {});
const never = (): never => {
  throw new Error("not called here");
};
const NOBODY: Guard = { admit: never, allows: () => false, count: never, follow: never };

/** A registry that sends the messages of the test. */
class ScriptedRegistry {
  isReachable = true;
  readonly channel: InProcessChannel;
  #watching = 0;
  #queue: (WatchResponse | StatusError)[] = [];
  #wake = (): void => {};

  constructor() {
    const watch = () => this.#watch();
    const parts = [part(RegistryService, { ...OTHERS, watch })];
    const registry: Service = { name: "registry", descriptors: descriptorsOf(), parts };
    this.channel = new InProcessChannel(
      new Dispatcher({ services: [registry], guard: NOBODY, limits: config, log: silent }),
    );
  }

  get isWatched(): boolean {
    return this.#watching > 0;
  }

  joined(...ids: string[]): void {
    this.#say(WatchResponse.fromPartial({ joined: ids.map(instance), complete: true }));
  }

  owners(revision: number, owners: Record<string, string[]>): void {
    const named = Object.entries(owners).map(([service, names]) => ({ service, names }));
    this.#say(WatchResponse.fromPartial({ owners: named, ownersRevision: BigInt(revision), complete: true }));
  }

  left(id: string): void {
    this.#say(WatchResponse.fromPartial({ left: [{ service: "greeter", id }], complete: true }));
  }

  break(): void {
    this.isReachable = false;
    this.#say(new StatusError(Code.UNAVAILABLE, "gone"));
  }

  #say(news: WatchResponse | StatusError): void {
    this.#queue.push(news);
    this.#wake();
  }

  async *#watch(): AsyncGenerator<WatchResponse> {
    if (!this.isReachable) throw new StatusError(Code.UNAVAILABLE, "not reached");
    this.#watching++;
    try {
      for (;;) {
        for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
          if (next instanceof StatusError) throw next;
          yield next;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#watching--;
    }
  }
}

const OTHERS = { register: never, list: never, resolve: never, describe: never };

function instance(id: string): Instance {
  const grpcServices = ["helloworld.Helloworld"];
  const fields = { service: "greeter", id, addresses: [`${id}:1`], joined: Joined.ENROLMENT };
  return Instance.fromPartial({ ...fields, grpcServices, descriptors: descriptorsOf() });
}

function scene(t: Test, graceMs = 60_000) {
  const registries = [new ScriptedRegistry(), new ScriptedRegistry()] as const;
  const open: string[] = [];
  const connect = (address: string) => {
    open.push(address);
    const channel = new InProcessChannel(new Dispatcher({ services: [], guard: NOBODY, limits: config, log: silent }));
    const close = (): void => {
      open.splice(open.indexOf(address), 1);
    };
    return Object.assign(channel, { close });
  };
  const all = registries.map(({ channel }, index) => ({ name: `authority ${index}`, channel, log: silent }));
  const authorities = new Authorities(all);
  const catalog = new Catalog({
    ...{ channel: authorities.channel, authorities, admission: SYSTEM, graceMs, log: silent },
    connect,
    readContract: async () => undefined,
  });
  t.teardown(() => catalog.close());
  return { catalog, authorities, all, registries, known: () => [...open].sort().join(" ") };
}

t.test("an instance that both registries name is added once, and stays while one of them names it", async (t) => {
  const { registries, known } = scene(t);
  const [first, second] = registries;
  first.joined("a", "b");
  second.joined("a", "b");
  await until(() => known() === "a:1 b:1");
  first.left("a");
  first.joined("c");
  await until(() => known().includes("c"));
  t.equal(known(), "a:1 b:1 c:1");
  second.left("a");
  await until(() => known() === "b:1 c:1");
});

t.test("a registry that has just started removes no instance", async (t) => {
  const { catalog, registries, known } = scene(t, 50);
  const [first, second] = registries;
  first.joined("a", "b");
  second.joined("a", "b");
  await catalog.arrived;
  first.break();
  await until(() => !first.isWatched);
  first.isReachable = true;
  await until(() => first.isWatched);
  first.joined("a");
  first.joined("marker");
  await until(() => known().includes("marker"));
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(known(), "a:1 b:1 marker:1");
});

t.test("an instance that leaves while a registry is away is removed at once", async (t) => {
  const { catalog, registries, known } = scene(t);
  const [first, second] = registries;
  first.joined("a", "b");
  second.joined("a", "b");
  await catalog.arrived;
  first.break();
  await until(() => !first.isWatched);
  second.left("a");
  await until(() => known() === "b:1");
});

t.test("a gateway that starts is ready when each registry has responded or cannot be reached", async (t) => {
  const { catalog, registries } = scene(t);
  const [first, second] = registries;
  first.joined("a");
  await until(() => catalog.routes.find("/greeter/helloworld/call") !== undefined);
  t.notOk(catalog.ready, "the other one may know more");
  second.break();
  await catalog.arrived;
  t.ok(catalog.ready);
});

t.test("an instance that only a removed authority named is removed", async (t) => {
  const { catalog, authorities, all, registries, known } = scene(t);
  const [first, second] = registries;
  first.joined("a", "own");
  second.joined("a");
  await catalog.arrived;
  await until(() => known() === "a:1 own:1");
  authorities.set([all[1]!]);
  await until(() => known() === "a:1");
});

t.test("says why a registry cannot be followed, until it can", async (t) => {
  const { catalog, registries } = scene(t);
  const [first, second] = registries;
  first.joined("a");
  second.joined();
  await catalog.arrived;
  t.same([...catalog.errors], []);
  first.break();
  await until(() => catalog.errors.get("authority 0")?.message === "not reached");
  t.equal(catalog.errors.size, 1);
  first.isReachable = true;
  first.joined("a");
  await until(() => catalog.errors.size === 0);
});

t.test(
  "a gateway knows the owner of a name while the owner is away, from the registry that has read more of the log",
  async (t) => {
    const { catalog, registries } = scene(t);
    const [first, second] = registries;
    const owner = () => catalog.routes.rpc.ownerOf("p.Orders");
    first.owners(7, { orders: ["p.Orders", "p.Carts"] });
    await until(() => owner() === "orders");
    second.owners(5, { early: ["p.Orders"] });
    second.joined("marker");
    await until(() => catalog.routes.targetsOf("greeter") !== undefined);
    t.equal(owner(), "orders", "the other one lags behind");
    second.owners(9, { early: [], other: ["p.Orders"] });
    await until(() => owner() === "other");
    t.equal(catalog.routes.rpc.ownerOf("p.Carts"), undefined);
    second.break();
    await until(() => !second.isWatched);
    t.equal(owner(), "other", "kept while it cannot be reached");
  },
);

t.test("an incomplete list of owners changes nothing yet", async (t) => {
  const { catalog, registries } = scene(t);
  const [first] = registries;
  first.owners(0, { orders: ["p.Orders"] });
  first.joined("marker");
  await until(() => catalog.routes.targetsOf("greeter") !== undefined);
  t.equal(catalog.routes.rpc.ownerOf("p.Orders"), undefined);
  first.owners(3, { shop: ["p.Carts"] });
  await until(() => catalog.routes.rpc.ownerOf("p.Carts") === "shop");
  t.equal(catalog.routes.rpc.ownerOf("p.Orders"), "orders");
});
