// Starting and stopping at a real terminal: the output of the first start, of later ones, and for a
// wrong setting.
import { readFileSync } from "node:fs";
import t from "tap";
import { replay } from "./transcript.js";

t.test("starting and stopping portico server at a terminal", async (t) => {
  const data = t.testdir();
  const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
  const env = { ...ports, PORTICO_DATA: data, PORTICO_LOG_LEVEL: "warn" };
  const transcript = readFileSync("test/scenarios/start.txt", "utf8");
  await replay(t, transcript, { url: "http://127.0.0.1:0", data, env, values: { data } });
});
