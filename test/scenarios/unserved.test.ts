// A rule for a service or endpoint that nobody serves is warned of.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { replay } from "./transcript.js";

t.test("rules for services that nobody serves are told as such", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const transcript = readFileSync("test/scenarios/unserved.txt", "utf8");
  await replay(t, transcript, { url: portico.address("HTTP"), data });
});
