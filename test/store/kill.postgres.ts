/**
 * Acknowledged writes to a store on Postgres survive `kill -9` of the writer and of the server, and
 * a full disk.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { bundleInto } from "../support/bundle.js";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";
import { inTime, until } from "../support/until.js";
import { errorOf, openOn } from "./open-postgres.js";

const ROUNDS = 4;
/** The maximum time from the first acknowledgement to the kill, in milliseconds. */
const LONGEST = 300;

/** Starts a writer, and kills it or the server after a while. Returns the acknowledged keys. */
async function interrupted(program: string, args: readonly string[], kill: (writer: () => void) => unknown) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "ignore"] });
  const acknowledged: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => acknowledged.push(line));
  const ended = once(child, "close");
  await inTime(Promise.race([once(lines, "line"), ended]), "the writer acknowledges its first change");
  await sleep(Math.random() * LONGEST);
  await kill(() => child.kill("SIGKILL"));
  await inTime(ended, "the writer ends");
  return acknowledged;
}

async function checkAll(t: Test, server: PostgresServer, acknowledged: readonly string[]): Promise<void> {
  const log = collectionOf(await openOn(t, server), "log");
  const there = new Set(await log.keys());
  const lost = acknowledged.filter((key) => !there.has(key));
  t.same(lost, []);
}

t.test("acknowledged writes survive", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { fsync: "on" } });
  const program = await bundleInto(t.testdir(), "test/store/postgres-writer.ts");
  const acknowledged: string[] = [];

  t.test(`kill -9 of the writer, ${ROUNDS} times`, async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      acknowledged.push(...(await interrupted(program, [server.url(), `${round}000000`], (writer) => writer())));
    }
    t.ok(acknowledged.length > ROUNDS, `${acknowledged.length} were acknowledged`);
    await checkAll(t, server, acknowledged);
  });
  t.test("kill -9 of the server, twice", async (t) => {
    for (let round = 100; round < 102; round++) {
      acknowledged.push(...(await interrupted(program, [server.url(), `${round}000000`], () => server.kill())));
      await server.start();
    }
    await checkAll(t, server, acknowledged);
  });
});

/** The reason why there is no small disk; false if there is one. */
const noDisk = (): string | false => {
  const canMount =
    spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"], { stdio: "ignore" }).status === 0;
  return noPostgres || (canMount ? false : "only root can make a small disk");
};

t.test("a full disk stops writes until space is free again, but no reads", { skip: noDisk() }, async (t) => {
  const disk = mkdtempSync(join(tmpdir(), "portico-disk-"));
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=80m", "none", disk]);
  t.teardown(() => {
    spawnSync("umount", [disk]);
    rmdirSync(disk);
  });
  const folder = join(disk, "server");
  mkdirSync(folder);
  for (const each of [disk, folder]) chmodSync(each, 0o777);
  const server = await startPostgres(t, { folder });
  const log = collectionOf(await openOn(t, server), "log");
  await log.create("1", "x");
  const filler = join(folder, "filler");
  spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1M"], { stdio: "ignore" });
  const value = "0123456789abcdef".repeat(20_000);
  const errors: string[] = [];
  for (let key = 0; errors.length === 0; key++) {
    // Random, so that Postgres cannot compress it.
    const text = Array.from(value, () => Math.random().toString(36)[5]).join("");
    const error = await errorOf(log.create(`large ${key}`, text));
    if (error !== undefined) errors.push(error.message);
  }
  t.match(errors[0], /cannot grow \(.*No space left on device.*\); make room on the server's disk|not known whether/);
  t.equal(await log.get("1").catch(() => "x"), "x", "where the server itself did not end");
  spawnSync("rm", [filler]);
  if (!server.runs()) await server.start();
  await until(async () => (await errorOf(log.create("after", "x"))) === undefined);
  t.equal(await log.get("after"), "x");
});
