/**
 * `portico server` with an installation of its own, for commands that run in the test's process.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { installation } from "../../support/installation.js";
import { administrator, start } from "../../support/process.js";
import { temporaryFolder } from "../../support/temporary.js";
import { type Outcome, portico } from "../command-line.js";

export interface Commands {
  /** Runs `portico`, as the administrator. */
  readonly run: (...args: string[]) => Promise<Outcome>;
  /** Writes a file, and returns its path. */
  readonly write: (text: string) => string;
}

export async function openInstallation(t: Test): Promise<Commands> {
  const data = await installation(temporaryFolder(t));
  const env = { PORTICO_DATA: data, PORTICO_OWN_SERVICES: "helloworld", PORTICO_HTTP: "127.0.0.1:0" };
  const server = await start(["server"], env);
  t.teardown(() => server.stop());
  const url = server.address("HTTP");
  const { authorization } = await administrator(url, data);
  const token = authorization.replace("Bearer ", "");
  const folder = temporaryFolder(t);
  return {
    run: (...args) => portico(args, { env: { PORTICO_URL: url, PORTICO_TOKEN: token } }),
    write: (text) => {
      const path = join(folder, "portico.yaml");
      writeFileSync(path, text);
      return path;
    },
  };
}
