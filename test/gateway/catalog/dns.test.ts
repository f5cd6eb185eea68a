// A DNS name with several addresses: calls are distributed over them, and follow when they change.
import t, { type Test } from "tap";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { rawService } from "../../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../../rpc/serve.js";
import { freePort } from "../../support/ports.js";
import { until } from "../../support/until.js";
import { type DeployOptions, deploy } from "../deployment.js";

/** Servers with one port at several loopback addresses, which count their calls by address. */
async function servers(t: Test, ...hosts: string[]) {
  const port = await freePort();
  const calls: Record<string, number> = {};
  for (const host of hosts) {
    const one = (): Buffer => {
      calls[host] = (calls[host] ?? 0) + 1;
      return Buffer.alloc(0);
    };
    const server = await serveHttp2(dispatcherOf([rawService({ one })]), { host, port }, LIMITS);
    t.teardown(() => server.close(0));
  }
  return { port, calls };
}

const TRANSPORTS: [name: string, connect: NonNullable<DeployOptions["connect"]>][] = [
  ["http2", (address, verify, ip) => new Http2Channel(address, { verify, ip })],
  ["grpc-js", (address, verify, ip) => new GrpcChannel(address, { verify, ip })],
];

for (const [name, connect] of TRANSPORTS) {
  t.test(`${name}: a name's addresses are balanced and followed`, async (t) => {
    const { port, calls } = await servers(t, "127.0.0.2", "127.0.0.3", "127.0.0.4");
    let addresses = ["127.0.0.2", "127.0.0.3"];
    const deployment = await deploy(t.testdir(), { connect, lookup: async () => addresses, lookMs: 20 });
    t.teardown(() => deployment.close());
    const { descriptors } = rawService({});
    deployment.add({
      service: "raw",
      addresses: [`raw.test:${port}`],
      descriptors: Buffer.from(descriptors),
      grpcServices: ["raw.Raw"],
    });
    const url = `http://127.0.0.1:${deployment.gateway.address.port}/raw/one`;
    const callUntil = (enough: () => boolean): Promise<void> =>
      until(async () => {
        await (await fetch(url)).text();
        return enough();
      });
    await callUntil(() => (calls["127.0.0.2"] ?? 0) > 5 && (calls["127.0.0.3"] ?? 0) > 5);
    t.ok(calls["127.0.0.2"] && calls["127.0.0.3"], JSON.stringify(calls));
    t.notOk(calls["127.0.0.4"]);
    addresses = ["127.0.0.3", "127.0.0.4"];
    await callUntil(() => (calls["127.0.0.4"] ?? 0) > 5);
    const before = calls["127.0.0.2"];
    for (let call = 0; call < 10; call++) await (await fetch(url)).text();
    t.equal(calls["127.0.0.2"], before, "the address that is gone is not called");
    t.ok(calls["127.0.0.4"]);
  });
}
