// The roles as three processes with mutual TLS. Each has a certificate of one certificate
// authority, and accepts no other.
import { join } from "node:path";
import t from "tap";
import { type GrpcTarget, parseGrpcTarget } from "../../../src/address/address.js";
import { Code } from "../../../src/errors.js";
import { HealthService } from "../../../src/gen/grpc/health/v1/health.js";
import { unary } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { answered, call, start } from "../../support/process.js";

const certified = createAuthority("authority");
const own = certified.issue("localhost");
const stranger = createAuthority("stranger").issue("localhost");
const folder = t.testdir({ "ca.pem": certified.cert, "own.pem": own.cert, "own.key": own.key, data: {} });
const data = await installation(join(folder, "data"));
const TLS = {
  PORTICO_TLS_CA: join(folder, "ca.pem"),
  PORTICO_TLS_CERT: join(folder, "own.pem"),
  PORTICO_TLS_KEY: join(folder, "own.key"),
};

for (const transport of ["http2", "grpc-js"]) {
  t.test(`over ${transport}`, async (t) => {
    const env = { PORTICO_DATA: data, PORTICO_TRANSPORT: transport, ...TLS };
    const authority = await start(["authority"], env);
    const grpc = authority.address("gRPC");
    const service = await start(["service", "helloworld"], { ...env, PORTICO_AUTHORITY: grpc });
    const gateway = await start(["gateway"], { ...env, PORTICO_AUTHORITY: grpc });
    t.teardown(() => Promise.all([authority, service, gateway].map((portico) => portico.stop())));

    t.test("a call goes from the gateway to the service", async (t) => {
      t.match(grpc, /^grpcs:\/\/127\.0\.0\.1:\d+$/);
      const hello = `${gateway.address("HTTP")}/helloworld/call?name=Ada`;
      await answered(() => call(hello), 200);
      t.match((await call(hello)).body, { message: "Hello Ada" });
    });

    for (const portico of [authority, service]) {
      const { host, port } = parseGrpcTarget(portico.address("gRPC")) as Extract<GrpcTarget, { port: number }>;
      t.test(`refuses a client without a certificate of that authority: ${portico.address("gRPC")}`, async (t) => {
        const ca = certified.cert;
        const ask = (tls: ConstructorParameters<typeof Http2Channel>[1]) => {
          const channel = new Http2Channel({ host, port }, tls);
          t.teardown(() => channel.close());
          return unary(
            channel,
            HealthService.check,
            { service: "" },
            { deadlineMonotonicMs: performance.now() + 5_000 },
          );
        };
        await t.resolves(ask({ tls: { ca, ...own } }));
        for (const tls of [{ ca }, { ca, ...stranger }]) await t.rejects(ask({ tls }), { code: Code.UNAVAILABLE });
        await t.rejects(ask({}), { code: Code.UNAVAILABLE });
      });
    }
  });
}

t.test("the error mentions TLS when a gateway connects in plain text to an authority with TLS", async (t) => {
  const authority = await start(["authority"], { PORTICO_DATA: data, ...TLS });
  t.teardown(() => authority.stop());
  const plain = authority.address("gRPC").replace("grpcs://", "");
  const gateway = await start(["gateway"], { PORTICO_DATA: data, PORTICO_AUTHORITY: plain });
  t.teardown(() => gateway.stop());
  t.match(
    gateway.output(),
    new RegExp(`^ *Not ready: the authority at ${plain} cannot be reached: .*may want TLS`, "m"),
  );
});
