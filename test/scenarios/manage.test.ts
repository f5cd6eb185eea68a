// Every command that manages, at a real terminal, against a real Portico.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { replay } from "./transcript.js";

t.test("managing rules, accounts, keys, namespaces and enrolments at a terminal", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  await replay(t, readFileSync("test/scenarios/manage.txt", "utf8"), { url: portico.address("HTTP"), data });
});
