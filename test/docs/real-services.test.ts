// The table of options in docs/real-services.md agrees with the options in the code.
import { readFileSync } from "node:fs";
import t from "tap";
import { flagName } from "../../src/config/config.js";
import { SERVICE_OPTIONS, type ServiceOption } from "../../src/config/service-options.js";
import { tablesOf } from "./markdown.js";

const options: [key: string, option: ServiceOption][] = Object.entries(SERVICE_OPTIONS);

t.test("the page has each option with its flag, its member and its meaning", async (t) => {
  const tables = tablesOf(readFileSync("docs/real-services.md", "utf8"));
  const rows = tables.flatMap((table) => table.rows.map((row) => row.join(" | ")));
  for (const [key, { value, meaning }] of options) {
    const member = key === "prefix" ? "`bindings`" : `\`${key}\``;
    const flag = `\`--${flagName(key)}${value === undefined ? "" : ` <${value}>`}\``;
    const row = rows.find((text) => text.startsWith(`${flag} | ${member}`));
    t.ok(row?.endsWith(meaning), `${flag}: ${row}`);
  }
});
