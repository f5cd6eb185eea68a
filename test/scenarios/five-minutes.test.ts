// The commands of docs/five-minutes.md print what the page shows.
import t from "tap";
import { fiveMinutes } from "./five-minutes.js";
import { replayInOneProcess } from "./one-process.js";

t.test("the commands of the five minutes print what the page shows", async (t) => {
  const blocks = fiveMinutes();
  t.equal(blocks.length, 3);
  const transcript = blocks.join("\n");
  t.notMatch(transcript, /curl [^$]*--json/, "no option that curl 7.81 does not have");
  await replayInOneProcess(t, { transcript, ownServices: "*" });
});
