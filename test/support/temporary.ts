/** Places whose path is short and has no space, whatever the checkout's own path is. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

/** A folder of its own, removed after the test. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A path for a unix socket, of which systems take some 100 characters at most. */
export function socketPath(t: Test): string {
  return join(temporaryFolder(t), "socket");
}
