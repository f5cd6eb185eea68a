/** Rows of "Something must be undone". */
import { join } from "node:path";
import { call, refused } from "../../support/process.js";
import type { Incident } from "../incident.js";
import { greet, isReady, isWell, logIn, type Play } from "./play.js";
import { makeNewer } from "./refused-starts.js";

const CLOSED = "--access=denied --scope='<public>' --priority=9 --resource='service:id:*' closed";

/** The names of the services' backups, by the names of the authority's. */
const SERVICES = { portico: "services", "before-upgrade": "before-upgrade-services" };

async function backedUp(to: Incident, name: keyof typeof SERVICES) {
  const server = await to.start("server");
  await logIn(to);
  await to.does(`portico auth create rule ${CLOSED}`);
  await to.does(`portico backup ${to.folder}/${name}.backup`);
  await to.does(`portico backup --services ${to.folder}/${SERVICES[name]}.backup`);
  return server;
}

export const UNDONE: Readonly<Record<string, Play>> = {
  async "the machine is lost"(to) {
    const server = await backedUp(to, "portico");
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
      for (const name of ["portico", "services"]) await makeNewer(join(to.data, `${name}.sqlite`));
      to.sees([(await refused(["server"], to.env)).output]);
    };
    to.machine["systemctl start"] = () => to.start("server");
    await to.follows();
    await isWell(to);
    await logIn(to);
    to.t.match(await to.does("portico auth list rules"), /closed/);
  },

  "one of several authorities is gone for good": {
    skip: "it is played in operating.postgres.ts",
    act: async () => undefined,
  },

  async "accounts were deleted"(to) {
    const server = await to.start("server");
    await logIn(to);
    const password = "a long password of theirs";
    await to.does(`echo '${password}' | portico auth create account boss --scope=admin --password-stdin`);
    await to.does("portico auth create account robot --service");
    const key = await to.does("portico auth create key ci --account=robot 2>/dev/null");
    await to.does(`portico backup ${to.folder}/portico.backup`);
    const boss = `PORTICO_PASSWORD='${password}' portico --profile boss`;
    await to.does(`${boss} login --account boss`);
    for (const name of ["robot", "admin"]) await to.does(`portico --profile boss auth delete account ${name}`);
    const keyed = async () =>
      (await call(`${to.url}/v1/helloworld/Call`, { name: "Ada" }, { authorization: `Bearer ${key.trim()}` })).status;
    to.t.equal(await keyed(), 401);
    to.sees([await to.tries("portico login")]);
    to.machine["systemctl stop"] = () => server.stop();
    to.machine["systemctl start"] = () => to.start("server");
    to.values.ACCOUNT = "boss";
    const [, restored] = await to.follows(2);
    to.t.match(restored?.output, /boss +account deleted +robot/);
    await to.follows(1);
    await isReady(to);
    await to.follows();
    to.t.equal(await keyed(), 200);
    to.t.match(await to.tries(`${boss} login --account boss`), /account boss is disabled/);
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
