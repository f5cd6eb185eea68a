/** What docs/operating.md says about Postgres: backup, restore, and rows that need it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { freePort } from "../support/ports.js";
import { noPostgres, PASSWORD, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import { Incident, ROWS } from "./incident.js";
import { greet, isReady, isWell, logIn, readyz } from "./incidents/play.js";
import { codeOf } from "./markdown.js";

const blocks = codeOf(readFileSync("docs/operating.md", "utf8"), "");
const commandsOf = (word: string): string[] =>
  (blocks.find((block) => block.startsWith(word)) ?? "").trim().split("\n").filter(Boolean);

t.test("a server on Postgres", { skip: noPostgres }, async (t) => {
  const row = ROWS.find(({ what }) => what === "Postgres is away")!;
  const postgres = await startPostgres(t);
  const to = await Incident.begin(t, row);
  // A data folder of its own: the prepared one belongs to a file.
  to.data = join(to.folder, "postgres");
  const url = postgres.url(await postgres.createDatabase());
  Object.assign(to.env, { PORTICO_DATA: to.data, PORTICO_STORE: url, PGPASSWORD: PASSWORD });
  to.env.PORTICO_ADMIN_PASSWORD = to.env.PORTICO_PASSWORD!;
  const server = await to.start("server");
  await logIn(to);

  await t.test("it is away, and comes back", async () => {
    await postgres.stop();
    await until(async () => (await greet(to)).status === 503, { what: () => "the lease is over" });
    await until(() => server.errors().includes("the store does not respond"));
    const state = () => readyz(to).then(JSON.stringify);
    await until(async () => (await state()).includes("the authority failed"));
    to.sees([server.errors(), (await greet(to)).body, await state()]);
    to.t.match(await to.tries("portico doctor authority"), /problem/);
    to.machine["portico doctor authority"] = () => undefined;
    to.machine["systemctl start postgresql"] = () => postgres.start();
    await to.follows();
    to.end();
    await isWell(to);
    await isReady(to);
  });

  await t.test("it is backed up and restored by the page's commands", async (t) => {
    const local = (command: string) =>
      command.replaceAll("postgres://portico@db.example.com/portico", url).replaceAll("/var/backups", to.folder);
    const [dump = ""] = commandsOf("pg_dump");
    await to.does("portico auth create rule --access=granted --scope='*' --resource='*:*:*' kept");
    await to.does(local(dump));
    await to.does("portico auth create rule --access=granted --scope='*' --resource='*:*:*' lost");
    await server.stop();
    const restore = commandsOf("psql");
    t.equal(restore.length, 2);
    for (const command of restore) await to.does(local(command));
    await to.start("server");
    await isWell(to);
    const rules = await to.does("portico auth list rules");
    t.match(rules, /kept/);
    t.notMatch(rules, /lost/);
  });
});

t.test("one of several authorities is gone for good", { skip: noPostgres }, async (t) => {
  const row = ROWS.find(({ what }) => what === "one of several authorities is gone for good")!;
  const postgres = await startPostgres(t);
  const to = await Incident.begin(t, row);
  to.data = join(to.folder, "postgres");
  const store = { PORTICO_STORE: postgres.url(await postgres.createDatabase()), PGPASSWORD: PASSWORD };
  const shared = { ...store, PORTICO_ADMIN: "127.0.0.1:0", PORTICO_ADMIN_PASSWORD: to.env.PORTICO_PASSWORD! };
  const started = (name: string, port: number) =>
    to.start("authority", { ...shared, PORTICO_DATA: join(to.folder, name), PORTICO_GRPC: `127.0.0.1:${port}` });
  const [first, second, third] = [await freePort(), await freePort(), await freePort()];
  const lost = await started("first", first);
  const other = await started("second", second);
  to.env.PORTICO_ENROLMENT = readFileSync(join(to.folder, "first", "enrolment", "gateway"), "utf8").trim();
  to.env.PORTICO_AUTHORITY = `127.0.0.1:${first},127.0.0.1:${second}`;
  let gateway = await to.start("gateway");
  await lost.stop("SIGKILL");
  await logIn(to);
  await until(() => other.errors().includes("it is taken to be gone"));
  const doctor = await to.tries("portico doctor gateway");
  to.sees([doctor, other.errors()]);
  to.machine["systemctl restart"] = async () => {
    await started("third", third);
    await gateway.stop();
    to.env.PORTICO_AUTHORITY = `127.0.0.1:${third},127.0.0.1:${second}`;
    gateway = await to.start("gateway");
  };
  to.machine["portico enrol"] = () => to.does(`PORTICO_STORE='${store.PORTICO_STORE}' portico enrol gateway`);
  await to.follows();
  to.end();
  await logIn(to);
  to.t.notMatch(await to.tries("portico doctor gateway"), /cannot be reached/);
});
