// Data that deleted namespaces have left in the services' store is deleted after 30 days, and no
// other data.

import { pino } from "pino";
import t, { type Test } from "tap";
import {
  type ListNamespaces,
  NamespaceDataSweeper,
  sweepNamespaces,
  TRASH_DAYS,
} from "../../src/kit/namespace-data.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { overriding } from "../support/catalogue.js";
import { openMemoryStore } from "../support/memory-store.js";
import { until } from "../support/until.js";

type KnownNamespaces = Awaited<ReturnType<ListNamespaces>>;

const NEVER = new AbortController().signal;
const DAY = 86_400_000;
const INSTALLATION = "installation-a";
const SERVICES = ["a", "b"];

interface Line {
  readonly msg: string;
  readonly namespace?: string;
  readonly entries?: number;
}

/** A log, and its lines. */
function listen() {
  const lines: Line[] = [];
  return { lines, log: pino({}, { write: (line) => lines.push(JSON.parse(line)) }) };
}

/** A response of the authority. */
const says = (ids: ReadonlyMap<string, string>, installation = INSTALLATION): KnownNamespaces => ({
  installation,
  ids,
});

/** Sweeps once a day for a number of days. Returns the reason of the last sweep. */
async function sweepDaily(store: KeyValueStore, list: ListNamespaces, days: number, { from = 0, signal = NEVER } = {}) {
  const { log, lines } = listen();
  let doubt: string | undefined;
  for (let day = from; day < from + days; day++) {
    doubt = await sweepNamespaces(store, list, { services: SERVICES, log, signal, now: () => day * DAY });
  }
  return { doubt, lines };
}

async function opened(t: Test, keys: readonly string[]): Promise<KeyValueStore> {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  await store.claim(INSTALLATION);
  await put(store, keys);
  return store;
}

async function put(store: KeyValueStore, keys: readonly string[]): Promise<void> {
  await store.commit(keys.map((key) => ({ kind: "set", key, value: "1", condition: undefined, expires: undefined })));
}

/** The keys of entries and of marks. */
async function keysOf(store: KeyValueStore): Promise<string[]> {
  const { entries } = await store.range({ from: "", to: "\u{10ffff}", limit: 1000 });
  return entries.map(({ key }) => key);
}

const PRESENT = new Map([
  ["default", ""],
  ["old", ""],
  ["team", "2"],
  ["team-b", "1"],
]);

const KEPT = {
  "of default": "a/default/c/k",
  "of a namespace without identity": "a/old/c/k",
  "of a namespace with its identity": "a/team@2/c/k",
  "of a namespace whose name begins alike": "a/team-b@1/c/k",
  "of another service of the process": "b/team@2/c/k",
  "of a service of another process": "c/gone@1/c/k",
};
const DELETED = {
  "of an earlier identity": "a/team@1/c/k",
  "of an earlier namespace without identity": "a/team/c/k",
  "of a namespace that is gone": "a/gone@1/c/k",
  "of one without identity that is gone": "b/gone/c/k",
};

t.test("data of namespaces that are gone is deleted after 30 days, and other data stays", async (t) => {
  const store = await opened(t, [...Object.values(KEPT), ...Object.values(DELETED)]);
  const first = await sweepDaily(store, async () => says(PRESENT), TRASH_DAYS);
  const before = await keysOf(store);
  for (const key of [...Object.values(KEPT), ...Object.values(DELETED)]) t.ok(before.includes(key), `${key} on day 29`);
  t.equal(before.filter((key) => key.startsWith("~trash/")).length, Object.keys(DELETED).length);
  t.same(
    first.lines.map(({ msg, namespace, entries }) => `${namespace} ${entries} ${/is deleted in 30 days/.test(msg)}`),
    ["gone@1 1 true", "team 1 true", "team@1 1 true", "gone 1 true"],
    "the log says once what was put there",
  );
  const last = await sweepDaily(store, async () => says(PRESENT), 1, { from: TRASH_DAYS });
  t.same(await keysOf(store), Object.values(KEPT).toSorted());
  t.same(
    last.lines.map(({ msg, namespace }) => `${namespace} ${msg.startsWith("deleted ")}`),
    ["gone@1 true", "team true", "team@1 true", "gone true"],
  );
});

t.test("a clock that jumps ahead counts as one day", async (t) => {
  const store = await opened(t, ["a/gone@1/c/k"]);
  const { log } = listen();
  for (const now of [0, 100 * DAY, 100 * DAY + 1, 3 * DAY]) {
    await sweepNamespaces(store, async () => says(PRESENT), { services: SERVICES, log, signal: NEVER, now: () => now });
  }
  t.same(await keysOf(store), ["a/gone@1/c/k", "~trash/a/gone@1"]);
  t.match((await store.get(["~trash/a/gone@1"]))[0], {
    value: JSON.stringify({ since: 0, counted: 3 * DAY, days: 2 }),
  });
});

t.test("data that is marked for deletion is available again when its namespace is back", async (t) => {
  const store = await opened(t, ["a/back@1/c/k"]);
  const { lines } = await sweepDaily(store, async () => says(PRESENT), 20);
  t.equal(lines.length, 1);
  const back = says(new Map([...PRESENT, ["back", "1"]]));
  const second = await sweepDaily(store, async () => back, 1, { from: 20 });
  t.match(second.lines, [{ namespace: "back@1", msg: /knows this namespace again/ }]);
  t.same(await keysOf(store), ["a/back@1/c/k"]);
  await sweepDaily(store, async () => says(PRESENT), TRASH_DAYS, { from: 21 });
  t.ok((await keysOf(store)).includes("a/back@1/c/k"), "the days count anew");
});

const DOUBTS: Record<string, [KnownNamespaces, RegExp]> = {
  "the authority is of another installation": [
    says(PRESENT, "installation-b"),
    /belongs to .*-a, the authority to .*-b/,
  ],
  "the list is empty": [says(new Map()), /no namespace default/],
  "the list lacks the namespace that is always there": [says(new Map([["team", "2"]])), /no namespace default/],
};
for (const [when, [known, reason]] of Object.entries(DOUBTS)) {
  t.test(`nothing is marked while ${when}`, async (t) => {
    const keys = [...Object.values(KEPT), ...Object.values(DELETED)];
    const store = await opened(t, keys);
    const { doubt, lines } = await sweepDaily(store, async () => known, 2 * TRASH_DAYS);
    t.match(doubt, reason);
    t.same(lines, []);
    t.same(await keysOf(store), keys.toSorted());
  });
  t.test(`nothing that is marked is deleted while ${when}`, async (t) => {
    const store = await opened(t, ["a/gone@1/c/k"]);
    await sweepDaily(store, async () => says(PRESENT), TRASH_DAYS);
    await sweepDaily(store, async () => known, TRASH_DAYS, { from: TRASH_DAYS });
    t.same(await keysOf(store), ["a/gone@1/c/k", "~trash/a/gone@1"]);
  });
}

t.test("a namespace that is created while the store is read keeps its data", async (t) => {
  const store = await opened(t, ["a/gone@1/c/k"]);
  const present = new Map([["default", ""]]);
  const late = overriding(store, {
    async range(range) {
      const found = await store.range(range);
      if (!present.has("new")) await put(store, ["a/new@1/c/k"]);
      present.set("new", "1");
      return found;
    },
  });
  await sweepDaily(late, async () => says(new Map(present)), 2 * TRASH_DAYS);
  t.same(await keysOf(store), ["a/new@1/c/k"]);
});

t.test("a sweep may be interrupted after any commit, and the next one completes it", async (t) => {
  const keys = Array.from({ length: 250 }, (_, number) => `a/gone@1/c/${number}`);
  const store = await opened(t, keys);
  await sweepDaily(store, async () => says(PRESENT), TRASH_DAYS);
  const end = new AbortController();
  const broken = overriding(store, {
    async commit(writes) {
      t.ok(writes.length <= 100, `${writes.length} writes in a commit`);
      // The first commit counts the day.
      if (writes.length > 1) end.abort();
      return store.commit(writes);
    },
  });
  await t.rejects(
    sweepDaily(broken, async () => says(PRESENT), 1, { from: TRASH_DAYS, signal: end.signal }),
    { name: "AbortError" },
  );
  t.equal((await keysOf(store)).length, 151);
  await sweepDaily(store, async () => says(PRESENT), 1, { from: TRASH_DAYS });
  t.same(await keysOf(store), [], "on the same day");
});

t.test("several processes at once mark once, and count a day once", async (t) => {
  const store = await opened(t, ["a/gone@1/c/k"]);
  const options = { services: SERVICES, signal: NEVER };
  for (let day = 0; day < 3; day++) {
    const { log, lines } = listen();
    const sweep = () => sweepNamespaces(store, async () => says(PRESENT), { ...options, log, now: () => day * DAY });
    await Promise.all([sweep(), sweep(), sweep(), sweep()]);
    t.equal(lines.length, day === 0 ? 1 : 0, `lines on day ${day}`);
  }
  t.match((await store.get(["~trash/a/gone@1"]))[0], { value: /"days":2\}$/ });
});

t.test("nothing is deleted while the authority does not respond", async (t) => {
  const store = await opened(t, Object.values(DELETED));
  await t.rejects(
    sweepDaily(store, () => Promise.reject(new Error("it is away")), 1),
    /it is away/,
  );
  t.equal((await keysOf(store)).length, Object.keys(DELETED).length);
});

t.test(
  "a process sweeps a minute after it has opened the store, then every ten minutes, and logs once why it does nothing",
  async (t) => {
    const store = await opened(t, ["a/gone@1/c/k"]);
    const due: { readonly ms: number; readonly act: () => void }[] = [];
    const real = setTimeout;
    const fake = (act: () => void, ms = 0) => {
      if (ms < 60_000) return real(act, ms);
      due.push({ ms, act });
      return real(() => undefined, 0);
    };
    t.intercept(globalThis, "setTimeout", { value: fake });
    const other = says(PRESENT, "installation-b");
    const responses = [other, other, says(PRESENT)];
    const { log, lines } = listen();
    const sweeper = new NamespaceDataSweeper(store, async () => responses.shift()!, { services: SERVICES, log });
    /** The time until the next sweep in milliseconds, and the lines that it logged. */
    const next = async () => {
      const [{ ms, act }] = due.splice(0) as [(typeof due)[0]];
      act();
      await until(() => due.length === 1);
      return { ms, said: lines.splice(0).map(({ msg }) => msg.split(":")[0]) };
    };
    t.same(await next(), { ms: 60_000, said: ["data of deleted namespaces is kept"] });
    t.same(await next(), { ms: 600_000, said: [] });
    t.same(await next(), { ms: 600_000, said: ["the authority does not know this namespace"] });
    await sweeper.close();
  },
);
