// Clients that do not know Portico: grpc-js with definitions that are loaded from the .proto files.
import {
  Client,
  compressionAlgorithms,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import t, { type Test } from "tap";
import { Code, StatusError } from "../../src/errors.js";
import { Status as StatusMessage } from "../../src/gen/google/rpc/status.js";
import { helloworld } from "../support/helloworld.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf, listen } from "./serve.js";
import { caller, TableGuard } from "./table-guard.js";

type LoadedClient = Client & Record<string, (...parameters: unknown[]) => NodeJS.ReadWriteStream>;

function clientFor(t: Test, port: number, file: string, name: string, options = {}): LoadedClient {
  const loaded = loadPackageDefinition(loadSync(file, { includeDirs: ["proto"] }));
  const found = name.split(".").reduce<unknown>((scope, part) => (scope as Record<string, unknown>)[part], loaded);
  const client = new (found as ServiceClientConstructor)(`127.0.0.1:${port}`, credentials.createInsecure(), options);
  t.teardown(() => client.close());
  return client as unknown as LoadedClient;
}

function call(client: LoadedClient, method: string, request: unknown, metadata = new Metadata()): Promise<unknown> {
  return new Promise((resolve, reject) => {
    client[method]?.(request, metadata, (error: ServiceError | null, response: unknown) =>
      error === null ? resolve(response) : reject(error),
    );
  });
}

function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

async function serve(t: Test) {
  const guard = new TableGuard();
  guard.callers.set("pta_1", caller("ada"));
  const { address } = await listen(t, dispatcherOf([helloworld], { guard }));
  return { guard, port: address.port };
}

const HELLOWORLD = ["helloworld/helloworld.proto", "helloworld.Helloworld"] as const;

t.test("grpc-js calls helloworld, with a token when a rule demands one", async (t) => {
  const { guard, port } = await serve(t);
  const client = clientFor(t, port, ...HELLOWORLD);
  t.match(await call(client, "call", { name: "Ada" }), { message: "Hello Ada", msg: "Hello Ada" });
  guard.close("helloworld:Helloworld.Call");
  await t.rejects(call(client, "call", { name: "Ada" }), {
    code: status.UNAUTHENTICATED,
    details: "Unauthorized call made to helloworld:Helloworld.Call",
  });
  t.match(await call(client, "call", { name: "Ada" }, bearer("pta_1")), { message: "Hello Ada" });
});

t.test("grpc-js reads a stream from helloworld", async (t) => {
  const { port } = await serve(t);
  const client = clientFor(t, port, ...HELLOWORLD);
  const greetings: unknown[] = [];
  for await (const greeting of client.stream?.({ name: "Ada", messages: 3 }) ?? []) greetings.push(greeting);
  t.match(greetings, Array(3).fill({ message: "Hello Ada" }));
});

t.test("an error of the endpoint arrives with its code and message", async (t) => {
  const { port } = await serve(t);
  const stream = clientFor(t, port, ...HELLOWORLD).stream?.({ name: "Ada", messages: -1 });
  const error = await new Promise((resolve) => stream?.on("data", () => {}).on("error", resolve));
  t.match(error, { code: status.INVALID_ARGUMENT, details: "messages: must be from 0 to 10000, got -1" });
});

for (const algorithm of [compressionAlgorithms.gzip, compressionAlgorithms.deflate]) {
  t.test(`requests compressed with ${compressionAlgorithms[algorithm]} are read`, async (t) => {
    const { port } = await serve(t);
    const client = clientFor(t, port, ...HELLOWORLD, { "grpc.default_compression_algorithm": algorithm });
    const name = "Ada".repeat(1_000);
    t.match(await call(client, "call", { name }), { message: `Hello ${name}` });
  });
}

t.test("health checks need no token", async (t) => {
  const { guard, port } = await serve(t);
  guard.close("helloworld:Helloworld.Call");
  const client = clientFor(t, port, "grpc/health/v1/health.proto", "grpc.health.v1.Health");
  t.match(await call(client, "check", {}), { status: 1 });
  t.match(await call(client, "check", { service: "helloworld.Helloworld" }), { status: 1 });
  await t.rejects(call(client, "check", { service: "unknown" }), { code: status.NOT_FOUND });
});

for (const version of ["v1", "v1alpha"]) {
  t.test(`reflection ${version} needs no token`, async (t) => {
    const { port } = await serve(t);
    const file = `grpc/reflection/${version}/reflection.proto`;
    const client = clientFor(t, port, file, `grpc.reflection.${version}.ServerReflection`);
    const stream = client.serverReflectionInfo?.();
    stream?.write({ listServices: "" } as never);
    stream?.end();
    const responses: unknown[] = [];
    for await (const response of stream ?? []) responses.push(response);
    t.match(responses, [{ listServicesResponse: { service: [{}, {}, {}, { name: "helloworld.Helloworld" }] } }]);
  });
}

t.test("a call to an unknown endpoint ends with UNIMPLEMENTED", async (t) => {
  const { port } = await serve(t);
  const same = (bytes: Buffer): Buffer => bytes;
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  t.teardown(() => client.close());
  const error = await new Promise((resolve) =>
    client.makeUnaryRequest("/helloworld.Helloworld/Unknown", same, same, Buffer.alloc(0), resolve),
  );
  t.match(error, { code: status.UNIMPLEMENTED });
});

t.test("error details are sent in the standard trailer grpc-status-details-bin", async (t) => {
  const details = [{ typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: Buffer.from([10, 1, 65]) }];
  const service = rawService({
    one() {
      throw new StatusError(Code.ABORTED, "conflict", { details });
    },
  });
  const { address } = await listen(t, dispatcherOf([service]));
  const client = new Client(`127.0.0.1:${address.port}`, credentials.createInsecure());
  t.teardown(() => client.close());
  const { path, requestSerialize, responseDeserialize } = RawService.one;
  const error = await new Promise<ServiceError | null>((resolve) =>
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(0), resolve),
  );
  t.match(error, { code: status.ABORTED, details: "conflict" });
  const trailer = error?.metadata.get("grpc-status-details-bin")[0];
  t.match(StatusMessage.decode(trailer as Buffer), { code: status.ABORTED, message: "conflict", details });
});
