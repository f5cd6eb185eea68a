// The limits that an administrator has set for one service: how long a call may take, the size of
// messages, and the number of calls at the same time.
import t, { type Test } from "tap";
import type { Flags } from "../../../src/config/config.js";
import { Code } from "../../../src/errors.js";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { toDuration } from "../../../src/time.js";
import { type RawImplementation, RawService, rawService } from "../../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../../rpc/serve.js";
import { deferred } from "../../support/deferred.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";

const MIB = 1024 ** 2;

/** A deployment with the service raw at a server of its own, which has these options. */
async function deployRaw(
  t: Test,
  endpoints: Partial<RawImplementation>,
  options: Partial<ServiceOptions>,
  flags: Flags = {},
) {
  const dispatcher = dispatcherOf([rawService(endpoints)], { limits: { ...LIMITS, maxBody: 80 * MIB } });
  const server = await serveHttp2(dispatcher, { host: "127.0.0.1", port: 0 }, { ...LIMITS, maxBody: 80 * MIB });
  t.teardown(() => server.close(0));
  const descriptors = Buffer.from(rawService({}).descriptors);
  const targets = [{ target: server.address, weight: 1 }];
  const external = [{ name: "raw", targets, descriptors, options: ServiceOptions.fromPartial(options) }];
  const deployment = await deploy(t.testdir(), { flags, external });
  t.teardown(() => deployment.close());
  const { port } = deployment.gateway.address;
  const channel = new Http2Channel({ host: "127.0.0.1", port }, { maxBody: 80 * MIB });
  t.teardown(() => channel.close());
  await until(() => deployment.catalog.routes.findRpc(RawService.one.path, undefined) !== undefined);
  return { deployment, channel, url: `http://127.0.0.1:${port}/raw` };
}

/** A message of about this size: its only field is unknown to the contract. */
function messageOf(bytes: number): Buffer {
  const length = Buffer.alloc(4);
  for (let index = 0, rest = bytes; index < 4; index++, rest >>>= 7)
    length[index] = (rest & 127) | (index < 3 ? 128 : 0);
  return Buffer.concat([Buffer.of(0x0a), length, Buffer.alloc(bytes)]);
}

const post = (url: string, body = "{}", headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

// These settings would end the call ten times while it is open.
const SHORT = { callTime: "50ms", maxCallTime: "60ms", bodyTime: "100ms", headerTime: "100ms", keepAlive: "1s" };
const POLL_MS = 1_200;

t.test(
  "a long poll of a service with a call time of its own takes longer than all settings of the gateway",
  async (t) => {
    const poll = (): Promise<Buffer> => new Promise((resolve) => setTimeout(resolve, POLL_MS, Buffer.alloc(0)));
    const { url, channel } = await deployRaw(t, { one: poll }, { callTime: toDuration(120_000) }, SHORT);
    const began = performance.now();
    const [http1, http2, asked] = await Promise.all([
      post(`${url}/one`).then(({ status }) => status),
      unary(channel, RawService.one, Buffer.alloc(0)).then(() => "ended"),
      post(`${url}/one`, "{}", { "grpc-timeout": "20S" }).then(({ status }) => status),
    ]);
    t.same([http1, http2, asked], [200, "ended", 200]);
    t.ok(performance.now() - began >= POLL_MS - 5);
  },
);

t.test("the timeout of the client shortens it, and the call time is the maximum", async (t) => {
  const left: number[] = [];
  const one = (_request: Buffer, { deadlineMonotonicMs }: { deadlineMonotonicMs: number }): Buffer => {
    left.push(deadlineMonotonicMs - performance.now());
    return Buffer.alloc(0);
  };
  const { url } = await deployRaw(t, { one: one as never }, { callTime: toDuration(60_000) }, SHORT);
  for (const [timeout, seconds] of [
    [undefined, 60],
    ["5S", 5],
    ["80S", 60],
  ] as const) {
    t.equal((await post(`${url}/one`, "{}", timeout === undefined ? {} : { "grpc-timeout": timeout })).status, 200);
    const ms = left.pop() as number;
    t.ok(ms <= seconds * 1000 && ms > seconds * 1000 - 3_000, `${ms} ms left of ${seconds} s`);
  }
});

t.test("a call time that is shorter than the setting of the gateway ends the call with 504", async (t) => {
  const never = (): Promise<Buffer> => new Promise(() => {});
  const { url } = await deployRaw(t, { one: never }, { callTime: toDuration(50) });
  t.equal((await post(`${url}/one`)).status, 504);
});

t.test("messages in binary gRPC may be larger than the setting of the gateway, in both directions", async (t) => {
  const { channel } = await deployRaw(t, { one: (request) => request }, { maxMessage: 20 * MIB });
  const large = messageOf(19 * MIB);
  t.equal((await unary(channel, RawService.one, large)).length, large.length);
  await t.rejects(unary(channel, RawService.one, messageOf(20 * MIB)), {
    code: Code.RESOURCE_EXHAUSTED,
    message: "The body must not be larger than 20971525 bytes",
  });
});

t.test("messages of streams too", async (t) => {
  const chat = async function* (requests: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const request of requests) yield request;
  };
  const { channel } = await deployRaw(t, { chat }, { maxMessage: 6 * MIB });
  const large = messageOf(5 * MIB);
  const exchange = stream(channel, RawService.chat);
  exchange.send(large);
  exchange.end();
  const sizes: number[] = [];
  for await (const { length } of exchange.responses) sizes.push(length);
  t.same(sizes, [large.length]);
});

t.test("a call in JSON carries at most 16 MiB, and an error names the limit", async (t) => {
  const { url } = await deployRaw(t, { one: () => messageOf(17 * MIB) }, { maxMessage: 20 * MIB });
  const fits = await deployRaw(t, { one: () => messageOf(5 * MIB) }, { maxMessage: 20 * MIB });
  const spaces = (size: number): string => `{${" ".repeat(size)}}`;
  t.equal((await post(`${fits.url}/one`, spaces(15 * MIB))).status, 200);
  const refused = await post(`${url}/one`, spaces(17 * MIB));
  t.equal(refused.status, 413);
  t.match(await refused.text(), /16777216/);
  const response = await post(`${url}/one`);
  t.equal(response.status, 502);
  t.match(await response.text(), /raw responded with too much: a message for JSON is larger than 16777216 bytes/);
});

t.test("a service may have a smaller limit than the gateway", async (t) => {
  const { url, channel } = await deployRaw(t, { one: () => messageOf(3_000) }, { maxMessage: 2_000 });
  const request = await post(`${url}/one`, `{${" ".repeat(3_000)}}`);
  t.equal(request.status, 413);
  t.match(await request.text(), /2000/);
  await t.rejects(unary(channel, RawService.one, messageOf(3_000)), { code: Code.RESOURCE_EXHAUSTED });
  const response = await post(`${url}/one`);
  t.equal(response.status, 502);
  t.match(await response.text(), /raw responded with too much: a message is larger than 2000 bytes/);
});

t.test("more calls at once than the service may have are refused with 503, streams included", async (t) => {
  const { promise: over, resolve: finish } = deferred();
  let begun = 0;
  const one = async (): Promise<Buffer> => {
    begun++;
    await over;
    return Buffer.alloc(0);
  };
  const download = async function* (): AsyncGenerator<Buffer> {
    begun++;
    await over;
    yield Buffer.alloc(0);
  };
  const { url, channel, deployment } = await deployRaw(t, { one, download }, { maxConcurrent: 2 });
  const open = post(`${url}/one`);
  const opened = stream(channel, RawService.download);
  opened.send(Buffer.alloc(0));
  opened.end();
  await until(() => begun === 2);
  const refused = await post(`${url}/one`);
  t.equal(refused.status, 503);
  t.equal(refused.headers.get("retry-after"), "1");
  t.match(await refused.text(), /raw has 2 calls, which is its maximum at the same time/);
  await t.rejects(unary(channel, RawService.one, Buffer.alloc(0)), { code: Code.UNAVAILABLE });
  t.same(
    [...deployment.catalog.refused()].find(([service]) => service === "raw"),
    ["raw", 2],
  );
  finish();
  t.equal((await open).status, 200);
  for await (const { length } of opened.responses) t.equal(length, 0);
  await until(async () => (await post(`${url}/one`)).status === 200);
});
