/** Folders whose path is short and has no space, even if the path of the checkout has one. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

/** Makes a folder for one test, which is removed when the test ends. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A path for a unix socket. Systems allow about 100 characters. */
export function socketPath(t: Test): string {
  return join(temporaryFolder(t), "socket");
}
