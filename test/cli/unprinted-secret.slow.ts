// If stdout does not accept a secret, the secret is lost. The command then fails, says so, and says
// how to delete what it has created.
import { spawn } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import t from "tap";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { portico } from "./command-line.js";

const data = await installation(t.testdir());
const server = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => server.stop());
const env = { XDG_CONFIG_HOME: join(data, "config"), PORTICO_URL: server.address("HTTP") };
const PORTICO_PASSWORD = readFileSync(join(data, "admin-password"), "utf8").trim();
await portico(["login"], { env: { ...env, PORTICO_PASSWORD } });

const FULL_DISK = "/dev/full";
const KINDS: readonly (readonly [words: string, deletion: RegExp])[] = [
  ["key ci", /portico (auth delete key ptk_\w+)$/],
  ["enrolment shop", /portico (auth delete enrolment shop pte_\w+)$/],
  ["namespace team", /portico (auth delete namespace team)$/],
];
const OUTPUTS: readonly (readonly [title: string, error: RegExp, open: () => "pipe" | number])[] = [
  ...(existsSync(FULL_DISK) ? [["a full disk", /ENOSPC/, () => openSync(FULL_DISK, "w")] as const] : []),
  ["a pipe that nobody reads", /EPIPE/, () => "pipe"],
];

for (const [output, error, open] of OUTPUTS) {
  for (const [words, deletion] of KINDS) {
    t.test(`${words}, on ${output}`, async (t) => {
      const args = [resolve("dist/portico.js"), "auth", "create", ...words.split(" ")];
      const child = spawn(process.execPath, args, { env, stdio: ["ignore", open(), "pipe"] });
      child.stdout?.destroy();
      const exit = new Promise((resolve) => child.once("exit", resolve));
      const said = (await text(child.stderr as Readable)).trim();
      t.equal(await exit, 1);
      t.match(said, error);
      const [, command = ""] = deletion.exec(said) ?? [];
      t.match(await portico(command.split(" "), { env }), { exit: 0 }, said);
    });
  }
}
