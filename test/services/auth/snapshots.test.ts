/** A start always finds a complete snapshot, at whatever moment the next one was interrupted. */

import t, { type Test } from "tap";
import { ChangeLog } from "../../../services/auth/log/changelog/change-log.js";
import { checksum, keyOf } from "../../../services/auth/log/changelog/row.js";
import { MAX_IDLE, Snapshots } from "../../../services/auth/log/state/snapshots.js";
import { State } from "../../../services/auth/log/state/state.js";
import { hashToken } from "../../../src/call/token.js";
import { type Account, type Key, Snapshot } from "../../../src/gen/portico/auth/log/v1/log.js";
import { Limit } from "../../../src/gen/portico/auth/v1/limits.js";
import { type Collection, collectionOf, writesTo } from "../../../src/store/collection.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { toTimestamp } from "../../../src/time.js";
import { deferred } from "../../support/deferred.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { openJournal, silent } from "./open.js";

/** Parts that can be recognized: enrolments with a name each. */
const partsOf = (revision: number, count = 3) =>
  Array.from({ length: count }, (_, index) => {
    const enrolment = { name: `${revision}-${index}`, sha256: Buffer.alloc(32), created: undefined, prefix: "" };
    return Buffer.from(Snapshot.encode(Snapshot.fromPartial({ enrolments: [enrolment] })).finish());
  });

async function namesIn(snapshots: Snapshots, revision: number): Promise<string[]> {
  const names: string[] = [];
  for await (const { part } of snapshots.read(revision)) names.push(...part.enrolments.map(({ name }) => name));
  return names;
}

const expected = (revision: number, count = 3) => Array.from({ length: count }, (_, index) => `${revision}-${index}`);

function opened(t: Test): { store: KeyValueStore; rows: Collection } {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  return { store, rows: collectionOf(store, "snapshots") };
}

class Killed extends Error {}

/** The rows of a process that is killed after this number of writes. */
function killedAfter(rows: Collection, writes: number): Collection {
  let left = writes;
  const counted =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (left-- <= 0) throw new Killed();
      return write(...args);
    };
  return {
    ...rows,
    create: counted(rows.create.bind(rows)),
    commit: counted(rows.commit.bind(rows)),
    delete: counted(rows.delete.bind(rows)),
    deleteIf: counted(rows.deleteIf.bind(rows)),
  };
}

/** The rows; `before` is awaited before each row is written. */
function creating(rows: Collection, before: () => Promise<void>): Collection {
  return {
    ...rows,
    create: async (...args) => {
      await before();
      return rows.create(...args);
    },
    commit: async (...args) => {
      await before();
      return rows.commit(...args);
    },
  };
}

const { expect, create } = writesTo("snapshots");

t.test("a kill at any write leaves the older snapshots, perhaps with the new one", async (t) => {
  let completed = false;
  for (let writes = 0; !completed; writes++) {
    const { rows } = opened(t);
    let now = 0;
    const snapshots = new Snapshots(rows, () => now);
    for (const revision of [10, 20]) await snapshots.write(revision, partsOf(revision));
    const dying = new Snapshots(killedAfter(rows, writes), () => now);
    completed = await dying.write(30, partsOf(30)).then(
      () => true,
      (error) => {
        if (!(error instanceof Killed)) throw error;
        return false;
      },
    );
    const revisions = await snapshots.revisions();
    t.match(revisions.join(), completed ? /^20,30$/ : /^(10,20|10,20,30|20,30)$/, `${writes} writes`);
    for (const revision of revisions) t.same(await namesIn(snapshots, revision), expected(revision));
    // The next start writes a snapshot, and no rows of the killed attempt stay.
    await snapshots.write(40, partsOf(40));
    now += MAX_IDLE;
    await snapshots.write(50, partsOf(50));
    const next = await snapshots.revisions();
    t.equal(next.at(-1), 50);
    for (const revision of next) t.same(await namesIn(snapshots, revision), expected(revision));
    t.equal((await rows.keys()).length, 2 * (1 + 1 + 3), "each has its row, its first row, and three parts");
  }
});

t.test("one of several authorities writes; another replaces it after a minute without progress", async (t) => {
  const { rows } = opened(t);
  let now = 0;
  const [first, second] = [new Snapshots(rows, () => now), new Snapshots(rows, () => now)];
  await rows.create("writing", "stopped");
  const stopped = ["0000000000000005/stopped/000000", "begun"] as const;
  await rows.create(...stopped);
  t.equal(await first.write(10, partsOf(10)), 0);
  now += MAX_IDLE - 1;
  t.equal(await first.write(10, partsOf(10)), 0);
  await rows.commit([expect(stopped), create(["0000000000000005/stopped/000001", "a part"])]);
  now += 1;
  t.equal(await first.write(10, partsOf(10)), 0, "a part more is progress");
  now += MAX_IDLE;
  t.ok((await first.write(10, partsOf(10))) > 0);
  t.same(await first.revisions(), [10]);
  // The replaced attempt cannot continue.
  t.notOk(await rows.commit([expect(stopped), create(["0000000000000005/stopped/000002", "a part"])]));
  t.notOk(await rows.commit([expect(stopped), create(["0000000000000005", "complete"])]));
  t.ok((await second.write(20, partsOf(20))) > 0);
  t.same(await namesIn(second, 10), expected(10));
});

t.test("a stopped writer that was replaced cannot complete its snapshot", async (t) => {
  for (const stoppedAt of [0, 1, 2, 3]) {
    const { rows } = opened(t);
    let now = 0;
    const [slow, quick] = [new Snapshots(rows, () => now), new Snapshots(rows, () => now)];
    const parts = partsOf(10);
    const replaced = async (): Promise<void> => {
      t.equal(await quick.write(20, partsOf(20)), 0);
      now += MAX_IDLE;
      t.ok((await quick.write(20, partsOf(20))) > 0);
    };
    // Stops before it writes a part. A generator cannot wait, so the rows do.
    let creates = 0;
    const stoppingRows = creating(rows, async () => {
      if (creates++ === 2 + stoppedAt) await replaced();
    });
    const stopping = new Snapshots(stoppingRows, () => now);
    t.equal(await stopping.write(10, parts), 0, `stopped at part ${stoppedAt}`);
    t.same(await slow.revisions(), [20]);
    t.same(await namesIn(slow, 20), expected(20));
    t.equal((await rows.keys()).length, 5, "nor does it leave anything");
  }
});

t.test("a replaced writer that continues while its rows are deleted does no harm", async (t) => {
  /**
   * Stops a writer at its write with this number; another one replaces it, and the first continues.
   */
  const race = async (write: number, goOnAt: "keys" | "delete"): Promise<Collection> => {
    const { rows } = opened(t);
    let now = 0;
    const reached = deferred<void>();
    const goOn = deferred<void>();
    let creates = 0;
    const slowRows = creating(rows, async () => {
      if (++creates !== write) return;
      reached.resolve();
      await goOn.promise;
    });
    const slow = new Snapshots(slowRows, () => now).write(10, partsOf(10));
    await reached.promise;
    const goesOn = async (): Promise<void> => {
      goOn.resolve();
      // It makes its next writes as far as it can without waiting for anything else.
      for (let turn = 0; turn < 20; turn++) await undefined;
    };
    const quick = new Snapshots(
      {
        ...rows,
        keys: async () => {
          const keys = await rows.keys();
          if (now > 0 && goOnAt === "keys") await goesOn();
          return keys;
        },
        delete: async (keys) => {
          if (goOnAt === "delete") await goesOn();
          return rows.delete(keys);
        },
      },
      () => now,
    );
    t.equal(await quick.write(20, partsOf(20)), 0);
    now += MAX_IDLE;
    await quick.write(20, partsOf(20));
    await slow;
    return rows;
  };
  // Its writes: the row `writing`, its first row, three parts, and the row that completes the
  // snapshot.
  for (const goOnAt of ["keys", "delete"] as const) {
    for (let write = 3; write <= 6; write++) {
      const rows = await race(write, goOnAt);
      const snapshots = new Snapshots(rows);
      const revisions = await snapshots.revisions();
      for (const revision of revisions) {
        t.same(await namesIn(snapshots, revision), expected(revision), `write ${write}, at ${goOnAt}: ${revision}`);
      }
      t.equal(revisions.at(-1), 20);
      t.equal((await rows.keys()).length, 5 * revisions.length, "nothing else is left");
    }
  }
});

t.test("a snapshot with a missing or damaged part is refused", async (t) => {
  const faults: Record<string, (rows: Collection, key: string, other: string) => Promise<unknown>> = {
    missing: (rows, key) => rows.delete([key]),
    damaged: (rows, key) => rows.replace(key, "damaged"),
    "another part": async (rows, key, other) => rows.replace(key, (await rows.get(other)) ?? ""),
  };
  for (const [what, error] of Object.entries(faults)) {
    const { rows } = opened(t);
    const snapshots = new Snapshots(rows);
    await snapshots.write(10, partsOf(10));
    const parts = (await rows.keys()).filter((key) => key.includes("/"));
    await error(rows, parts[2]!, parts[3]!);
    await t.rejects(namesIn(snapshots, 10), /is damaged/, what);
  }
  const { rows } = opened(t);
  const snapshots = new Snapshots(rows);
  await snapshots.write(10, partsOf(10));
  const [complete = ""] = await rows.keys();
  await rows.replace(complete, (await rows.get(complete))!.replace(" 3 ", " 2 "));
  await t.rejects(namesIn(snapshots, 10), /is damaged/, "fewer parts than there were");
});

t.test("a stop leaves a snapshot unfinished", async (t) => {
  const { rows } = opened(t);
  const snapshots = new Snapshots(rows);
  const stop = new AbortController();
  function* parts(): Generator<Buffer> {
    for (const part of partsOf(10)) {
      yield part;
      stop.abort();
    }
  }
  await t.rejects(snapshots.write(10, parts(), { signal: stop.signal }), { name: "AbortError" });
  t.same(await snapshots.revisions(), []);
  t.ok((await snapshots.write(20, partsOf(20))) > 0, "and no later attempt waits for it");
  t.equal((await rows.keys()).length, 5);
});

t.test("a snapshot has the oldest format that keeps its content, which earlier versions then refuse", async (t) => {
  const { store, rows } = opened(t);
  const log = new ChangeLog({ store, log: silent });
  const state = new State();
  state.addNamespace({ name: "default", created: undefined, id: undefined });
  const keep = async (): Promise<string | undefined> => {
    state.revision += 10;
    await log.keep(state.freeze());
    return rows.get(keyOf(state.revision));
  };
  t.match(await keep(), /^parts /);
  state.limits.set("default", { limit: Limit.fromPartial({ id: "ci" }), revision: 11n });
  t.match(await keep(), /^format 2 parts /);
  for await (const { part } of new Snapshots(rows).read(state.revision)) {
    const limits = part.namespaces.flatMap((namespace) => namespace.limits);
    t.match(limits, [{ limit: { id: "ci" }, revision: 11n }]);
  }
  const key = { sha256: hashToken("k"), prefix: "ptk_k", namespace: "default", account: "ann", name: "k" };
  const times = { created: undefined, expires: toTimestamp(Date.now()), lastUsed: undefined, lifetimeMs: 0n };
  const keyOfAnn = { ...key, ...times, resources: [] };
  /** What is in the state while a snapshot is written, and the format of the snapshot. */
  const cases: [format: 2 | 3, Partial<Account>, Partial<Key> | undefined, why: string][] = [
    [2, {}, { from: [], callsOnly: undefined }, "a key of an earlier version"],
    [2, {}, { from: [], callsOnly: true }, "an account that administers nothing: there is nothing to lose"],
    [3, { scopes: ["admin:rules"] }, { from: [], callsOnly: true }, "a key would administer"],
    [3, {}, { from: ["192.0.2.7"], callsOnly: true }, "a key would be accepted from everywhere"],
    [3, { disabled: true }, undefined, "an account would be enabled"],
  ];
  for (const [format, account, made, why] of cases) {
    const created = { name: "ann", scopes: [], created: undefined, password: undefined };
    state.addAccount("default", { ...created, ...account });
    if (made !== undefined) state.addKey({ ...keyOfAnn, from: [], ...made });
    t.match(await keep(), new RegExp(`^format ${format} parts `), why);
    state.removeAccount("default", state.account("default", "ann")!);
  }
  t.match(await keep(), /^format 2 parts /, "and the older one again when they are gone");
});

t.test("a snapshot of a newer format", async (t) => {
  /** As a newer version completes a snapshot: the rest of the row has the same form. */
  const raise = async (rows: Collection, revision: number): Promise<void> => {
    const key = keyOf(revision);
    const content = `format 4 ${(await rows.get(key))!.replace(/ \S+$/, "")}`;
    await rows.replace(key, `${content} ${checksum(key, content)}`);
  };
  await t.test("is refused at a start, and the error says what to do", async (t) => {
    const { store, rows } = opened(t);
    const snapshots = new Snapshots(rows);
    for (const revision of [10, 20]) await snapshots.write(revision, partsOf(revision));
    await raise(rows, 20);
    await t.rejects(openJournal(store), {
      name: "StoreError",
      message:
        "store in memory was written by a newer Portico: a snapshot has format 4, and this version of Portico knows " +
        "formats up to 3; run that version, or restore the store from a backup",
    });
  });
  await t.test("keeps its parts while a running authority of this version writes a snapshot", async (t) => {
    const { rows } = opened(t);
    const snapshots = new Snapshots(rows);
    await snapshots.write(10, partsOf(10));
    await raise(rows, 10);
    const before = (await rows.keys()).length;
    await snapshots.write(20, partsOf(20));
    t.equal((await rows.keys()).filter((key) => key.startsWith(keyOf(10))).length, before);
  });
});
