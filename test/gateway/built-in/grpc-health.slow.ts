// gRPC health at the HTTP port: the gateway's readiness, and whether the services that the caller
// may call can be reached.
import { create, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t, { type Test } from "tap";
import type { Metadata } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { HealthService, HealthCheckResponse_ServingStatus as Serving } from "../../../src/gen/grpc/health/v1/health.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { inTime } from "../../support/until.js";
import { createRule, deleteRule, scene } from "../dialects/json/streams/client.js";
import { bearer, channelOf } from "./grpc-client.js";

const it = await scene(t);
const channel = channelOf(t, it);

const DENIED = { scope: "<public>", access: "DENIED", priority: 20 };

const CASES: [title: string, service: string, metadata: Metadata, status: Serving][] = [
  ["the gateway", "", [], Serving.SERVING],
  ["a service", "probe.Probe", [], Serving.SERVING],
  ["health itself", "grpc.health.v1.Health", [], Serving.SERVING],
  ["a gRPC service of two services, if one of them can be reached", "helloworld.Helloworld", [], Serving.SERVING],
  ["the one that can be reached", "helloworld.Helloworld", [["portico-service", "helloworld"]], Serving.SERVING],
  ["the one that cannot", "helloworld.Helloworld", [["portico-service", "gone"]], Serving.NOT_SERVING],
];

for (const [title, service, metadata, status] of CASES) {
  t.test(`the status of ${title}`, async (t) => {
    t.match(await unary(channel, HealthService.check, { service }, { metadata }), { status });
  });
}

t.test("a name that no service has is unknown", async (t) => {
  await t.rejects(unary(channel, HealthService.check, { service: "no.Such" }), { code: Code.NOT_FOUND });
});

t.test("a service that the caller may not call looks like one that does not exist", async (t) => {
  await createRule(it, { id: "no-probe", ...DENIED, resource: "service:probe:*" });
  t.teardown(() => deleteRule(it, "no-probe"));
  const service = "probe.Probe";
  await t.rejects(unary(channel, HealthService.check, { service }), { code: Code.NOT_FOUND });
  t.notOk("probe.Probe" in (await unary(channel, HealthService.list, {})).statuses);
  t.match(await unary(channel, HealthService.check, { service }, { metadata: bearer(it.admin) }), {
    status: Serving.SERVING,
  });
});

t.test("the list has all services that the caller may call", async (t) => {
  const { statuses } = await unary(channel, HealthService.list, {});
  const serving = { status: Serving.SERVING };
  t.match(statuses, { "": serving, "probe.Probe": serving, "helloworld.Helloworld": serving });
});

t.test("every dialect with gRPC paths can call it", async (t) => {
  const url = `http://127.0.0.1:${it.port}/grpc.health.v1.Health/Check`;
  const ask = async (type: string, body: string | Buffer): Promise<Buffer> => {
    const headers = { "content-type": type, "connect-protocol-version": "1" };
    return Buffer.from(await (await fetch(url, { method: "POST", headers, body })).arrayBuffer());
  };
  t.equal(`${await ask("application/json", "{}")}`, '{"status":"SERVING"}');
  t.same(await ask("application/proto", Buffer.alloc(0)), Buffer.from([8, 1]));
  t.same((await ask("application/grpc-web+proto", Buffer.alloc(5))).subarray(0, 7), Buffer.from([0, 0, 0, 0, 2, 8, 1]));
});

function watch(t: Test, service: string): () => Promise<Serving | undefined> {
  const { send, end, cancel, responses } = stream(channel, HealthService.watch);
  send({ service });
  end();
  t.teardown(cancel);
  const iterator = responses[Symbol.asyncIterator]();
  return async () => (await inTime(iterator.next(), `a status of ${service}`)).value?.status;
}

t.test("a watch reports a service that comes and goes", async (t) => {
  const [type, grpcService] = [{ name: "Nothing" }, "late.Late"];
  const method = { name: "Call", inputType: ".late.Nothing", outputType: ".late.Nothing" };
  const file = {
    ...{ name: "late.proto", package: "late", syntax: "proto3", messageType: [type] },
    service: [{ name: "Late", method: [method] }],
  };
  const set = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }));
  const next = watch(t, grpcService);
  t.equal(await next(), Serving.SERVICE_UNKNOWN);
  const leave = it.add({ service: "late", descriptors: Buffer.from(set), grpcServices: [grpcService] });
  t.equal(await next(), Serving.SERVING);
  leave();
  t.equal(await next(), Serving.SERVICE_UNKNOWN);
});

t.test("watches end when the gateway stops", async (t) => {
  const next = watch(t, "");
  t.equal(await next(), Serving.SERVING);
  it.health.leave();
  t.equal(await next(), Serving.NOT_SERVING);
  t.equal(await next(), undefined, "the end");
  t.match(await unary(channel, HealthService.check, { service: "" }), { status: Serving.NOT_SERVING });
});
