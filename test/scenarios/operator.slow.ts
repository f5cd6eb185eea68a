// Releasing gRPC names, and resetting a lost administrator's password, at a terminal.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { administrator, call, start } from "../support/process.js";
import { until } from "../support/until.js";
import { joinShop } from "./shop.js";
import { replay } from "./transcript.js";

t.test("an operator releases a gRPC name, and recovers a lost password, at a terminal", async (t) => {
  const data = await installation(t.testdir());
  await joinShop(t, data);
  const server = await start(["server"], { PORTICO_DATA: data, PORTICO_OWN_SERVICES: "helloworld" });
  t.teardown(() => server.stop());
  const url = server.address("HTTP");
  const admin = await administrator(url, data);
  /** What of the market's contract is not served; undefined before the market has joined. */
  const problems = async () => {
    const { body } = await call(`${url}/v1/registry/Registry/List`, {}, admin);
    const { services } = body as { services: { name: string; problems?: string[] }[] };
    const market = services.find(({ name }) => name === "market");
    return market && (market.problems ?? []);
  };
  const events = {
    joined: () => until(async () => (await problems()) !== undefined),
    taken: () => until(async () => (await problems())?.every((problem) => !problem.includes("shop.Orders")) ?? false),
  };
  const transcript = readFileSync("test/scenarios/operator.txt", "utf8");
  await replay(t, transcript, { url, data, values: { data }, events });
});
