// What docs/deploying.md says of backups and metrics, done with the commands and names that stand there.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { installation } from "../support/installation.js";
import { administrator, call, type Portico, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { codeOf, tablesOf } from "./markdown.js";

const page = readFileSync("docs/deploying.md", "utf8");
const commands = codeOf(page, "");
const RULE = { id: "kept", scope: "staff", access: "GRANTED", resource: "*:*:*" };

async function ruleIds(portico: Portico, data: string): Promise<string[]> {
  const { body } = await call(
    `${portico.address("HTTP")}/v1/auth/Rules/List`,
    {},
    await administrator(portico.address("HTTP"), data),
  );
  return (body as { rules: { id: string }[] }).rules.map(({ id }) => id);
}

interface ApiKey {
  readonly secret: string;
  readonly key: { readonly prefix: string };
}

/** How each key is answered. */
const statusesOf = (portico: Portico, keys: readonly ApiKey[]): Promise<number[]> =>
  Promise.all(
    keys.map(async ({ secret }) => {
      const headers = { authorization: `Bearer ${secret}` };
      return (await call(`${portico.address("HTTP")}/v1/auth/WhoAmI`, {}, headers)).status;
    }),
  );

const noSqlite = spawnSync("sqlite3", ["--version"]).status !== 0 && "there is no sqlite3 here";
t.test("a backup, made while Portico runs, is restored", { skip: noSqlite }, async (t) => {
  // Not in the checkout: its path may have a space, and the machine's paths of the page have none.
  const folder = temporaryFolder(t);
  const data = await installation(join(folder, "data"));
  const local = (command: string) => command.replaceAll("/var/lib/portico", data).replaceAll("/var/backups", folder);
  const run = (command: string) => {
    const { status, stderr } = spawnSync("sh", ["-ec", command], { encoding: "utf8" });
    t.same({ status, stderr }, { status: 0, stderr: "" }, command);
  };
  const backup = commands.find((command) => command.startsWith("umask")) ?? "";
  const restore = commands.find((command) => command.startsWith("systemctl stop")) ?? "";

  const first = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => first.stop());
  const admin = await administrator(first.address("HTTP"), data);
  const rules = `${first.address("HTTP")}/v1/auth/Rules`;
  const keys = `${first.address("HTTP")}/v1/auth/Keys`;
  const createKey = async (name: string) => (await call(`${keys}/Create`, { name }, admin)).body as ApiKey;
  await call(`${rules}/Create`, { rule: RULE }, admin);
  const revoked = await createKey("revoked since");
  run(local(backup));
  await call(`${rules}/Delete`, { id: RULE.id }, admin);
  t.equal((await call(`${keys}/Revoke`, { prefix: revoked.key.prefix }, admin)).status, 200);
  const since = await createKey("created since");
  t.same(await statusesOf(first, [revoked, since]), [401, 200], "before the restore");
  t.same(await ruleIds(first, data), ["default"], "what happened after the backup");
  await first.stop();

  run(local(restore.replaceAll(/^systemctl.*\n/gm, "")));
  const second = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => second.stop());
  t.same((await ruleIds(second, data)).sort(), ["default", "kept"], "is not known to the restored store");
  t.same(await statusesOf(second, [revoked, since]), [200, 401], "what was revoked is valid, what was created is gone");
});

t.test("metrics have the names and labels that are told", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  await call(`${portico.address("HTTP")}/helloworld/call?name=Ada`);
  const text = await (await fetch(portico.address("Metrics"))).text();
  const rows = tablesOf(page).find(({ header }) => header[0] === "metric")?.rows ?? [];
  const names = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  t.ok(rows.length > 5, "the table of metrics is found");
  for (const [metrics = "", labels = ""] of rows) {
    for (const metric of names(metrics)) {
      t.match(text, new RegExp(`^# TYPE ${metric} `, "m"));
      const samples = text.match(new RegExp(`^${metric}(_sum)?\\{.*`, "m"))?.[0] ?? "";
      if (!metric?.includes("grpc") && labels !== "")
        t.same(
          [...samples.matchAll(/(\w+)="/g)].map(([, name]) => name),
          names(labels),
        );
    }
  }
});
