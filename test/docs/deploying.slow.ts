// The statements of docs/deploying.md about backups are true. The test uses the commands of the
// page.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { installation } from "../support/installation.js";
import { administrator, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { codeOf, tablesOf } from "./markdown.js";
import { ROWS } from "./restored.js";
import { Installation } from "./restored-installation.js";

const page = readFileSync("docs/deploying.md", "utf8");
const commands = codeOf(page, "");
const PROGRAM = `'${process.execPath}' '${resolve("dist/portico.js")}'`;
t.test("a backup that was made while Portico runs can be restored", async (t) => {
  // Outside the checkout, whose path may contain a space: the paths of the page contain none.
  const folder = temporaryFolder(t);
  const data = await installation(join(folder, "data"));
  const local = (command: string) => command.replaceAll("/var/backups", folder).replaceAll("portico ", `${PROGRAM} `);
  const run = (command: string) => {
    const env = { ...process.env, PORTICO_DATA: data };
    const { status, stderr } = spawnSync("sh", ["-ec", command], { encoding: "utf8", env });
    t.equal(status, 0, `${command}: ${stderr}`);
  };
  const backup = commands.find((command) => command.startsWith("portico backup")) ?? "";
  const restore = commands.find((command) => command.startsWith("systemctl stop")) ?? "";

  const rows = tablesOf(page).find(({ header }) => header[1] === "after the restore")?.rows ?? [];
  t.same(
    rows.map(([what]) => what),
    Object.keys(ROWS),
    "each row of the table is tried",
  );

  const first = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => first.stop());
  const to = new Installation(t, first, await administrator(first.address("HTTP"), data));
  const changes = await Promise.all(
    Object.entries(ROWS).map(async ([what, prepare]) => ({ what, ...(await prepare(to)) })),
  );
  const backedUp = await to.trail();
  run(local(backup));
  await Promise.all(changes.map(({ make }) => make()));
  await Promise.all(changes.map(async ({ what, look, changed }) => t.same(await look(), changed, what)));
  const whole = await to.trail();
  const missing = whole.filter(({ revision }) => Number(revision) > Number(backedUp[0]?.revision));
  t.ok(missing.length >= changes.length);
  t.same(whole.slice(missing.length), backedUp, "records above the last revision of the backup are what is missing");
  await first.stop();

  // The table is about all that may be valid again. Logins are with this flag only.
  run(local(restore.replaceAll(/^systemctl.*\n/gm, "").replace("\n", " --yes --keep-logins\n")));
  const second = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => second.stop());
  to.portico = second;
  const [restored, ...before] = await to.trail();
  t.match(restored, { action: "backup restored" });
  t.same(before, backedUp, "before it, the audit trail is as in the backup");
  await Promise.all(
    changes.map(async ({ what, look, restored }) => t.same(await look(), restored, `${what}, restored`)),
  );
});
