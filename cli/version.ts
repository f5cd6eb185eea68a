/** What `portico --version` prints. */
import { readFileSync } from "node:fs";
import packageJson from "../package.json" with { type: "json" };

/** `portico 0.1.0 (a07101e)`: the version, and the commit that the program was built from, where that is known. */
export function versionText(): string {
  const commit = builtFrom();
  return `portico ${packageJson.version}${commit === undefined ? "" : ` (${commit})`}`;
}

function builtFrom(): string | undefined {
  try {
    // scripts/build.mjs writes this file beside the bundle, in a checkout.
    return readFileSync(new URL("commit", import.meta.url), "utf8");
  } catch {
    return undefined;
  }
}
