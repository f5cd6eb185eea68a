// A target that is an SRV name: priorities and weights of its records, which are followed.
import { lookup } from "node:dns/promises";
import t, { type Test } from "tap";
import { formatServiceTarget, lookupBoth, parseServiceTarget, serversOf } from "../../../src/address/srv.js";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { rawService } from "../../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../../rpc/serve.js";
import { dnsServer, type SrvRecord } from "../../support/dns-server.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";

const NAME = "_grpc._tcp.shop.example";

/** Servers that count their calls. */
async function servers(t: Test, count: number) {
  const calls: number[] = Array(count).fill(0);
  const ports: number[] = [];
  for (let index = 0; index < count; index++) {
    const one = (): Buffer => {
      calls[index] = (calls[index] as number) + 1;
      return Buffer.alloc(0);
    };
    const server = await serveHttp2(dispatcherOf([rawService({ one })]), { host: "127.0.0.1", port: 0 }, LIMITS);
    t.teardown(() => server.close(0));
    ports.push(server.address.port);
  }
  return { calls, ports };
}

/** A deployment whose service raw has the SRV name as its only target. */
async function deployed(t: Test, records: Map<string, readonly SrvRecord[]>) {
  const hosts = async (host: string): Promise<string[]> =>
    host.endsWith(".test") ? ["127.0.0.1"] : (await lookup(host, { all: true })).map(({ address }) => address);
  const find = lookupBoth(await dnsServer(t, records), hosts);
  const descriptors = Buffer.from(rawService({}).descriptors);
  const targets = [{ target: parseServiceTarget(`dns+srv://${NAME}`), weight: 1 }];
  const external = [{ name: "raw", targets, descriptors, options: ServiceOptions.fromPartial({}) }];
  const deployment = await deploy(t.testdir(), { external, lookup: find, lookMs: 20 });
  t.teardown(() => deployment.close());
  const url = `http://127.0.0.1:${deployment.gateway.address.port}/raw/one`;
  return async (): Promise<number> => {
    const response = await fetch(url);
    await response.text();
    return response.status;
  };
}

t.test("calls go to the servers of the lowest priority by their weights, and follow the records", async (t) => {
  const { calls, ports } = await servers(t, 4);
  const record = (index: number, priority: number, weight: number): SrvRecord => ({
    ...{ priority, weight },
    port: ports[index] as number,
    host: "127.0.0.1",
  });
  const records = new Map([[NAME, [record(0, 1, 80), record(1, 1, 20), record(2, 5, 50)]]]);
  const call = await deployed(t, records);
  await until(async () => (await call()) === 200 && (calls[0] as number) > 0 && (calls[1] as number) > 0);
  calls.fill(0);
  for (let index = 0; index < 100; index++) await call();
  t.same(calls, [80, 20, 0, 0]);
  records.set(NAME, [record(3, 0, 0)]);
  await until(async () => (await call()) === 200 && (calls[3] as number) > 0);
  calls.fill(0);
  for (let index = 0; index < 10; index++) await call();
  t.same(calls, [0, 0, 0, 10]);
  records.delete(NAME);
  for (let index = 0; index < 10; index++) t.equal(await call(), 200, "the last known servers are called");
});

t.test("servers of a later priority get the calls while the first one cannot be reached", async (t) => {
  const { calls, ports } = await servers(t, 1);
  const at = (priority: number, port: number): SrvRecord => ({ priority, port, weight: 0, host: "127.0.0.1" });
  const call = await deployed(t, new Map([[NAME, [at(1, 1), at(2, ports[0] as number)]]]));
  await until(async () => (await call()) === 200);
  t.ok((calls[0] as number) > 0);
});

t.test("until the name has records, calls are refused, and not forgotten", async (t) => {
  const { ports } = await servers(t, 1);
  const records = new Map<string, readonly SrvRecord[]>();
  const call = await deployed(t, records);
  t.equal(await call(), 503);
  records.set(NAME, [{ priority: 1, weight: 1, port: ports[0] as number, host: "127.0.0.1" }]);
  await until(async () => (await call()) === 200);
});

t.test("the servers of a target", async (t) => {
  const at = (priority: number, weight: number, host: string): SrvRecord => ({ priority, weight, host, port: 443 });
  const records = new Map([[NAME, [at(2, 1, "c.test"), at(1, 1, "b.test"), at(1, 9, "a.test")]]]);
  const find = lookupBoth(await dnsServer(t, records));
  const of = async (text: string) =>
    (await serversOf(parseServiceTarget(text), find)).map((server) => formatServiceTarget(server));
  t.same(await of("shop.test:80"), ["shop.test:80"]);
  t.same(await of(`dns+srv://${NAME}`), ["a.test:443", "b.test:443", "c.test:443"]);
  t.same(await of(`dns+srvs://${NAME}`), ["grpcs://a.test:443", "grpcs://b.test:443", "grpcs://c.test:443"]);
  await t.rejects(of("dns+srv://_grpc._tcp.other.example"), { code: "ENOTFOUND" });
});

for (const text of [
  "dns+srv://",
  "dns+srv://shop",
  "dns+srv://_grpc._tcp.shop.example:443",
  "dns+srv://a..b",
  "dns+srvs://a/b.c",
]) {
  t.test(`${text} is refused`, async (t) => {
    t.throws(() => parseServiceTarget(text), { name: "SyntaxError", message: /must be dns\+srv/ });
  });
}

for (const assertion of [false, true]) {
  t.test(
    `a server in plain text gets ${assertion ? "no call that would have an" : "calls without"} assertion`,
    async (t) => {
      const { calls, ports } = await servers(t, 1);
      const lookup = async (): Promise<string[]> => ["127.0.0.1", "127.0.0.2"];
      const descriptors = Buffer.from(rawService({}).descriptors);
      const targets = [{ target: { host: "raw.test", port: ports[0] as number }, weight: 1 }];
      const external = [{ name: "raw", targets, descriptors, options: ServiceOptions.fromPartial({ assertion }) }];
      const deployment = await deploy(t.testdir(), { external, lookup });
      t.teardown(() => deployment.close());
      const { port } = deployment.gateway.address;
      const call = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/raw/one`)).status;
      const isLeftOut = (): boolean =>
        deployment.logged.some(({ msg }) => msg === "an address is left out: no channel leads to it");
      if (assertion) await until(isLeftOut);
      else await until(async () => (await call()) === 200);
      t.equal(await call(), assertion ? 503 : 200);
      t.equal((calls[0] as number) > 0, !assertion);
    },
  );
}
