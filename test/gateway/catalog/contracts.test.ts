// A contract belongs to a connection. Whatever instances there are, and whatever takes their
// addresses, requests are encoded and responses decoded by the contract of the server that serves
// the call.

import { join } from "node:path";
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t, { type Test } from "tap";
import type { Address } from "../../../src/address/address.js";
import { NO_METADATA } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import type { Channel, Verify } from "../../../src/rpc/channel.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { part, type Service } from "../../../src/rpc/service.js";
import { dispatcherOf, LIMITS } from "../../rpc/serve.js";
import { compile } from "../../services/registry/compile.js";
import { freePort } from "../../support/ports.js";
import { until } from "../../support/until.js";
import { type Deployment, deploy } from "../deployment.js";

const ORDER = (id: number, item: number, request: number, methods: string) => `syntax = "proto3";
package shop;
service Orders { ${methods} }
message Request { string id = ${request}; }
message Order { string id = ${id}; string item = ${item}; }`;
const method = (name: string) => `rpc ${name}(Request) returns (Order);`;

/**
 * The same names with other field numbers. A response that is decoded by the wrong contract shows a
 * wrong order.
 */
const VERSIONS = {
  one: { methods: ["Get", "Old"], proto: ORDER(1, 2, 1, method("Get") + method("Old")) },
  two: { methods: ["Get", "New"], proto: ORDER(2, 1, 2, method("Get") + method("New")) },
};
type Version = keyof typeof VERSIONS;

const folder = t.testdir();
const services = Object.fromEntries(
  Object.entries(VERSIONS).map(([name, version]) => [name, serviceOf(name, version.proto, version.methods)]),
) as Record<Version, Service>;

/** Responds with the requested ID, and with its version as the item. */
function serviceOf(name: string, proto: string, methods: readonly string[]): Service {
  const descriptors = compile(join(folder, name), { "shop.proto": proto });
  const types = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
  const codec = (type: DescMessage) => ({
    serialize: (message: MessageShape<DescMessage>) => Buffer.from(toBinary(type, message)),
    deserialize: (bytes: Uint8Array) => fromBinary(type, bytes),
  });
  const Request = types.getMessage("shop.Request") as DescMessage;
  const Order = types.getMessage("shop.Order") as DescMessage;
  const [asked, answered] = [codec(Request), codec(Order)];
  const definition = Object.fromEntries(
    methods.map((method) => [
      method.toLowerCase(),
      {
        path: `/shop.Orders/${method}`,
        requestStream: false as const,
        responseStream: false as const,
        requestSerialize: asked.serialize,
        requestDeserialize: asked.deserialize,
        responseSerialize: answered.serialize,
        responseDeserialize: answered.deserialize,
      },
    ]),
  );
  const response = (request: unknown) => create(Order, { id: (request as { id: string }).id, item: name } as never);
  const implementation = Object.fromEntries(methods.map((method) => [method.toLowerCase(), response]));
  return { name: "shop", descriptors, parts: [part(definition, implementation as never)] };
}

/** A server of a version at a port. */
async function serve(t: Test, version: Version, port = 0) {
  const server = await serveHttp2(dispatcherOf([services[version]]), { host: "127.0.0.1", port }, LIMITS);
  t.teardown(() => server.close(0));
  return server;
}

function announce(deployment: Deployment, version: Version, port: number, id: string = version): () => void {
  const { descriptors } = services[version];
  const grpcServices = ["shop.Orders"];
  const addresses = [`127.0.0.1:${port}`];
  const known = { descriptors: Buffer.from(descriptors), grpcServices, reflected: true };
  return deployment.add({ service: "shop", id, addresses, ...known });
}

interface Answer {
  readonly status: number;
  readonly body: { readonly id?: string; readonly item?: string };
}

async function get(deployment: Deployment, endpoint: string): Promise<Answer> {
  const url = `http://127.0.0.1:${deployment.gateway.address.port}/shop/orders/${endpoint}?id=5`;
  const response = await fetch(url);
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

/** Whether a response is the requested order, as one of the versions has it. */
const isRight = ({ body: { id, item } }: Answer): boolean => id === "5" && (item === "one" || item === "two");

/** Asks until a response is as wanted. */
async function askUntil(
  deployment: Deployment,
  endpoint: string,
  wanted: (response: Answer) => boolean,
): Promise<Answer> {
  let response: Answer | undefined;
  const isSo = async (): Promise<boolean> => {
    response = await get(deployment, endpoint);
    return wanted(response);
  };
  await until(isSo, {
    what: () => `${endpoint} is answered as wanted; the last answer is ${JSON.stringify(response)}`,
  });
  return response!;
}

t.test("a call that is repeated with another contract is admitted again", async (t) => {
  const port = await freePort();
  let failed = 0;
  const dead: Channel = {
    state: "ready",
    open: (_start, listener) => {
      failed++;
      const reason = { message: "it is dead", details: [], trailers: NO_METADATA, neverSent: true };
      queueMicrotask(() => listener.onEnd({ code: Code.UNAVAILABLE, ...reason }));
      return { send: () => true, end() {}, cancel() {}, pause() {}, resume() {} };
    },
    close() {},
  };
  const connect = (address: Address, verify?: Verify): Channel =>
    "port" in address && address.port === port ? dead : new Http2Channel(address, { verify });
  const deployment = await deploy(t.testdir(), { connect });
  t.teardown(() => deployment.close());
  announce(deployment, "two", (await serve(t, "two")).address.port);
  announce(deployment, "one", port);
  let before = { failed, decided: deployment.decided.length };
  const { status } = await askUntil(deployment, "get", ({ status }) => {
    if (status === 200 && failed > before.failed) return true;
    before = { failed, decided: deployment.decided.length };
    return false;
  });
  t.equal(status, 200);
  t.equal(deployment.decided.length - before.decided, 1 + failed - before.failed);
  t.ok(failed > before.failed);
});

const TRANSPORTS: [name: string, connect: (address: Address, verify?: Verify) => Channel][] = [
  ["http2", (address, verify) => new Http2Channel(address, { verify })],
  ["grpc-js", (address, verify) => new GrpcChannel(address, { verify })],
];

for (const [name, connect] of TRANSPORTS) {
  t.test(name, async (t) => {
    const open = async (t: Test): Promise<Deployment> => {
      const deployment = await deploy(t.testdir(), { connect });
      t.teardown(() => deployment.close());
      return deployment;
    };

    t.test(
      "two versions side by side: each is called by its own contract, and only for its own endpoints",
      async (t) => {
        const deployment = await open(t);
        announce(deployment, "one", (await serve(t, "one")).address.port);
        announce(deployment, "two", (await serve(t, "two")).address.port);
        await askUntil(deployment, "new", ({ status }) => status === 200);
        const items = new Set<string | undefined>();
        for (let call = 0; call < 40; call++) {
          const response = await get(deployment, "get");
          t.ok(response.status === 200 && isRight(response), JSON.stringify(response));
          items.add(response.body.item);
        }
        t.same([...items].sort(), ["one", "two"], "in turn");
        for (let call = 0; call < 10; call++) {
          t.match(await get(deployment, "old"), { status: 200, body: { id: "5", item: "one" } });
          t.match(await get(deployment, "new"), { status: 200, body: { id: "5", item: "two" } });
        }
      },
    );

    t.test("another version at the same address without a registration: no response is wrong", async (t) => {
      const deployment = await open(t);
      const port = await freePort();
      let server = await serve(t, "one", port);
      announce(deployment, "one", port);
      t.match(await askUntil(deployment, "get", ({ status }) => status === 200), { body: { item: "one" } });
      for (const version of ["two", "one", "two"] as const) {
        const wrong: Answer[] = [];
        let running = true;
        const callers = Array.from({ length: 8 }, async () => {
          while (running) {
            const response = await get(deployment, "get");
            if (response.status === 200 ? !isRight(response) : response.status !== 503) wrong.push(response);
          }
        });
        await server.close(0);
        server = await serve(t, version, port);
        t.match(await askUntil(deployment, "get", ({ body }) => body.item === version), { body: { item: version } });
        running = false;
        await Promise.all(callers);
        t.same(wrong, []);
      }
      t.match(
        await get(deployment, "new"),
        { status: 200, body: { id: "5", item: "two" } },
        "its endpoints are routed",
      );
      t.equal((await get(deployment, "old")).status, 404, "and those of the one before are not");
    });

    t.test("a server that has none of the gRPC services is never called", async (t) => {
      const deployment = await open(t);
      const port = await freePort();
      const server = await serve(t, "one", port);
      announce(deployment, "one", port);
      await askUntil(deployment, "get", ({ status }) => status === 200);
      await server.close(0);
      const other = await serveHttp2(dispatcherOf([]), { host: "127.0.0.1", port }, LIMITS);
      t.teardown(() => other.close(0));
      for (let call = 0; call < 20; call++) t.equal((await get(deployment, "get")).status, 503);
    });

    t.test("if one version cannot be reached, the other is called by its own contract", async (t) => {
      const deployment = await open(t);
      announce(deployment, "two", (await serve(t, "two")).address.port);
      announce(deployment, "one", await freePort());
      await askUntil(deployment, "get", ({ status }) => status === 200);
      for (let call = 0; call < 20; call++) {
        t.match(await get(deployment, "get"), { status: 200, body: { id: "5", item: "two" } });
      }
      t.equal((await get(deployment, "old")).status, 503, "what only the other has");
    });
  });
}
