// Fields without presence are in every response, including zeros, unless the setting omits them.
// Responses of the authority and of the registry, which Portico's own commands read, always have
// them.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import t, { type Test } from "tap";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";

const descriptors = join(t.testdir(), "helloworld.binpb");
execFileSync("node_modules/.bin/buf", ["build", "proto", "--path", "proto/helloworld", "-o", descriptors]);

const cases: [title: string, env: Record<string, string>, answer: object][] = [
  ["by default", {}, { message: "", msg: "" }],
  ["PORTICO_OMIT_ZEROS=true", { PORTICO_OMIT_ZEROS: "true" }, {}],
];

for (const [title, env, response] of cases) {
  t.test(title, async (t) => {
    const data = await installation(t.testdir());
    const services = [{ name: "silent", target: await silentGreeter(t), descriptors }];
    writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
    const portico = await start(["server"], { PORTICO_DATA: data, ...env });
    t.teardown(() => portico.stop());
    const http = portico.address("HTTP");
    t.same((await call(`${http}/silent/helloworld/call`)).body, response);
    const { body } = await call(`${http}/v1/auth/rules/list`, {}, await administrator(http, data));
    t.match(body, { rules: [{ id: "default", priority: 0 }] });
  });
}

/** Responds with an empty message. */
async function silentGreeter(t: Test): Promise<string> {
  const server = new grpc.Server();
  t.teardown(() => server.forceShutdown());
  const bytes = (value: Buffer): Buffer => value;
  const shape = { path: "/helloworld.Helloworld/Call", requestStream: false, responseStream: false };
  const codec = { requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes };
  server.addService(
    { Call: { ...shape, ...codec, responseDeserialize: bytes } },
    {
      Call: (_: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => done(null, Buffer.alloc(0)),
    },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(`127.0.0.1:${port}`) : reject(error),
    );
  });
}
