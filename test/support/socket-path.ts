/** A path for a unix socket. Folders of tests are no place for it: a system takes some 100 characters and no more. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

export function socketPath(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "socket");
}
