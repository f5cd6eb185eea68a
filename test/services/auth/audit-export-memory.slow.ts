// An export of 100,000 records takes little memory at both ends, also where its reader is slow.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { Access } from "../../../src/gen/portico/auth/v1/rules.js";
import { openStore } from "../../../src/store/open.js";
import { installation } from "../../support/installation.js";
import { administrator, start } from "../../support/process.js";
import { inTime } from "../../support/until.js";
import { openJournal } from "./open.js";

const RECORDS = 100_000;
const A_REVISION = 1_000;
/** How long the reader takes nothing, in milliseconds. */
const PAUSE = 3_000;
/**
 * Of the whole command, and what the server takes in addition, in MiB. The command takes 103 to
 * 110, and 126 if it keeps the lines, which are 20 MiB.
 */
const MAX_COMMAND = 118;
const MAX_SERVER = 40;

/** The most memory that a process has taken, in MiB. */
const peakOf = (pid: number) =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

t.test("100,000 records are exported in bounded memory", { skip: process.platform !== "linux" }, async (t) => {
  const data = await installation(t.testdir());
  const store = await openStore("sqlite:", data);
  const journal = await openJournal(store);
  const rule = { id: "r", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
  const both = [
    { $case: "ruleCreated", value: { namespace: "default", rule } },
    { $case: "ruleDeleted", value: { namespace: "default", id: "r" } },
  ] as const;
  const events = Array.from({ length: A_REVISION / 2 }, () => both).flat();
  for (let made = 0; made < RECORDS; made += A_REVISION) {
    await journal.commit({ namespace: "default", account: "portico" }, () => events);
  }
  await journal.close();
  await store.close();

  const server = await start(["server"], { PORTICO_DATA: data, PORTICO_OWN_SERVICES: "helloworld" });
  t.teardown(() => server.stop());
  const url = server.address("HTTP");
  const token = (await administrator(url, data)).authorization.replace("Bearer ", "");
  // From here on, the peak is the one of the export (Linux: proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${server.child.pid}/clear_refs`, "5");
  const before = peakOf(server.child.pid!);
  const child = spawn(process.execPath, ["dist/portico.js", "auth", "export", "audit"], {
    env: { PATH: process.env.PATH, HOME: data, PORTICO_URL: url, PORTICO_TOKEN: token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  let [lines, bytes, command] = [0, 0, 0];
  child.stdout.on("data", (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines++;
    bytes += chunk.length;
    if (child.exitCode === null) command = Math.max(command, peakOf(child.pid!) || 0);
  });
  await once(child.stdout, "data");
  child.stdout.pause();
  await sleep(PAUSE); // The whole trail would be in memory by now, if it were collected.
  const paused = peakOf(server.child.pid!) - before;
  const begun = performance.now();
  child.stdout.resume();
  const [code] = await inTime(once(child, "close"), "the export ends", 200_000);
  const took = (performance.now() - begun) / 1000;
  const taken = peakOf(server.child.pid!) - before;
  t.equal(code, 0);
  t.ok(lines > RECORDS, `${lines} lines`);
  const figures = `${lines} records, ${(bytes / 1024 ** 2).toFixed(1)} MiB, ${took.toFixed(1)} s; the command ${command.toFixed(0)} MiB, the server ${taken.toFixed(0)} MiB more, ${paused.toFixed(0)} with a reader that waits`;
  t.comment(figures);
  t.ok(command > 0 && command < MAX_COMMAND, figures);
  t.ok(taken < MAX_SERVER, figures);
});
