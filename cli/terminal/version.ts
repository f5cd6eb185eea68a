/** What `portico --version` prints. */
import { readFileSync } from "node:fs";
import packageJson from "../../package.json" with { type: "json" };

/**
 * `portico 0.1.0 (a07101e, HTTP parser of undici 7.30.2)`: the version, the commit from which the
 * program was built, and the package whose parser was bundled, if they are known.
 */
export function versionText(): string {
  const { version, commit } = buildOf();
  const record = beside("built-from.json");
  const parser = record && `HTTP parser of undici ${JSON.parse(record).llhttp.undici}`;
  const details = [commit, parser].filter(Boolean).join(", ");
  return `portico ${version}${details && ` (${details})`}`;
}

/** The version of this program, and the commit from which it was built, if that is known. */
export function buildOf(): { readonly version: string; readonly commit: string | undefined } {
  return { version: packageJson.version, commit: beside("commit")?.trim() };
}

/**
 * What scripts/build.mjs has written next to the bundle. The commit exists only if the build ran in
 * a git checkout.
 */
function beside(file: string): string | undefined {
  try {
    return readFileSync(new URL(file, import.meta.url), "utf8");
  } catch {
    return undefined;
  }
}
