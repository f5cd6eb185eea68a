// A service called from the command line by its fields, at a real terminal.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { joinShop } from "./shop.js";
import { replay } from "./transcript.js";

t.test("calling services at a terminal", async (t) => {
  const data = await installation(t.testdir());
  await joinShop(t, data);
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  await replay(t, readFileSync("test/scenarios/calls.txt", "utf8"), { url: portico.address("HTTP"), data });
});
