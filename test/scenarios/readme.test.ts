// The README's transcripts show what happens, and its table of settings is the one of the code.
import { readFileSync } from "node:fs";
import t from "tap";
import { flagName, SETTINGS } from "../../src/config/config.js";
import { replayInOneProcess } from "./one-process.js";
import { readmeTranscripts } from "./readme.js";

const readme = readFileSync("README.md", "utf8");

t.test("the commands of the README show what it says", async (t) => {
  const blocks = readmeTranscripts();
  t.equal(blocks.length, 3);
  const transcript = blocks.join("\n");
  t.notMatch(transcript, /curl [^$]*--json/, "no option that curl 7.81 does not have");
  await replayInOneProcess(t, { transcript, ownServices: "*" });
});

t.test("the table lists every setting with its flag, default and meaning", async (t) => {
  const rows = Object.entries(SETTINGS).map(([key, setting]) => {
    const flag = "secret" in setting ? "" : `\`--${flagName(key)}\``;
    return `| \`${setting.variable}\` | ${flag} | ${setting.default ?? ""} | ${setting.meaning} |`;
  });
  const table = readme.split("\n").filter((line) => line.startsWith("| `PORTICO_"));
  t.same(
    table.filter((line) => !/PORTICO_(URL|TOKEN|ACCOUNT|PASSWORD|NAMESPACE|PROFILE)`/.test(line)),
    rows,
  );
});
