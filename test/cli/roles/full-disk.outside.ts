/**
 * A server whose store is on a disk that becomes full or read-only: a small file system, mounted
 * for the test.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import t, { type Test } from "tap";
import { ADMIN_PASSWORD } from "../../support/installation.js";
import { call, start } from "../../support/process.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const MIB = 2 ** 20;

const run = (command: string, ...args: string[]): string => execFileSync(command, args, { encoding: "utf8" });

/** Whether the commands succeed, in a mount namespace of their own. */
function can(commands: string): boolean {
  try {
    execFileSync("unshare", ["-m", "sh", "-ec", commands], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** A folder for the mounted file system, and a folder for data outside of it. */
function folders(t: Test): { readonly disk: string; readonly data: string; readonly image: string } {
  const folder = temporaryFolder(t);
  const disk = join(folder, "disk");
  mkdirSync(disk);
  return { disk, data: join(folder, "data"), image: join(folder, "image") };
}

/** Starts a server with its store on the disk. */
async function serverOn({ disk, data }: { readonly disk: string; readonly data: string }) {
  const env = { PORTICO_DATA: data, PORTICO_STORE: `sqlite:${join(disk, "portico.sqlite")}` };
  const server = await start(["server"], { ...env, PORTICO_ADMIN_PASSWORD: ADMIN_PASSWORD });
  const http = server.address("HTTP");
  const metrics = server.address("Metrics").replace(/,$/, "");
  return {
    server,
    /** Makes a change: a login. */
    login: () => call(`${http}/auth/login`, { account: "admin", password: ADMIN_PASSWORD }),
    greet: async () => (await call(`${http}/helloworld/call?name=Ada`)).status,
    readyz: async () => (await call(metrics.replace(/metrics$/, "readyz"))).body as Record<string, unknown>,
    metrics: async () => (await fetch(metrics)).text(),
  };
}

type Running = Awaited<ReturnType<typeof serverOn>>;

interface Told {
  readonly caller: RegExp;
  readonly operator: RegExp;
  readonly metric: string;
  /** The number of changes that were refused. */
  readonly count?: number;
}

/**
 * Checks that a change is refused with the reason, that callers and operators see the reason, and
 * that calls succeed.
 */
async function checkDegraded(t: Test, running: Running, disk: string, told: Told) {
  const { status, body } = await running.login();
  t.equal(status, 503);
  t.match(body, { Detail: told.caller });
  const state = await running.readyz();
  t.match(state, { Status: "degraded", Reasons: [told.operator] });
  t.notMatch(JSON.stringify([body, state]), disk, "nobody is told the path");
  t.equal(await running.greet(), 200, "calls go on");
  t.match(await running.metrics(), `portico_changes_refused_total{reason="${told.metric}"} ${told.count ?? 1}`);
  await until(() => running.server.errors().includes("the store takes no changes: they are refused"));
}

async function checkRecovery(t: Test, { readyz, login }: Running) {
  await until(async () => (await readyz()).Status === "ready");
  t.equal((await login()).status, 200);
}

function fill(file: string, size: number): void {
  try {
    writeFileSync(file, Buffer.alloc(size));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

const SIZES = Array.from({ length: 15 }, (_, power) => (8 * MIB) / 2 ** power);

const noMount = !can("mount -t tmpfs none /mnt") && "no right to mount a small file system";

t.test("a full disk: callers and operators see it, until there is free space again", { skip: noMount }, async (t) => {
  const places = folders(t);
  const { disk } = places;
  run("mount", "-t", "tmpfs", "-o", "size=8m", "none", disk);
  t.teardown(() => run("umount", "-l", disk));
  const running = await serverOn(places);
  t.teardown(() => running.server.stop());
  t.equal((await running.login()).status, 200);

  for (const size of SIZES) fill(join(disk, `filler-${size}`), size);
  const caller = /^The authority changes nothing while the disk of its store is full/;
  await checkDegraded(t, running, disk, { caller, operator: /the disk of the store is full/, metric: "disk_full" });
  for (const size of SIZES) rmSync(join(disk, `filler-${size}`), { force: true });
  await checkRecovery(t, running);
});

const READ_ONLY = {
  caller: /^The authority changes nothing while its store is read-only; its operator must make it writable/,
  operator: /the store is read-only\. Make it writable/,
  metric: "read_only",
};

const noExt4 =
  !can("f=$(mktemp) && truncate -s 8M $f && mkfs.ext4 -q $f && mount -o loop $f /mnt && umount /mnt && rm $f") &&
  "no right to mount a file of ext4, or no mkfs.ext4";

/** Creates an ext4 file system in a file, and mounts it. Returns its device. */
function mountExt4({ disk, image }: { readonly disk: string; readonly image: string }): string {
  run("mount", "-o", "loop,errors=remount-ro", image, disk);
  return basename(run("findmnt", "-n", "-o", "SOURCE", disk).trim());
}

t.test("a read-only store: callers and operators see it, until it is writable", { skip: noExt4 }, async (t) => {
  const places = folders(t);
  const { disk, image } = places;
  writeFileSync(image, "");
  truncateSync(image, 32 * MIB);
  run("mkfs.ext4", "-q", image);
  const device = mountExt4(places);
  t.teardown(() => run("umount", "-l", disk));
  const before = await serverOn(places);
  t.teardown(() => before.server.stop());
  t.equal((await before.login()).status, 200);

  await t.test("files without write permission", async (t) => {
    const log = join(disk, "portico.sqlite-wal");
    run("chattr", "+i", log);
    await checkDegraded(t, before, disk, READ_ONLY);
    run("chattr", "-i", log);
    await checkRecovery(t, before);
  });

  // No tool can make a file system read-only while a process has a file open for writing: the
  // kernel refuses that. The kernel itself does it when it finds an error
  // (https://docs.kernel.org/admin-guide/ext4.html). A remount does not make the file system
  // writable again.
  await t.test("a file system with an error, until it is repaired", async (t) => {
    writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, "for a test");
    await checkDegraded(t, before, disk, { ...READ_ONLY, count: 2 });
    await until(() => before.server.errors().includes("is on a read-only file system; see in the system's log"));
    await t.rejects(serverOn({ ...places, data: `${places.data}-2` }), /is on a read-only file system/, "a start, too");
    await before.server.stop();
    run("umount", disk);
    // Another process may still have the mount in its namespace. A new mount would share its state.
    await until(() => execFileSync("sh", ["-c", 'losetup --associated "$0"', image]).length === 0);
    execFileSync("sh", ["-c", 'fsck.ext4 -fy "$0" || test $? -eq 1', image], { stdio: "ignore" });
    mountExt4(places);
    const after = await serverOn(places);
    t.teardown(() => after.server.stop());
    await checkRecovery(t, after);
  });
});
