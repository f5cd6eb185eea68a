/**
 * No line of the audit log is lost when the authority is killed with `kill -9` at any moment
 * between a change and its line, and when the file is renamed in between.
 */
import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { FULL } from "../../support/full.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const ROUNDS = FULL ? 40 : 6;
/** Maximum time from the first change of a round to the kill, in milliseconds. */
const LONGEST = 300;

const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []);

t.test(`kill -9 during changes, ${ROUNDS} times`, async (t) => {
  const data = await installation(t.testdir());
  const file = join(data, "audit.jsonl");
  const env = { PORTICO_DATA: data, PORTICO_OWN_SERVICES: "helloworld", PORTICO_AUDIT_LOG: file };
  const rotated: string[] = [];
  let server = await start(["server"], env);
  t.teardown(() => server.stop("SIGKILL"));
  let acknowledged = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const url = server.address("HTTP");
    const admin = await administrator(url, data);
    let isOver = false;
    const changing = (async () => {
      for (let number = 0; !isOver; number++) {
        const rule = { id: `r${round}-${number}`, scope: "*", access: "GRANTED", resource: "*:*:*" };
        const { status } = await call(`${url}/v1/auth/Rules/Create`, { rule }, admin);
        if (status === 200) acknowledged++;
      }
    })().catch(() => undefined);
    const before = acknowledged;
    await until(() => acknowledged > before + 1);
    await sleep(Math.random() * LONGEST);
    if (round % 3 === 2) {
      renameSync(file, `${file}.${round}`);
      rotated.push(`${file}.${round}`);
      await sleep(Math.random() * LONGEST);
    }
    await server.stop("SIGKILL");
    isOver = true;
    await changing;
    server = await start(["server"], env);
  }
  const admin = await administrator(server.address("HTTP"), data);
  const response = await fetch(`${server.address("HTTP")}/v1/auth/Audit/Export`, {
    method: "POST",
    headers: { ...admin, "content-type": "application/json" },
    body: "{}",
  });
  const messages = (await response.text()).split("\n").filter((line) => line !== "");
  const cursors = messages.flatMap((line) => JSON.parse(line).records).map(({ cursor }) => cursor);
  const written = () => [...rotated, file].flatMap(linesOf).map((line) => JSON.parse(line).cursor as string);
  await until(() => written().includes(cursors.at(-1)));
  t.same([...new Set(written())], cursors, "each record has a line, in the order of the trail");
  t.comment(`${acknowledged} changes, ${cursors.length} records, ${written().length - cursors.length} lines twice`);
  t.ok(acknowledged > ROUNDS);
});
