/**
 * The folder where this Portico is installed. It contains package.json, the .proto files and the
 * programs.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };

export function packageFolder(from = import.meta.dirname): string {
  const file = join(from, "package.json");
  const isOurs = existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === packageJson.name;
  return isOurs || from === dirname(from) ? from : packageFolder(dirname(from));
}
