/**
 * A complete process with authority, registry and helloworld, like `portico server`, with a gRPC
 * port.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import type { Test } from "tap";
import { openAuthority } from "../../../services/auth/authority.js";
import { externalServiceOf } from "../../../services/registry/configured-service.js";
import { createRegistry, type Registry } from "../../../services/registry/registry.js";
import { type Guard, OpenGuard, SYSTEM } from "../../../src/access/guard.js";
import type { Address } from "../../../src/address/address.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { loadConfig } from "../../../src/config/config.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { Instance, RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { Dispatcher } from "../../../src/rpc/dispatch.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { serveGrpc } from "../../../src/rpc/grpc-js/server.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { grpcServiceOf, type Service } from "../../../src/rpc/service.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { asBuffer } from "../../../src/wire/buffer.js";
import { helloworld } from "../../support/helloworld.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { CHEAP } from "../../support/passwords.js";
import { freePort } from "../../support/ports.js";
import { show } from "./instances.js";

export const PASSWORD = "correct horse battery staple";
const log = pino({ level: "silent" });

export const bearer = (token: string): Metadata => [["authorization", `Bearer ${token}`]];

export function instanceOf({ name, parts, descriptors }: Service): Instance {
  return Instance.fromPartial({
    service: name,
    id: "local",
    descriptors: asBuffer(descriptors),
    grpcServices: parts.map(grpcServiceOf),
  });
}

export async function openMesh(
  t: Test,
  {
    store: given,
    dataFolder = t.testdir({}),
    ...options
  }: Partial<Pick<Parameters<typeof createRegistry>[0], "external" | "externalRefresh" | "isOwn">> & {
    /** Default: one in memory. The caller closes it. */
    store?: KeyValueStore;
    dataFolder?: string;
  } = {},
) {
  const limits = loadConfig({ data: dataFolder }, {});
  const store = given ?? openMemoryStore();
  const authority = await openAuthority({
    store,
    dataFolder,
    adminPassword: PASSWORD,
    passwordCost: CHEAP,
    maxRules: 1000,
    leaseMs: 5000,
    log,
    joinsOtherwise: (service) => registry.joinsOtherwise(service),
    checkService: externalServiceOf,
    checkServed: (service) => registry.check(service),
  });
  // The guard and the authority need each other, so calls of the guard wait until the authority is
  // open.
  const guard: Guard = {
    admit: (credentials, endpoint) => opened.admit(credentials, endpoint),
    allows: (caller, namespace, endpoint) => opened.allows(caller, namespace, endpoint),
    count: (admission, call) => opened.count(admission, call),
    follow: (admission, listener) => opened.follow(admission, listener),
  };
  const registry: Registry = createRegistry({
    guard,
    external: [],
    owners: authority.grpcNames,
    serviceLog: authority.serviceLog,
    connect: (target) => new Http2Channel(target),
    log,
    ...options,
  });
  // With the descriptors of all built-in files, the instances would not fit into one message.
  const small = { ...helloworld, descriptors: descriptorsOf("helloworld") };
  const services = [authority.service, registry.service, small];
  const dispatcher = new Dispatcher({ services, guard, limits, log });
  const inProcess = new InProcessChannel(dispatcher);
  const opened = new OpenGuard({ channel: inProcess, admission: SYSTEM, log });
  await opened.ready();
  for (const service of services) await registry.add(instanceOf(service));
  let server = await serveGrpc(dispatcher, { host: "127.0.0.1", port: await freePort() }, limits);
  const channels: GrpcChannel[] = [];
  let closed: Promise<void> | undefined;
  const closeAll = async (): Promise<void> => {
    for (const channel of channels) channel.close();
    registry.close();
    opened.close();
    await server.close(0);
    inProcess.close();
    await authority.close();
    if (given === undefined) await store.close();
  };
  const close = (): Promise<void> => {
    closed ??= closeAll();
    return closed;
  };
  t.teardown(close);

  const { accessToken } = await unary(inProcess, AuthService.login, {
    account: "admin",
    password: PASSWORD,
    namespace: "",
  });
  const admin = bearer(accessToken);
  // Every installation has an enrolment for its gateways.
  const gateway = bearer(readFileSync(join(dataFolder, "enrolment", "gateway"), "utf8").trim());
  return {
    registry,
    close,
    address: server.address as Address,
    owners: authority.grpcNames,
    inProcess,
    /** The token of the administrator of `default`. */
    admin,
    gateway,
    connect(target: Address = server.address) {
      const channel = new GrpcChannel(target);
      channels.push(channel);
      return channel;
    },
    async enrol(name: string): Promise<Metadata> {
      const { secret } = await unary(
        inProcess,
        EnrolmentsService.create,
        { name, replace: false },
        { metadata: admin },
      );
      return bearer(secret);
    },
    async login(account: string, namespace = "", password = PASSWORD): Promise<Metadata> {
      const tokens = await unary(inProcess, AuthService.login, { account, password, namespace });
      return bearer(tokens.accessToken);
    },
    /**
     * The messages that a gateway gets, one change after the other, from the start, in the form of
     * `show`. The watch runs in the process, so a stop of its gRPC port does not end it.
     */
    watch(t: Test): () => Promise<string> {
      const call = stream(inProcess, RegistryService.watch, { admission: SYSTEM });
      call.send({ confirmed: 0n });
      call.end();
      t.teardown(() => call.cancel());
      const messages = call.responses[Symbol.asyncIterator]();
      return async () => show((await messages.next()).value!);
    },
    /** Closes every connection, and listens again at the same address. */
    async restart() {
      const { address } = server;
      await server.close(0);
      server = await serveGrpc(dispatcher, address, limits);
    },
  };
}
