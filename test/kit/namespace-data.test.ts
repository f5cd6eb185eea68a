// What deleted namespaces have left in the store of services is deleted, and nothing else.
import t, { type Test } from "tap";
import { deleteLeft, type ListNamespaces } from "../../src/kit/namespace-data.js";
import { openServiceStore } from "../../src/store/open.js";
import type { ServiceStore } from "../../src/store/service-store.js";
import { overriding } from "../support/catalogue.js";

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
