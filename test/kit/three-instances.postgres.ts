/**
 * src/kit/scheduler.ts, src/kit/watch.ts: the application of the tutorial with a schedule, in three
 * processes over Postgres, which are killed and restarted all the time. No planned time runs twice,
 * and no change is missed.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t, { type Test } from "tap";
import { ChangeFeeds } from "../../src/kit/change-feeds.js";
import { CollectionStore } from "../../src/kit/collection-store.js";
import type { Store } from "../../src/kit/store.js";
import { StoreReads } from "../../src/kit/store-reads.js";
import { openServiceStore } from "../../src/store/open.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { install } from "../cli/dev/project.js";
import { FULL } from "../support/full.js";
import { installation } from "../support/installation.js";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { administrator, call, start } from "../support/process.js";
import { until } from "../support/until.js";

const INSTANCES = 3;
const KILLS = FULL ? 20 : 4;
const TICKETS = 90; // Watch sends at most the newest hundred after a lost connection.
const WAIT = { within: 60_000 };

/** A schedule that writes down its begin and its end, beside the handlers of the tutorial. */
const MAIN = `
import { setTimeout } from "node:timers/promises";
import { schedule, serve } from "portico/service";
import { descriptors } from "./gen/descriptors.js";
import { TicketsService } from "./gen/tickets.js";
import { handlers } from "./tickets.js";

const report = schedule("every 1s", async ({ scheduled, missed, store }) => {
  const runs = store("runs");
  const write = async (what: string) => {
    const number = \`\${await store<number>("counts").increment("runs")}\`.padStart(8, "0");
    await runs.set(number, { what, scheduled, missed, pid: process.pid });
  };
  await write("begin");
  await setTimeout(100);
  await write("end");
});
await serve(TicketsService, handlers, { name: "tickets", descriptors, schedules: { report } });
console.log("served");
`;

interface Step {
  readonly what: "begin" | "end";
  readonly scheduled: number;
  readonly missed: number;
  readonly pid: number;
}

/** Builds the application as its README says. Returns its program. */
function build(folder: string): string {
  const project = join(folder, "tickets");
  cpSync("examples/tickets", project, { recursive: true });
  install(project);
  writeFileSync(join(project, "main.ts"), MAIN);
  execFileSync(process.execPath, [resolve("dist/portico.js"), "build"], { cwd: project });
  return join(project, "dist/main.js");
}

async function run(t: Test, program: string, env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program], {
    env: {
      PATH: process.env.PATH,
      PORTICO_LOG_LEVEL: "error",
      PORTICO_DRAIN_NOTICE: "0s",
      PORTICO_DRAIN: "1s",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  await Promise.race([
    once(child.stdout!, "data"),
    once(child, "exit").then(() => Promise.reject(new Error("an instance did not start"))),
  ]);
  return child;
}

/** A collection of the service, as another process of it sees it. */
function collectionIn<T>(store: KeyValueStore, collection: string): Store<T> {
  const reads = new StoreReads();
  const { signal } = new AbortController();
  const place = { service: "tickets", namespace: "default" };
  return new CollectionStore<T>({
    open: async () => store,
    reads: reads.of({ caller: undefined, namespace: "default", clientAddress: "", signal }),
    feeds: new ChangeFeeds(reads),
    signal,
    ...place,
    collection,
    onFailure: (error) => t.fail(error.message),
  });
}

/** Reads Watch again and again, until the signal is aborted. Returns the numbers that it sends. */
function follow(url: string, headers: Record<string, string>, signal: AbortSignal): Set<number> {
  const seen = new Set<number>();
  const read = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const { body } = await fetch(url, { method: "POST", body: "{}", headers, signal });
        let text = "";
        for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
          const lines = (text + chunk).split("\n");
          text = lines.pop() ?? "";
          for (const line of lines) seen.add(JSON.parse(line).number);
        }
      } catch {
        // The instance was killed.
      }
    }
  };
  void read();
  return seen;
}

t.test("three processes that are killed and restarted", { skip: noPostgres }, async (t) => {
  const folder = t.testdir();
  const database = (await startPostgres(t)).url();
  const data = await installation(join(folder, "data"));
  const program = build(folder);
  const server = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => server.stop());
  const http = server.address("HTTP");
  const admin = await administrator(http, data);
  const { body } = await call(`${http}/v1/auth/Enrolments/Create`, { name: "tickets" }, admin);
  const env = {
    PORTICO_ENROLMENT: (body as { secret: string }).secret,
    PORTICO_AUTHORITY: server.address("gRPC"),
    PORTICO_SERVICE_STORE: database,
  };
  const instances: ChildProcess[] = [];
  for (let index = 0; index < INSTANCES; index++) instances.push(await run(t, program, env));

  const store = await openServiceStore(database, "");
  t.teardown(() => store.close());
  const end = new AbortController();
  t.teardown(() => end.abort());

  const steps: Step[] = [];
  const runs = collectionIn<Step>(store, "runs");
  const watched: number[] = [];
  const tickets = collectionIn<{ readonly number: number; readonly closed: boolean }>(store, "tickets");
  const watches = [runs.watch("", await runs.revision()), tickets.watch("", await tickets.revision())] as const;
  t.teardown(() => Promise.all(watches.map((watch) => watch.return())));
  const gather = async <T>(changes: AsyncIterable<{ readonly value: T | undefined }>, add: (value: T) => void) => {
    for await (const { value } of changes) if (value !== undefined) add(value);
  };
  void gather(watches[0], (step) => steps.push(step));
  void gather(watches[1], ({ number }) => watched.push(number));
  const seen = follow(`${http}/tickets/Watch`, { ...admin, "content-type": "application/json" }, end.signal);

  const created: number[] = [];
  const create = async (): Promise<void> => {
    const { status, body } = await call(`${http}/tickets/Create`, { title: "It is broken" }, admin).catch(() => ({
      status: 0,
      body: {},
    }));
    if (status === 200) created.push((body as { number: number }).number);
  };

  const killed = new Set<number>();
  for (let kill = 0; kill < KILLS; kill++) {
    const [before, count] = [steps.length, created.length];
    // Every other time, the instance that runs the function is killed in the middle.
    await until(() => steps.length > before + 2 && (kill % 2 === 1 || steps.at(-1)?.what === "begin"), WAIT);
    const runner = instances.findIndex(({ pid }) => pid === steps.at(-1)?.pid);
    const index = kill % 2 === 0 && runner >= 0 ? runner : kill % INSTANCES;
    const child = instances[index]!;
    killed.add(child.pid!);
    child.kill(kill % 4 === 3 ? "SIGTERM" : "SIGKILL");
    const enough = Math.min(count + TICKETS / KILLS, TICKETS);
    await until(async () => {
      await create();
      return created.length >= enough;
    }, WAIT);
    instances[index] = await run(t, program, env);
  }
  await until(() => created.every((number) => watched.includes(number) && seen.has(number)), {
    ...WAIT,
    what: () => `all changes are seen: ${created.filter((number) => !seen.has(number) || !watched.includes(number))}`,
  });
  t.equal(new Set(watched).size, watched.length, "and none comes twice in a watch that goes on");
  const last = steps.length;
  await until(() => steps.length > last + 4, WAIT);

  t.test("run no planned time twice, unless the process that ran it was killed", async (t) => {
    const ended = steps.filter(({ what }) => what === "end");
    t.ok(ended.length >= KILLS, `${ended.length} runs`);
    for (const [index, { scheduled, pid }] of ended.entries()) {
      const again = ended.slice(index + 1).some((other) => other.scheduled === scheduled);
      t.ok(!again || killed.has(pid), `${scheduled}`);
    }
  });

  t.test("run it in one process at a time, and in the order of the planned times", async (t) => {
    let running: Step | undefined;
    // The watch may have begun in the middle of a run.
    for (const step of steps.slice(steps[0]?.what === "end" ? 1 : 0)) {
      if (step.what === "begin") {
        t.ok(running === undefined || killed.has(running.pid), "the run before it has ended, or was killed");
        t.ok(step.scheduled >= (running?.scheduled ?? 0));
        running = step;
      } else {
        t.match(step, { scheduled: running?.scheduled, pid: running?.pid });
        running = undefined;
      }
    }
  });

  t.test("count every planned time as a run or as missed", async (t) => {
    const begins = steps.filter(({ what }) => what === "begin");
    for (const [index, { scheduled, missed }] of begins.slice(1).entries()) {
      const before = begins[index]!;
      const passed = (scheduled - before.scheduled) / 1000;
      // A run that was killed does not count, so its time is the first missed one.
      t.ok(missed === passed - 1 || missed === passed || passed === 0, `${missed} of ${passed}`);
    }
  });
});
