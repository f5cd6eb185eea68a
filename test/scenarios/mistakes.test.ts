// What the command line says to somebody who does not know it yet, at a real terminal.
import { readFileSync } from "node:fs";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { replay } from "./transcript.js";

t.test("mistakes at a terminal, and what the command line answers", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const stop = async () => void (await portico.stop());
  const transcript = readFileSync("test/scenarios/mistakes.txt", "utf8");
  await replay(t, transcript, { url: portico.address("HTTP"), data, events: { stop } });
});
