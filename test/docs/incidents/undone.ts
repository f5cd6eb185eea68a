/** Rows of "Something must be undone". */
import { join } from "node:path";
import { refused } from "../../support/process.js";
import type { Incident } from "../incident.js";
import { greet, isWell, logIn, type Play } from "./play.js";
import { makeNewer } from "./refused-starts.js";

const CLOSED = "--access=denied --scope='<public>' --priority=9 --resource='service:id:*' closed";

async function backedUp(to: Incident, name: string) {
  const server = await to.start("server");
  await logIn(to);
  await to.does(`portico auth create rule ${CLOSED}`);
  await to.does(`portico backup ${to.folder}/${name}.backup`);
  return server;
}

export const UNDONE: Readonly<Record<string, Play>> = {
  async "the machine is lost"(to) {
    const server = await backedUp(to, "portico");
    await to.does(`portico backup --services ${to.folder}/services.backup`);
    await server.stop("SIGKILL");
    to.data = join(to.folder, "another");
    to.env.PORTICO_DATA = to.data;
    to.machine["systemctl start"] = () => to.start("server");
    await to.follows();
    await isWell(to);
    await logIn(to);
    to.t.match(await to.does("portico auth list rules"), /closed/);
    to.t.match(await to.does("portico auth list audit"), /backup restored/);
  },

  async "an upgrade must be undone"(to) {
    const server = await backedUp(to, "before-upgrade");
    await to.does("portico auth delete rule closed");
    to.machine["systemctl stop"] = async () => {
      await server.stop();
      await makeNewer(join(to.data, "portico.sqlite"));
      to.sees([(await refused(["server"], to.env)).output]);
    };
    to.machine["systemctl start"] = () => to.start("server");
    await to.follows();
    await isWell(to);
    await logIn(to);
    to.t.match(await to.does("portico auth list rules"), /closed/);
  },

  async "a change was a mistake"(to) {
    await to.start("server");
    await logIn(to);
    to.values.FILE = join(to.folder, "portico.yaml");
    await to.does(`portico export > ${to.values.FILE}`);
    await to.does("portico auth delete rule default");
    await to.does("portico auth create rule --access=granted --scope=x --resource='*:*:*' since");
    to.t.equal((await greet(to)).status, 401);
    to.machine["portico auth list audit"] = () => undefined;
    const [planned] = await to.follows(1);
    to.t.match(planned?.output, /delete +rule since/, "the preview has what --prune deletes");
    // Without a terminal nobody can be asked.
    to.machine["portico apply"] = () => to.does(`portico apply -f ${to.values.FILE} --prune --yes`);
    await to.follows();
    to.t.equal((await greet(to)).status, 200);
  },
};
