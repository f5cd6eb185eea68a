/** Rows of "/readyz is degraded". */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../../src/store/open.js";
import { installation } from "../../support/installation.js";
import { call, refused } from "../../support/process.js";
import { until } from "../../support/until.js";
import { canMount, type Incident } from "../incident.js";
import { isReady, isWell, logIn, type Play, readyz } from "./play.js";

const skip = canMount ? false : "no right to mount a file system";
const HOUR = 3_600_000;

/** A clock that is ahead from the first signal SIGUSR2 on, and right from the second one on. */
function wrongClock(aheadMs: number): Readonly<Record<string, string>> {
  const source = `
    const offsets = [0, ${aheadMs}, 0];
    const { now } = Date;
    Date.now = () => now() + offsets[0];
    process.on("SIGUSR2", () => offsets.shift());`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` };
}

/** A rule that is made after the backup. */
const LATER = "--access=granted --scope=x --resource='*:*:*' later";

/** Moves the data folder to a small file system of its own. */
async function onDisk(to: Incident): Promise<void> {
  to.data = join(to.folder, "disk");
  mkdirSync(to.data);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "none", to.data]);
  to.t.teardown(() => execFileSync("umount", ["-l", to.data]));
  await installation(to.data);
  to.env.PORTICO_DATA = to.data;
}

/** What `/readyz` says, once it is degraded. */
async function degraded(to: Incident): Promise<unknown> {
  let state: Record<string, unknown> = {};
  await until(async () => {
    state = await readyz(to);
    return state.Status === "degraded";
  });
  return state;
}

export const REFUSED_CHANGES: Readonly<Record<string, Play>> = {
  "the disk is full": {
    skip,
    async act(to) {
      await onDisk(to);
      const server = await to.start("server");
      const filler = join(to.data, "filler");
      for (let size = 8 * 1024 ** 2; size >= 512; size /= 2) {
        try {
          writeFileSync(filler + size, Buffer.alloc(size));
        } catch {
          // It does not fit.
        }
      }
      to.t.match(await to.tries("portico login"), /while the disk of its store is full/);
      let kept: unknown;
      await until(async () => {
        const response = await call(`${to.url}/cache/increment`, { key: "visits" });
        kept = response.body;
        return response.status === 503;
      });
      await until(() => server.errors().includes("the store of services failed"));
      to.sees([await degraded(to), kept, server.errors()]);
      to.machine["journalctl --vacuum-size"] = async () => {
        for (let size = 8 * 1024 ** 2; size >= 512; size /= 2) rmSync(filler + size, { force: true });
        await isReady(to);
      };
      await to.follows();
      await logIn(to);
    },
  },

  "the store is read-only": {
    skip,
    async act(to) {
      await onDisk(to);
      execFileSync("mount", ["-o", "remount,ro", to.data]);
      const { output } = await refused(["server"], to.env);
      // How it is while Portico runs: test/cli/roles/full-disk.outside.ts.
      to.sees([output], 1);
      to.values.TARGET = to.data;
      to.machine["systemctl stop"] = () => undefined;
      to.machine["systemctl start"] = () => to.start("server");
      await to.follows();
      await isWell(to);
    },
  },

  async "the store was deleted or replaced while Portico ran"(to) {
    const server = await to.start("server");
    await logIn(to);
    await to.does(`portico backup ${to.folder}/portico.backup`);
    await to.does(`portico auth create rule ${LATER}`);
    for (const end of ["", "-wal", "-shm"]) rmSync(join(to.data, `portico.sqlite${end}`), { force: true });
    await until(() => server.errors().includes("was deleted or replaced"));
    to.sees([await degraded(to), server.errors()]);
    to.t.match(await to.tries("portico doctor server"), /before you stop it, save it from there/);
    const { pid } = server.child;
    const open = await to.does(`ls -l /proc/${pid}/fd`);
    const numberOf = (end: string) =>
      new RegExp(`(\\d+) -> \\S+portico\\.sqlite${end} \\(deleted\\)`).exec(open)?.[1] ?? "";
    Object.assign(to.values, { "fd/N": `fd/${numberOf("")}`, "fd/M": `fd/${numberOf("-wal")}` });
    Object.assign(to.values, { PID: `${pid}`, "/root": to.folder });
    to.machine["systemctl show"] = () => undefined;
    to.machine["systemctl stop"] = () => server.stop();
    let again = server;
    to.machine["systemctl start"] = async () => {
      again = await to.start("server");
    };
    await to.follows(6);
    await isReady(to);
    await logIn(to);
    to.t.match(await to.does("portico auth list rules"), /later/, "what was changed since the backup is kept");
    await again.stop();
    await to.follows();
    await to.start("server");
    await isReady(to);
    await logIn(to);
    to.t.notMatch(await to.does("portico auth list rules"), /later/);
    await to.does(`portico auth create rule ${LATER}`);
  },

  async "the clock is wrong by more than a day"(to) {
    const server = await to.start("server", wrongClock(48 * HOUR));
    await isReady(to);
    server.child.kill("SIGUSR2");
    to.sees([await degraded(to)]);
    to.machine.timedatectl = () => undefined;
    to.machine["timedatectl set-ntp"] = () => undefined;
    await to.follows(1);
    server.child.kill("SIGUSR2");
    await to.follows(1);
    await isReady(to);
    await logIn(to);
    to.machine["systemctl stop"] = () => server.stop();
    await to.follows();
  },

  async "the clock jumped by less than a day"(to) {
    const server = await to.start("server", wrongClock(HOUR));
    await isReady(to);
    server.child.kill("SIGUSR2");
    await logIn(to);
    to.machine["timedatectl set-ntp"] = () => void server.child.kill("SIGUSR2");
    to.machine.timedatectl = () => undefined;
    to.machine["systemctl stop"] = () => server.stop();
    await to.follows(2);
    await until(() => server.errors().includes("the clock was set back"));
    to.sees([server.errors()]);
    await logIn(to);
    await to.does("portico auth create rule --access=granted --scope=x --resource='*:*:*' accepted");
    await to.follows();
  },

  async "the audit trail is large"(to) {
    const store = await openStore("sqlite:", to.data, { mustExist: true });
    const value = "x".repeat(2 * 1024 ** 2);
    await store.commit([{ kind: "set", key: "usage/filler", value, expires: Date.now() + 3_600_000 }]);
    await store.close();
    const server = await to.start("server", { PORTICO_AUDIT_MAX: "1MiB" });
    to.sees([await degraded(to)]);
    await logIn(to);
    to.machine["systemctl restart"] = async () => {
      await server.stop();
      await to.start("server", { PORTICO_AUDIT_MAX: "1GiB" });
    };
    await to.follows();
    await isReady(to);
  },

  async "a gateway delays each change"(to) {
    const elsewhere = { PORTICO_ADMIN: "127.0.0.1:0" };
    const authority = await to.start("authority", elsewhere);
    await to.start("gateway");
    const second = await to.start("gateway", { ...elsewhere, PORTICO_HTTP: "127.0.0.1:0" });
    await logIn(to);
    second.child.kill("SIGSTOP");
    await to.does("portico auth create rule --access=granted --scope=x --resource='*:*:*' delayed");
    await until(() => authority.errors().includes("a guard did not apply"));
    to.sees([authority.errors()]);
    const [listed] = await to.follows(1);
    to.values.ID = /gateway +(pte_\S+)/.exec(listed?.output ?? "")?.[1] ?? "";
    await to.follows();
    second.child.kill("SIGCONT");
  },
};
