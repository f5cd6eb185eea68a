/** A greeter in its own process that knows nothing of Portico joins by configuration. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pino } from "pino";
import t, { type Test } from "tap";
import { Directory } from "../../../services/registry/directory.js";
import { ExternalServices } from "../../../services/registry/external.js";
import type { GrpcTarget } from "../../../src/address/address.js";
import type { ExternalService, ExternalTarget } from "../../../src/config/configured-services.js";
import { noServiceOptions } from "../../../src/config/service-options.js";
import { Code } from "../../../src/errors.js";
import {
  RegistryService,
  type WatchRequest,
  type WatchResponse,
} from "../../../src/gen/portico/registry/v1/registry.js";
import type { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import { unary } from "../../../src/rpc/client.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { ownersInMemory } from "../../support/name-owners.js";
import { until } from "../../support/until.js";
import { compile } from "./compile.js";
import { openMesh } from "./mesh.js";

const source = readFileSync("examples/external-greeter/greeter.proto", "utf8");
const changed = source.replace("rpc Greet(", "rpc Part(GreetRequest) returns (GreetResponse);\n  rpc Greet(");
const folder = t.testdir({});
const first = join(folder, "first.binpb");
const second = join(folder, "second.binpb");
writeFileSync(first, compile(join(folder, "first"), { "greeter.proto": source }));
writeFileSync(second, compile(join(folder, "second"), { "greeter.proto": changed }));

/** Starts the example. Resolves with its port when it listens. */
async function start(t: Test, port = 0, ...descriptors: string[]): Promise<{ port: number; stop(): Promise<unknown> }> {
  const command = ["examples/external-greeter/server.js", `127.0.0.1:${port}`, ...descriptors];
  const child: ChildProcess = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"] });
  const stop = () => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    return Promise.resolve(exited);
  };
  t.teardown(stop);
  const [line] = await once(child.stdout!, "data");
  return { port: Number(/:(\d+)\s*$/.exec(String(line))![1]), stop };
}

/** Follows the services. `next` resolves with the next change, `said` contains the log. */
function follow(t: Test, ...services: ExternalService[]) {
  return followEvery(t, 100, ...services);
}

/** @param refresh the time between readings, in milliseconds */
function followEvery(t: Test, refresh: number, ...services: ExternalService[]) {
  const said: string[] = [];
  let heard: () => void = () => {};
  const write = (line: string) => {
    const { reason, msg } = JSON.parse(line);
    said.push(reason ?? msg);
    heard();
  };
  const saidAbout = (pattern: RegExp) => said.filter((line) => pattern.test(line)).length;
  const log = pino({}, { write });
  const directory = new Directory({ owners: ownersInMemory(), log });
  const channels: GrpcChannel[] = [];
  const connect = (target: GrpcTarget) => {
    const channel = new GrpcChannel(target);
    channels.push(channel);
    return channel;
  };
  const secretFiles = ({ credential }: ServiceOptions) => (credential === undefined ? [] : [credential.name]);
  const external = new ExternalServices({ directory, connect, secretFiles, refresh, log });
  external.set(services);
  const closing = new AbortController();
  const watch = directory.watch(closing.signal, never());
  t.teardown(() => {
    external.close();
    closing.abort();
  });
  return {
    directory,
    channels,
    external,
    endpoints: (name: string) =>
      directory.services
        .get(name)
        ?.at(-1)
        ?.contract.endpoints.map((one) => one.name),
    // A message that only contains the owners of gRPC names may come in between.
    async next() {
      for (;;) {
        const news = (await watch.next()).value as WatchResponse;
        if (news.joined.length + news.left.length > 0 || news.owners.length === 0) return news;
      }
    },
    /** Resolves when `times` lines have matched. */
    async until(pattern: RegExp, times = 1) {
      while (saidAbout(pattern) < times) {
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
    },
    saidAbout,
  };
}

async function* never(): AsyncGenerator<WatchRequest> {}
const options = noServiceOptions();
const target = (port: number): ExternalTarget => ({ target: { host: "127.0.0.1", port }, weight: 1 });

t.test("by reflection: joins when it starts, stays when it stops, and is read again when it has changed", async (t) => {
  const before = await start(t, 0, first);
  await before.stop();
  const { port } = before;
  const { next, until, endpoints, channels } = follow(t, {
    name: "greeter",
    targets: [target(port)],
    descriptors: undefined,
    options,
  });
  t.match(await next(), { joined: [], complete: true }, "nothing, while it is not there");
  await until(/127\.0\.0\.1:\d+ cannot be reached .*; start it, or correct its address/);

  const { stop } = await start(t, port, first);
  const address = `127.0.0.1:${port}`;
  t.match(await next(), {
    joined: [
      { service: "greeter", id: address, addresses: [address], grpcServices: ["foreign.Greeter"], identity: false },
    ],
  });
  t.same(endpoints("greeter"), ["greeter:Greeter.Greet"]);
  await until(/can be read again/);

  await stop();
  await until(/cannot be reached/, 2);
  t.same(endpoints("greeter"), ["greeter:Greeter.Greet"], "its endpoints stay");

  await start(t, port, second);
  t.match(await next(), { joined: [{ service: "greeter", id: address }], left: [] });
  t.same(endpoints("greeter"), ["greeter:Greeter.Part", "greeter:Greeter.Greet"]);
  t.ok(
    channels.slice(0, -1).every((channel) => channel.state === "closed"),
    "no channel is left open",
  );
});

t.test("by file: joins without a connection, and is read again when the file has changed", async (t) => {
  const path = join(folder, "current.binpb");
  writeFileSync(path, readFileSync(first));
  const service = { name: "greeter", targets: [target(1), target(2)], descriptors: path, options };
  const { next, until, endpoints, channels } = follow(t, service);
  const ids = new Set<string>();
  while (ids.size < 2) for (const { id } of (await next()).joined) ids.add(id);
  t.same([...ids].sort(), ["127.0.0.1:1", "127.0.0.1:2"], "each target is an instance");
  t.same(endpoints("greeter"), ["greeter:Greeter.Greet"]);

  writeFileSync(path, "not descriptors");
  await until(/current\.binpb: .*no usable google\.protobuf\.FileDescriptorSet.*; correct the file/);
  t.same(endpoints("greeter"), ["greeter:Greeter.Greet"], "the last good ones hold");

  writeFileSync(path, readFileSync(second));
  t.equal((await next()).joined.length > 0, true);
  t.same(endpoints("greeter"), ["greeter:Greeter.Part", "greeter:Greeter.Greet"]);
  t.equal(channels.length, 0);
});

for (const [way, write] of [
  ["written anew", (path: string, bytes: Buffer) => writeFileSync(path, bytes)],
  [
    "replaced by another",
    (path: string, bytes: Buffer) => {
      writeFileSync(`${path}.new`, bytes);
      renameSync(`${path}.new`, path);
    },
  ],
  [
    "replaced with its folder",
    (path: string, bytes: Buffer) => {
      rmSync(dirname(path), { recursive: true });
      mkdirSync(dirname(path));
      writeFileSync(path, bytes);
    },
  ],
] as const) {
  t.test(`a descriptor file that is ${way} is read at once`, async (t) => {
    const path = join(t.testdir({}), "current.binpb");
    write(path, readFileSync(first));
    const service = { name: "greeter", targets: [target(1)], descriptors: path, options };
    const { next, endpoints } = followEvery(t, 3_600_000, service);
    while (endpoints("greeter") === undefined) await next();
    write(path, readFileSync(second));
    await next();
    t.same(endpoints("greeter"), ["greeter:Greeter.Part", "greeter:Greeter.Greet"]);
  });
}

t.test("a contract is read again at once when a file changes that is needed to read it", async (t) => {
  const { port } = await start(t, 0, first);
  const path = join(t.testdir({ token: "before" }), "token");
  const withFile = { ...options, credential: { name: path, header: "" } };
  const service = { name: "greeter", targets: [target(port)], descriptors: undefined, options: withFile };
  const { next, directory, channels } = followEvery(t, 3_600_000, service);
  while (directory.services.size === 0) await next();
  t.equal(channels.length, 1);
  writeFileSync(path, "after");
  await until(() => channels.length === 2, { within: 2_000 });
});

t.test("many services are followed without a warning by Node", async (t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): unknown => warnings.push(warning);
  process.on("warning", onWarning);
  t.teardown(() => process.off("warning", onWarning));
  const services = Array.from({ length: 30 }, (_, index) => ({
    name: `greeter-${index}`,
    targets: [target(1)],
    descriptors: index % 2 === 0 ? first : undefined,
    options,
  }));
  const { directory, next } = follow(t, ...services);
  while (directory.services.size < 15) await next();
  await new Promise((resolve) => setTimeout(resolve, 300));
  t.same(warnings, []);
});

t.test("a service whose contract cannot be read does not disturb the others, and is logged once", async (t) => {
  // Started without reflection.
  const { port } = await start(t);
  const { next, until, directory, channels, saidAbout } = follow(
    t,
    { name: "silent", targets: [target(port)], descriptors: undefined, options },
    { name: "missing", targets: [target(1)], descriptors: join(folder, "missing.binpb"), options },
    { name: "greeter", targets: [target(port)], descriptors: first, options },
  );
  while (directory.services.size === 0) await next();
  t.same([...directory.services.keys()], ["greeter"]);
  await until(/has no reflection; turn it on, or name a file in "descriptors" of the configuration/);
  await until(/missing\.binpb: ENOENT/);
  const readings = channels.length;
  while (channels.length < readings + 3) await new Promise(setImmediate);
  t.equal(saidAbout(/has no reflection/), 1, "though it has been asked again");
});

t.test("all configured services leave when the registry closes", async (t) => {
  const { next, external, directory } = follow(t, {
    name: "greeter",
    targets: [target(1)],
    descriptors: first,
    options,
  });
  while (directory.services.size === 0) await next();
  external.close();
  t.equal(directory.services.size, 0);
});

t.test("services that are set later replace the previous ones, and do not interrupt the unchanged ones", async (t) => {
  const entry = (name: string, port: number) => {
    return { name, targets: [target(port)], descriptors: first, options };
  };
  const { next, external, directory } = follow(t, entry("kept", 1), entry("gone", 2), entry("moved", 3));
  while (directory.services.size < 3) await next();
  const kept = directory.services.get("kept")?.[0];
  external.set([entry("kept", 1), entry("moved", 4), entry("new", 5)]);
  // The former instance of "moved" stays until the new one has joined.
  await Promise.all([external.changed("moved"), external.changed("new")]);
  t.same([...directory.services.keys()].sort(), ["kept", "moved", "new"]);
  t.equal(directory.services.get("kept")?.[0], kept);
  t.same(directory.services.get("moved")?.[0]?.instance.addresses, ["127.0.0.1:4"]);
});

t.test("a set of services with one invalid name changes nothing", async (t) => {
  const entry = (name: string) => ({ name, targets: [target(1)], descriptors: first, options });
  const { next, external, directory } = follow(t, entry("greeter"));
  while (directory.services.size === 0) await next();
  t.throws(() => external.set([entry("auth")]), { name: "ConfigError" });
  t.same([...directory.services.keys()], ["greeter"]);
});

t.test("invalid names of services stop the start", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  const start = (...names: string[]) => {
    const services = names.map((name) => ({ name, targets: [], descriptors: undefined, options }));
    const connect = (): never => t.fail("connects") as never;
    const external = new ExternalServices({ directory, connect, refresh: 1000, log: pino({ level: "silent" }) });
    return () => external.set(services);
  };
  t.throws(start("auth"), { name: "ConfigError", message: /"auth" is reserved/ });
  t.throws(start("metrics"), { name: "ConfigError", message: /"metrics" is reserved/ });
  t.throws(start("a", "b", "a"), { name: "ConfigError", message: /"a" is there twice; list its targets in one/ });
});

t.test("gateways see a configured service, and that it checks no tokens, until the registry closes", async (t) => {
  const external = [{ name: "greeter", targets: [target(1)], descriptors: first, options }];
  const mesh = await openMesh(t, { external });
  const next = mesh.watch(t);
  let seen = await next();
  while (!seen.includes("+greeter/127.0.0.1:1")) seen = await next();
  const { service } = await unary(mesh.connect(), RegistryService.describe, { service: "greeter" });
  // Nothing listens on port 1.
  t.match(service, { instances: 0, endpoints: [{ path: "/v1/greeter/Greet" }] });
  mesh.registry.close();
  await t.rejects(next(), { code: Code.UNAVAILABLE });
});
