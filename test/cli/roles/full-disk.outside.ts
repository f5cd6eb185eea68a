/** A server whose store is on a full disk: a small file system, mounted for the test. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ADMIN_PASSWORD } from "../../support/installation.js";
import { call, start } from "../../support/process.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const MIB = 2 ** 20;

function whyNoMount(): string | false {
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"], { stdio: "ignore" });
    return false;
  } catch {
    return "no right to mount a small file system";
  }
}

function fill(file: string, size: number): void {
  try {
    writeFileSync(file, Buffer.alloc(size));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

const SIZES = Array.from({ length: 15 }, (_, power) => (8 * MIB) / 2 ** power);

t.test(
  "callers, the operator and the metrics are told, until there is room again",
  { skip: whyNoMount() },
  async (t) => {
    const folder = temporaryFolder(t);
    const disk = join(folder, "disk");
    mkdirSync(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "none", disk]);
    t.teardown(() => execFileSync("umount", ["-l", disk]));
    const env = { PORTICO_DATA: join(folder, "data"), PORTICO_STORE: `sqlite:${join(disk, "portico.sqlite")}` };
    const server = await start(["server"], { ...env, PORTICO_ADMIN_PASSWORD: ADMIN_PASSWORD });
    t.teardown(() => server.stop());
    const http = server.address("HTTP");
    const login = () => call(`${http}/auth/login`, { account: "admin", password: ADMIN_PASSWORD });
    const metrics = server.address("Metrics").replace(/,$/, "");
    const readyz = async () => (await call(metrics.replace(/metrics$/, "readyz"))).body as Record<string, unknown>;
    t.equal((await login()).status, 200);

    for (const size of SIZES) fill(join(disk, `filler-${size}`), size);
    const { status, body } = await login();
    t.equal(status, 503);
    t.match(body, { Detail: /^The authority changes nothing while the disk of its store is full/ });
    const state = await readyz();
    t.match(state, { Status: "degraded", Reasons: [/the disk of the store is full/] });
    t.notMatch(JSON.stringify([body, state]), disk, "nobody is told the path");
    t.equal((await call(`${http}/helloworld/call?name=Ada`)).status, 200, "calls go on");
    t.match(await (await fetch(metrics)).text(), 'portico_changes_refused_total{reason="disk_full"} 1');
    t.match(server.errors(), /the store takes no changes: they are refused/);

    for (const size of SIZES) rmSync(join(disk, `filler-${size}`), { force: true });
    await until(async () => (await readyz()).Status === "ready");
    t.equal((await login()).status, 200);
  },
);
