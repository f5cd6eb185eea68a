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
  const joined = async () => {
    const { body } = await call(`${url}/v1/registry/Registry/List`, {}, admin);
    return (body as { services: { name: string }[] }).services.some(({ name }) => name === "market");
  };
  const transcript = readFileSync("test/scenarios/operator.txt", "utf8");
  await replay(t, transcript, { url, data, values: { data }, events: { joined: () => until(joined) } });
});
