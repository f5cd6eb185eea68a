// What a stranger sees on the first day, at a real terminal, with everything in one process.
import { readFileSync } from "node:fs";
import t from "tap";
import { start } from "../server/process.js";
import { replay } from "./transcript.js";

t.test("in one process", async (t) => {
  const data = t.testdir();
  let portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const url = portico.address("HTTP");
  const restart = async () => {
    await portico.stop();
    portico = await start(["server"], { PORTICO_DATA: data, PORTICO_HTTP: new URL(url).host });
  };
  await replay(t, readFileSync("test/scenarios/first-day.txt", "utf8"), { url, data, events: { restart } });
});
