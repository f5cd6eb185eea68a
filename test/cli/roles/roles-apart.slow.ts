// The roles as three processes: authority, gateway, service. They find each other through the
// registry, and decide as one process would. They refuse calls when the authority is gone, and
// recover by themselves.

import t from "tap";
import { parseAddress } from "../../../src/address/address.js";
import { HealthService } from "../../../src/gen/grpc/health/v1/health.js";
import { unary } from "../../../src/rpc/client.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, answered, call, type Portico, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const data = await installation(t.testdir());
/** Long enough that a gateway on a busy machine does not lose it between two pongs. */
const lease = "3s";
const grpc = `127.0.0.1:${await freePort()}`;
/**
 * The time for calls in progress. A stop that waits for this long fails the test, because `stop`
 * waits for a shorter time.
 */
const drain = { PORTICO_DRAIN: "10m" };
const settings = { PORTICO_DATA: data, PORTICO_LEASE: lease, PORTICO_GRPC: grpc, ...drain };
let authority = await start(["authority"], settings);
const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: grpc, ...drain };
const service = await start(["service", "helloworld"], joined);
const gateway = await start(["gateway"], joined);
t.teardown(() => Promise.all([authority, service, gateway].map((portico: Portico) => portico.stop())));
const http = gateway.address("HTTP");
const hello = `${http}/helloworld/call?name=Ada`;

/** Calls until the response has the status. */
const responses = (status: number): Promise<void> => answered(() => call(hello), status);

await t.test("a call goes from the gateway to the service, at the address in the registry", async (t) => {
  await responses(200);
  t.match((await call(hello)).body, { message: "Hello Ada", msg: "Hello Ada" });
});

await t.test("a created or deleted rule is effective at the gateway when the command returns", async (t) => {
  const admin = await administrator(http, data);
  for (let round = 0; round < 20; round++) {
    await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin);
    t.equal((await call(hello)).status, 401);
    const rule = { id: "default", scope: "<public>", access: "GRANTED", resource: "*:*:*" };
    await call(`${http}/v1/auth/Rules/Create`, { rule }, admin);
    t.equal((await call(hello)).status, 200);
  }
});

await t.test("watches and registrations do not delay an authority that stops", async (t) => {
  t.equal(await authority.stop(), 0, "long before the time that calls in flight would get");
  authority = await start(["authority"], settings);
  await responses(200);
});

await t.test("without its authority the gateway responds with 503 after the lease has expired", async (t) => {
  await authority.stop("SIGKILL");
  await responses(503);
  t.match((await call(hello)).body, { Id: "helloworld", Code: 503, Status: "Service Unavailable" });
});

await t.test("log lines about the authority then contain its address", async (t) => {
  for (const [{ errors }, what] of [
    [gateway, "the registry cannot be followed"],
    [gateway, "the lease ran out"],
    [service, "the lease ran out"],
    [service, "not registered; trying again"],
  ] as const) {
    t.match(JSON.parse(await lineOf(errors, what)), { authority: grpc }, what);
  }
});

/** The first line of a log that contains a text, once it exists. */
async function lineOf(log: () => string, what: string): Promise<string> {
  const find = () =>
    log()
      .split("\n")
      .slice(0, -1)
      .find((one) => one.includes(what));
  await until(() => find() !== undefined, { what: () => `"${what}" is logged; there is ${log()}` });
  return find() as string;
}

await t.test("and the service reports by gRPC health that it does not serve", async (t) => {
  const NOT_SERVING = 2;
  const channel = new GrpcChannel(parseAddress(service.address("gRPC")));
  t.teardown(() => channel.close());
  const check = () => unary(channel, HealthService.check, { service: "helloworld.Helloworld" });
  await until(async () => (await check()).status === NOT_SERVING);
});

await t.test("and recovers by itself, with the service, when the authority is back", async (t) => {
  authority = await start(["authority"], settings);
  await responses(200);
  t.match((await call(hello)).body, { message: "Hello Ada" });
});

await t.test("without its service the gateway responds with 404 or 503, and finds the service again", async (t) => {
  await service.stop();
  const { status } = await call(hello);
  t.ok(status === 503 || status === 404, `${status}`);
  const again = await start(["service", "helloworld"], joined);
  t.teardown(() => again.stop());
  await responses(200);
});

await t.test("and stops at once, after all of this", async (t) => {
  t.equal(await gateway.stop(), 0, "long before the time that calls in flight would get");
});
