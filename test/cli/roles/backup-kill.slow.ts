/**
 * `kill -9` at any moment of a backup leaves the earlier backup or the new one, and at any moment
 * of a restore the old store or the restored one. Both can be done again afterwards. The process is
 * killed before each change of a file that its code makes, and at random moments, in which SQLite
 * may write.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { changeStore } from "../../../services/auth/change-store.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Access } from "../../../src/gen/portico/auth/v1/rules.js";
import { readBackup } from "../../../src/store/backup-file.js";
import { openStore } from "../../../src/store/open.js";
import { silent } from "../../services/auth/open.js";
import { bundleInto } from "../../support/bundle.js";
import { FULL } from "../../support/full.js";
import { installation } from "../../support/installation.js";

const ROUNDS = FULL ? 60 : 4;
/** Rules in the store, so that copies take some time. */
const RULES = 2_000;
const SEED = Number(process.env.TEST_SEED ?? 105);

/** Numbers from 0 to 1, always the same ones for a seed (Park and Miller). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Adds rules in one change; returns the revision. */
async function addRules(data: string, name: string, count: number): Promise<number> {
  const store = await openStore("sqlite:", data, { mustExist: true });
  const events = Array.from({ length: count }, (_, number) => {
    const rule = { id: `${name}-${number}`, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0 };
    return { $case: "ruleCreated" as const, value: { namespace: "default", rule: { ...rule, disabled: false } } };
  });
  try {
    return await changeStore(store, silent, (journal) => journal.commit(PORTICO, () => events));
  } finally {
    await store.close();
  }
}

/** What the store has, read as an authority reads it. */
async function look(
  data: string,
): Promise<{ readonly rules: number; readonly revision: number; readonly last: string }> {
  const store = await openStore("sqlite:", data, { mustExist: true });
  try {
    return await changeStore(store, silent, async ({ state, audit }) => {
      const [record] = await audit.list("default", { limit: 1 });
      const rules = state.namespaces.get("default")?.rules.size ?? 0;
      return { rules, revision: state.revision, last: record?.action ?? "" };
    });
  } finally {
    await store.close();
  }
}

/** When a command is killed: after a time in milliseconds, or before a change of a file. */
type Kill = { readonly afterMs: number } | { readonly before: number };

/** More changes than a command makes. */
const MAX_CHANGES = 200;

interface Scene {
  readonly data: string;
  readonly file: string;
  /** Runs a command, and kills it. @returns the time that it ran, and whether it was killed */
  run(command: "backup" | "restore", kill?: Kill): Promise<{ readonly ms: number; readonly killed: boolean }>;
}

async function sceneOf(t: Test): Promise<Scene> {
  const root = t.testdir();
  const data = await installation(join(root, "data"));
  await addRules(data, "first", RULES);
  const program = await bundleInto(root, "test/cli/roles/backup-process.ts");
  const file = join(root, "portico.backup");
  const run: Scene["run"] = async (command, kill) => {
    const env = { ...process.env, ...(kill && "before" in kill && { KILL_BEFORE: String(kill.before) }) };
    const args = [program, command, file, data];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] });
    const ended = once(child, "exit");
    await once(child.stdout, "data");
    const begun = performance.now();
    if (kill && "afterMs" in kill) await sleep(kill.afterMs).then(() => child.kill("SIGKILL"));
    child.stdout.resume();
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    const killed = signal === "SIGKILL";
    if (!killed && code !== 0) throw new Error(`${command} ended with ${code}`);
    return { ms: performance.now() - begun, killed };
  };
  return { data, file, run };
}

t.setTimeout(600_000);

const leftovers = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes(".new"));

/** Removes the files of killed processes, so that each run makes the same changes. */
function removeNew(folder: string): void {
  for (const name of leftovers(folder)) rmSync(join(folder, name));
}

t.test(`a backup, before each change of a file, and ${ROUNDS} times (TEST_SEED=${SEED})`, async (t) => {
  const random = randomNumbers(SEED);
  const { data, file, run } = await sceneOf(t);
  let { revision: before } = await look(data);
  const { ms: longest } = await run("backup");
  const seen = { earlier: 0, new: 0 };
  const killed = async (kill: Kill): Promise<boolean> => {
    const now = await addRules(data, `rule${JSON.stringify(kill)}`, 1);
    const { killed } = await run("backup", kill);
    const { revision } = await readBackup(file);
    if (revision !== before && revision !== now)
      t.fail(`${JSON.stringify(kill)}: revision ${revision}, not ${before} or ${now}`);
    seen[revision === now ? "new" : "earlier"]++;
    before = revision ?? 0;
    return killed;
  };
  for (let change = 1; await killed({ before: change }); change++) {
    if (change > MAX_CHANGES) throw new Error("it makes changes without end");
    removeNew(join(file, ".."));
  }
  t.ok(seen.earlier > 5, `killed before the new backup was there: ${JSON.stringify(seen)}`);
  for (let round = 0; round < ROUNDS; round++) await killed({ afterMs: random() * longest * 1.1 });
  await run("backup");
  t.equal((await readBackup(file)).revision, (await look(data)).revision, "and then one that is not killed");
  t.same(leftovers(join(file, "..")), []);
});

t.test(`a restore, before each change of a file, and ${ROUNDS} times (TEST_SEED=${SEED})`, async (t) => {
  const random = randomNumbers(SEED);
  const { data, file, run } = await sceneOf(t);
  await run("backup");
  const backedUp = await look(data);
  await addRules(data, "later", 10);
  const store = join(data, "portico.sqlite");
  const saved = join(file, "..", "saved.sqlite");
  copyFileSync(store, saved);
  const old = await look(data);
  const restored = { rules: backedUp.rules, revision: backedUp.revision + 1, last: "backup restored" };
  const { ms: longest } = await run("restore");
  t.same(await look(data), restored);
  const seen = { old: 0, restored: 0 };
  const killed = async (kill: Kill): Promise<boolean> => {
    for (const name of readdirSync(data)) if (/^portico\.sqlite/.test(name)) rmSync(join(data, name));
    copyFileSync(saved, store);
    const { killed } = await run("restore", kill);
    const found = await look(data);
    const isOld = found.last === old.last;
    seen[isOld ? "old" : "restored"]++;
    t.same(found, isOld ? old : restored, JSON.stringify(kill));
    await addRules(data, "after", 1); // It can be changed again.
    return killed;
  };
  for (let change = 1; await killed({ before: change }); change++) {
    if (change > MAX_CHANGES) throw new Error("it makes changes without end");
  }
  t.ok(seen.old > 5, `killed before the new store was there: ${JSON.stringify(seen)}`);
  for (let round = 0; round < ROUNDS; round++) await killed({ afterMs: random() * longest * 1.2 });
  await run("restore");
  t.same(await look(data), restored, "and then one that is not killed");
  t.same(leftovers(data), []);
});
