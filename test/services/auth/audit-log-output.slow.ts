// The audit log on standard output, and on a disk that is full.

import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { outputTo } from "../../../services/auth/log/audit/audit-output.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";

t.test("on standard output, also with a reader that takes nothing, changes go on", async (t) => {
  const data = await installation(t.testdir());
  const server = await start(["server"], {
    PORTICO_DATA: data,
    PORTICO_OWN_SERVICES: "helloworld",
    PORTICO_AUDIT_LOG: "-",
  });
  t.teardown(() => server.stop());
  const url = server.address("HTTP");
  const admin = await administrator(url, data);
  const lines = () =>
    server
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"));
  const subjects = () => lines().map((line) => JSON.parse(line).subject as string);
  await until(() => lines().length > 0);
  server.child.stdout?.pause();
  const ids = Array.from({ length: 30 }, (_, index) => `${index}-${"x".repeat(50)}`);
  for (const id of ids) {
    const rule = { id, scope: "*", access: "GRANTED", resource: "*:*:*" };
    t.equal((await call(`${url}/v1/auth/Rules/Create`, { rule }, admin)).status, 200);
  }
  server.child.stdout?.resume();
  await until(() => subjects().includes(ids.at(-1)!));
  t.same(subjects().slice(-ids.length), ids);
});

const canMount = () => process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "true"]).status === 0;

t.test("a disk that is full in the middle of a line", { skip: !canMount() && "it needs a mount" }, async (t) => {
  // A small file system in a mount namespace of its own, reached through its process.
  const folder = temporaryFolder(t);
  const script = `mount -t tmpfs -o size=64k none ${folder} && echo mounted && exec sleep 600`;
  const holder = spawn("unshare", ["--mount", "sh", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => holder.kill("SIGKILL"));
  let printed = "";
  holder.stdout.on("data", (text) => {
    printed += text;
  });
  await until(() => printed.includes("mounted"));
  const inside = join(`/proc/${holder.pid}/root`, folder);
  const file = join(inside, "audit.jsonl");
  writeFileSync(join(inside, "other"), Buffer.alloc(40_000));
  const lines = Array.from({ length: 500 }, (_, index) => `${JSON.stringify({ cursor: `${index}.0` })}\n`.padStart(60));
  const output = outputTo(file);
  t.teardown(() => output.close());
  await t.rejects(output.write(lines), { code: "ENOSPC" });
  const torn = readFileSync(file, "utf8");
  t.ok(torn.length > 0 && torn.length < lines.join("").length);
  await t.rejects(output.write(lines), { code: "ENOSPC" }, "still");
  writeFileSync(join(inside, "other"), "");
  await output.write(lines);
  t.equal(readFileSync(file, "utf8"), lines.join(""));
});
