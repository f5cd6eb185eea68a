/** Rows of "It does not start". */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import { createAuthority } from "../../http2/certificates.js";
import { refused } from "../../support/process.js";
import { until } from "../../support/until.js";
import type { Incident } from "../incident.js";
import { isWell, logIn, type Play } from "./play.js";

/** Backs up, damages the store, and starts again after the row's commands. */
async function restored(to: Incident, damage: (store: string) => unknown): Promise<void> {
  await to.does(`portico backup ${to.folder}/portico.backup`);
  await damage(join(to.data, "portico.sqlite"));
  to.sees([(await refused(["server"], to.env)).output]);
  to.machine["systemctl start"] = () => to.start("server");
  await to.follows();
  await isWell(to);
}

/** Writes the format of a newer version. */
export async function makeNewer(store: string): Promise<void> {
  const file = new KeyvSqlite(`sqlite://${store}`);
  await file.query("PRAGMA user_version = 9");
  await file.close();
}

export const REFUSED_STARTS: Readonly<Record<string, Play>> = {
  async "a port is in use"(to) {
    const [, port] = to.env.PORTICO_HTTP!.split(":");
    const other = createServer().listen(Number(port), "127.0.0.1");
    to.t.teardown(() => other.close());
    to.sees([(await refused(["server"], to.env)).output]);
    const [sockets] = await to.follows(1);
    to.t.match(sockets?.output, `127.0.0.1:${port}`);
    await to.follows();
  },

  async "two installations on one machine"(to) {
    const server = await to.start("server");
    const inUse = (await refused(["server"], to.env)).output;
    const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
    const second = await to.start("server", ports);
    await logIn(to);
    await until(() => server.errors().includes("another authority uses store"));
    to.sees([inUse, server.errors()]);
    await second.stop();
    await to.follows();
  },

  async "a certificate or its key is wrong"(to) {
    const authority = createAuthority("authority");
    const [used, other] = [authority.issue("localhost"), authority.issue("localhost")];
    const write = (name: string, text: string | Buffer) => writeFileSync(join(to.folder, name), text);
    write("http.pem", used.cert);
    write("http.key", other.key);
    write("NEW.key", used.key);
    to.env.PORTICO_HTTP_TLS_CERT = join(to.folder, "http.pem");
    to.env.PORTICO_HTTP_TLS_KEY = join(to.folder, "http.key");
    to.sees([(await refused(["server"], to.env)).output], 0, 1);
    Object.assign(to.values, { "NEW.": `${to.folder}/NEW.`, "/etc/portico": to.folder });
    to.t.match(await to.tries("portico doctor server"), /http\.key .* is no key for/);
    to.machine["portico doctor server"] = () => undefined; // It exits with 1, because there is a problem.
    to.machine["systemctl start"] = () => to.start("server");
    await to.follows();
  },

  "the store is gone": (to) => restored(to, (store) => rmSync(store)),

  "the store is damaged": (to) => restored(to, (store) => writeFileSync(store, readFileSync(store).subarray(0, 6000))),

  async "the store is of a newer version"(to) {
    const store = join(to.data, "portico.sqlite");
    await makeNewer(store);
    to.sees([(await refused(["server"], to.env)).output]);
    renameSync(store, `${store}.newer`);
  },
};
