// A configured target that cannot be reached is not counted as an instance. Nothing listens on port
// 1.

import t from "tap";
import { joinShop } from "../../scenarios/shop.js";
import { installation } from "../../support/installation.js";
import { call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const data = await installation(t.testdir());
const shop = await joinShop(t, data, ["127.0.0.1:1"]);
const server = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => server.stop());
const http = server.address("HTTP");

async function instances(): Promise<number | undefined> {
  const { body } = await call(`${http}/registry/list`, {});
  return (body as { services: { name: string; instances: number }[] }).services.find(({ name }) => name === "shop")
    ?.instances;
}

// Both targets join when the file with their contract has been read.
await until(async () => (await instances()) !== undefined);

t.test("of two targets, one that cannot be reached is not counted", async (t) => {
  t.equal(await instances(), 1);
  const { body } = await call(`${http}/registry/describe`, { service: "shop" });
  t.match(body, { service: { instances: 1 } });
});

t.test("a target that goes away is not counted any more, and its service stays listed", async (t) => {
  shop.forceShutdown();
  await t.resolves(until(async () => (await instances()) === 0));
});
