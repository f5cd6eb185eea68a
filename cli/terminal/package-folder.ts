/** Where this Portico is installed: the folder with its package.json, its .proto files and its programs. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };

export function packageFolder(from = import.meta.dirname): string {
  const file = join(from, "package.json");
  const isOurs = existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === packageJson.name;
  return isOurs || from === dirname(from) ? from : packageFolder(dirname(from));
}
