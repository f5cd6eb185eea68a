// What the command line tells of calls, at a real terminal. A gateway hands in what it has counted when it stops.
import { readFileSync } from "node:fs";
import t from "tap";
import { start } from "../server/process.js";
import { replay } from "./transcript.js";

t.test("usage", async (t) => {
  const data = t.testdir();
  let portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const url = portico.address("HTTP");
  const restart = async () => {
    await portico.stop();
    portico = await start(["server"], { PORTICO_DATA: data, PORTICO_HTTP: new URL(url).host });
  };
  await replay(t, readFileSync("test/scenarios/usage.txt", "utf8"), { url, data, events: { restart } });
});
