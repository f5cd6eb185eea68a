/** Rows of "/readyz is degraded". The row of Postgres is in operating.postgres.ts. */
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
const TWO_DAYS = 2 * 86_400_000;

/** A clock that is wrong from the first signal SIGUSR2 on, and right from the second one on. */
const WRONG_CLOCK = `--import=data:text/javascript,${encodeURIComponent(`
  const offsets = [0, ${TWO_DAYS}, 0];
  const { now } = Date;
  Date.now = () => now() + offsets[0];
  process.on("SIGUSR2", () => offsets.shift());
`)}`;

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
    for (const end of ["", "-wal", "-shm"]) rmSync(join(to.data, `portico.sqlite${end}`), { force: true });
    await until(() => server.errors().includes("was deleted or replaced"));
    to.sees([await degraded(to), server.errors()]);
    to.machine["systemctl stop"] = () => server.stop();
    to.machine["systemctl start"] = () => to.start("server");
    await to.follows();
    await isReady(to);
    await logIn(to);
    await to.does("portico auth create rule --access=granted --scope=x --resource='*:*:*' accepted");
  },

  async "the clock is wrong"(to) {
    const server = await to.start("server", { NODE_OPTIONS: WRONG_CLOCK });
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

  "Postgres is away": { skip: "it is played in operating.postgres.ts", act: async () => undefined },
};
