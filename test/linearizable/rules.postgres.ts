// Three authorities on one database behave like one authority. Clients make calls at the same time
// at different authorities, while authorities are killed, stopped and started, and the database
// restarts. There must be one order of all operations that explains every response. porcupine, an
// external checker, searches the recorded history for that order.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { FULL } from "../support/full.js";
import { noPostgres } from "../support/postgres.js";
import { inTime } from "../support/until.js";
import { Cluster } from "./cluster.js";

const SECONDS = FULL ? 120 : 12;
const CLIENTS = 9;
/** Longer than the time limit of the checker, in milliseconds. */
const CHECK_TIME = 60_000;
const IDS = ["a", "b", "c", "d"];

/**
 * An operation on the rule with an ID, as main.go reads it. Times are in nanoseconds of this
 * process.
 */
interface Operation {
  readonly id: string;
  readonly kind: "create" | "delete" | "read";
  readonly priority: number;
  readonly client: number;
  readonly call: number;
  readonly return: number;
  readonly outcome: "done" | "refused" | "unknown";
  readonly read: number;
}

const OUTCOMES: Record<string, Operation["outcome"]> = {
  "create 200": "done",
  "create 409": "refused",
  "delete 200": "done",
  "delete 404": "refused",
  "read 200": "done",
};

/** A wrong history: a rule is read as absent after it was created. */
const WRONG: readonly Operation[] = [
  { id: "a", kind: "create", priority: 1, client: 0, call: 1, return: 2, outcome: "done", read: 0 },
  { id: "a", kind: "read", priority: 0, client: 1, call: 3, return: 4, outcome: "done", read: -1 },
];

const noGo = spawnSync("go", ["version"]).status === 0 ? false : "there is no Go here";

t.test("rules of three authorities are linearizable", { skip: noPostgres || noGo }, async (t) => {
  const check = checker(t);
  t.match(check(WRONG), /^not linearizable: a, 2 operations/, "the checker finds a read of what is no longer true");
  const cluster = await Cluster.start(t);
  const history: Operation[] = [];
  const until = performance.now() + SECONDS * 1000;
  const faults = injectFaults(cluster, until);
  const clients = Array.from({ length: CLIENTS }, (_, client) => runClient({ cluster, client, until, history }));
  await inTime(Promise.all(clients), "the clients have their last answers", (SECONDS + 60) * 1000);
  t.comment(`faults: ${(await inTime(faults, "the last fault is over", 120_000)).join(", ")}`);

  const done = history.filter(({ outcome }) => outcome === "done");
  const unknown = history.filter(({ outcome }) => outcome === "unknown");
  t.comment(`${history.length} operations: ${done.length} done, ${unknown.length} with an unknown outcome`);
  t.ok(done.length > 50, `${history.length} operations, of which ${done.length} were done`);
  t.equal(check(history), "linearizable\n");
});

/** Builds the checker, and returns a function that runs it on a history and returns its output. */
function checker(t: Test): (history: readonly Operation[]) => string {
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, "checker");
  const built = spawnSync("go", ["build", "-o", program, "."], { cwd: "test/linearizable/checker", encoding: "utf8" });
  if (built.status !== 0) throw new Error(`the checker could not be built: ${built.stderr}`);
  return (history) => {
    const input = history.map((operation) => JSON.stringify(operation)).join("\n");
    const { stdout, stderr, error } = spawnSync(program, { input, encoding: "utf8", timeout: CHECK_TIME });
    if (error !== undefined) throw error;
    return stdout + stderr;
  };
}

/**
 * Makes calls one after the other, each at a random authority. After each change it reads the rule
 * at once, probably at another authority.
 */
async function runClient(options: {
  cluster: Cluster;
  client: number;
  until: number;
  history: Operation[];
}): Promise<void> {
  const { cluster, client, until, history } = options;
  let id = "";
  for (let count = 0; performance.now() < until; count++) {
    const kind = (["create", "read", "delete", "read"] as const)[count % 4]!;
    if (kind !== "read") id = IDS[Math.floor(Math.random() * IDS.length)]!;
    const priority = client * 100_000 + count;
    const called = now();
    const response = await operate(cluster, { kind, id, priority });
    const operation = { id, kind, priority, client, call: called, return: now() };
    if (response !== undefined) history.push({ ...operation, ...response });
    // A read without a response gives no information.
    else if (kind !== "read") history.push({ ...operation, outcome: "unknown", read: 0 });
    if (response === undefined) await sleep(50);
  }
}

async function operate(
  cluster: Cluster,
  { kind, id, priority }: Pick<Operation, "kind" | "id" | "priority">,
): Promise<Pick<Operation, "outcome" | "read"> | undefined> {
  const rule = { id, scope: "nobody", access: "GRANTED", resource: "service:none:*", priority };
  const body = { create: { rule }, delete: { id }, read: {} }[kind];
  const response = await cluster.ask({ create: "Create", delete: "Delete", read: "List" }[kind], body);
  if (response === undefined) return undefined;
  const outcome = OUTCOMES[`${kind} ${response.status}`];
  if (outcome === undefined)
    throw new Error(`${kind} was answered ${response.status}: ${JSON.stringify(response.body)}`);
  if (kind !== "read") return { outcome, read: 0 };
  const { rules = [] } = response.body as { rules?: { id: string; priority?: number }[] };
  const found = rules.find((candidate) => candidate.id === id);
  return { outcome, read: found === undefined ? -1 : (found.priority ?? 0) };
}

function now(): number {
  return Math.round(performance.now() * 1e6);
}

/**
 * Causes one fault after the other.
 * @returns the names of the faults
 */
async function injectFaults(cluster: Cluster, until: number): Promise<string[]> {
  const made: string[] = [];
  const faults = {
    kill: async (index: number) => {
      await cluster.kill(index);
      await cluster.run(index);
    },
    stop: async (index: number) => {
      cluster.signal(index, "SIGSTOP");
      await sleep(1_500);
      cluster.signal(index, "SIGCONT");
    },
    "restart of the database": async () => {
      await cluster.database.restart();
    },
  };
  for (let turn = 0; performance.now() < until - 2_000; turn++) {
    const [name, make] = Object.entries(faults)[turn % 3]!;
    await make(turn % cluster.size);
    made.push(name);
    await sleep(500);
  }
  return made;
}
