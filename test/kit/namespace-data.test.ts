// What deleted namespaces have left in the store of services is deleted, and nothing else.
import t, { type Test } from "tap";
import { deleteLeft, LeftData, type ListNamespaces } from "../../src/kit/namespace-data.js";
import { openServiceStore } from "../../src/store/open.js";
import type { ServiceStore } from "../../src/store/service-store.js";
import { overriding } from "../support/catalogue.js";
import { until } from "../support/until.js";

const NEVER = new AbortController().signal;

/** Deletes what is gone now, as if it had been gone the last time. */
async function deleteGone(store: ServiceStore, list: ListNamespaces, signal = NEVER): Promise<void> {
  const goneBefore = await deleteLeft(store, list, { goneBefore: new Set(), signal: NEVER });
  await deleteLeft(store, list, { goneBefore, signal });
}

async function opened(t: Test, keys: readonly string[]): Promise<ServiceStore> {
  const store = await openServiceStore("sqlite:", t.testdir());
  t.teardown(() => store.close());
  await put(store, keys);
  return store;
}

async function put(store: ServiceStore, keys: readonly string[]): Promise<void> {
  await store.commit(keys.map((key) => ({ kind: "set", key, value: "1", condition: undefined, expires: undefined })));
}

async function keysOf(store: ServiceStore): Promise<string[]> {
  const { entries } = await store.range({ from: "", afterFrom: false, to: "{", limit: 1000, reverse: false });
  return entries.map(({ key }) => key);
}

const PRESENT = new Map([
  ["default", ""],
  ["old", ""],
  ["team", "2"],
  ["team-b", "1"],
  ["lost", ""],
]);

const KEPT = {
  "of default": "a/default/c/k",
  "of a namespace without identity": "a/old/c/k",
  "of a namespace with its identity": "a/team@2/c/k",
  "of a namespace whose name begins alike": "a/team-b@1/c/k",
  "of a namespace whose identity an authority of an older version has lost": "a/lost@1/c/k",
  "of another service": "b/team@2/c/k",
};
const DELETED = {
  "of an earlier identity": "a/team@1/c/k",
  "of an earlier namespace without identity": "a/team/c/k",
  "of a namespace that is gone": "a/gone@1/c/k",
  "of one without identity that is gone": "b/gone/c/k",
};

t.test("what namespaces keep stays, and what is left of others goes", async (t) => {
  const store = await opened(t, [...Object.values(KEPT), ...Object.values(DELETED)]);
  await deleteGone(store, async () => PRESENT);
  const keys = await keysOf(store);
  for (const [title, key] of Object.entries(KEPT)) t.ok(keys.includes(key), title);
  for (const [title, key] of Object.entries(DELETED)) t.notOk(keys.includes(key), title);
});

t.test("a namespace that is created while the store is read keeps what it has", async (t) => {
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
  await deleteGone(late, async () => new Map(present));
  t.same(await keysOf(store), ["a/new@1/c/k"]);
});

t.test("it may be broken off after any commit, and is done by the next attempt", async (t) => {
  const keys = Array.from({ length: 250 }, (_, number) => `a/gone@1/c/${number}`);
  const store = await opened(t, keys);
  const end = new AbortController();
  const broken = overriding(store, {
    async commit(writes) {
      t.ok(writes.length <= 100, `${writes.length} deletions in a commit`);
      end.abort();
      return store.commit(writes);
    },
  });
  await t.rejects(
    deleteGone(broken, async () => PRESENT, end.signal),
    { name: "AbortError" },
  );
  t.equal((await keysOf(store)).length, 150);
  await deleteGone(store, async () => PRESENT);
  t.same(await keysOf(store), []);
});

t.test("where the authority cannot be asked, nothing is deleted", async (t) => {
  const store = await opened(t, Object.values(DELETED));
  await t.rejects(
    deleteGone(store, () => Promise.reject(new Error("it is away"))),
    /it is away/,
  );
  t.equal((await keysOf(store)).length, Object.keys(DELETED).length);
});

t.test("a namespace that one list alone lacks keeps what it has", async (t) => {
  const store = await opened(t, ["a/new@1/c/k"]);
  const lists = [new Map<string, string>(), new Map([["new", "1"]]), new Map<string, string>()];
  let goneBefore: ReadonlySet<string> = new Set();
  for (const list of lists) goneBefore = await deleteLeft(store, async () => list, { goneBefore, signal: NEVER });
  t.same(await keysOf(store), ["a/new@1/c/k"]);
});

t.test("a process deletes what two of its lists lack, which are ten minutes apart", async (t) => {
  const store = await opened(t, ["a/back@1/c/k", "a/gone@1/c/k"]);
  const due: { readonly ms: number; readonly act: () => void }[] = [];
  const real = setTimeout;
  const fake = (act: () => void, ms = 0) => {
    if (ms < 60_000) return real(act, ms);
    due.push({ ms, act });
    return real(() => undefined, 0);
  };
  t.intercept(globalThis, "setTimeout", { value: fake });
  const lists = [new Map([["default", ""]]), new Map([["back", "1"]]), new Map<string, string>()];
  const left = new LeftData(store, async () => lists.shift()!);
  /** What is there after the next list, and how long it took to be due, in milliseconds. */
  const next = async () => {
    const [{ ms, act }] = due.splice(0) as [(typeof due)[0]];
    act();
    await until(() => due.length === 1);
    return { ms, keys: await keysOf(store) };
  };
  t.same(await next(), { ms: 60_000, keys: ["a/back@1/c/k", "a/gone@1/c/k"] });
  t.same(await next(), { ms: 600_000, keys: ["a/back@1/c/k"] });
  t.same(await next(), { ms: 600_000, keys: ["a/back@1/c/k"] }, "one that was there in between begins anew");
  await left.close();
});
