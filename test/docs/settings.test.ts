// The tables of docs/settings.md agree with the settings in the code.
import { readFileSync } from "node:fs";
import t from "tap";
import { flagName, SETTINGS } from "../../src/config/config.js";
import { tablesOf } from "./markdown.js";

const tables = tablesOf(readFileSync("docs/settings.md", "utf8"));

t.test("the table of a process has every setting with its flag, default and meaning", async (t) => {
  const rows = tables.find(({ heading }) => heading === "## Of a process")?.rows;
  const settings = Object.entries(SETTINGS).map(([key, setting]) => {
    const flag = "secret" in setting ? "" : `\`--${flagName(key)}\``;
    return [`\`${setting.variable}\``, flag, setting.default ?? "", setting.meaning];
  });
  t.same(
    rows?.filter(([variable]) => variable !== "fixed"),
    settings,
  );
});
