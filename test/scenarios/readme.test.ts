// The README's transcript is what happens, and its table of settings is the one in force.
import { readFileSync } from "node:fs";
import t from "tap";
import { flagName, SETTINGS } from "../../src/config.js";
import { start } from "../server/process.js";
import { replay } from "./transcript.js";

const readme = readFileSync("README.md", "utf8");

t.test("the transcript", async (t) => {
  const transcript = /```console\n(.*?)```/s.exec(readme)?.[1] ?? "";
  t.match(transcript, /auth delete rule default/);
  const data = t.testdir();
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  await replay(t, transcript, { url: portico.address("HTTP"), data });
});

t.test("the settings", async (t) => {
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
