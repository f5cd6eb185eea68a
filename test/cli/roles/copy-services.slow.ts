/** `portico store copy --services`: its output, what it rejects, and when a copy differs. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { copyStore } from "../../../src/store/copy.js";
import { fillStore, openServiceStore } from "../../../src/store/open.js";
import type { KeyValueStore, StoredWrite } from "../../../src/store/store.js";
import { temporaryFolder } from "../../support/temporary.js";
import { portico } from "../command-line.js";

const HOUR = 3_600_000;

const set = (key: string, value: string, expires?: number): StoredWrite => ({ kind: "set", key, value, expires });

async function openFilled(t: Test, file: string, writes: readonly StoredWrite[]): Promise<KeyValueStore> {
  const store = await openServiceStore(`sqlite:${file}`, "");
  t.teardown(() => store.close());
  await store.commit(writes);
  return store;
}

t.test("a store of services is copied to a file that does not exist", async (t) => {
  const folder = temporaryFolder(t);
  const [from, to] = [join(folder, "from.sqlite"), join(folder, "to.sqlite")];
  const expires = Date.now() + HOUR;
  // More entries than are read at a time, and one that has expired.
  const writes = Array.from({ length: 450 }, (_, key) =>
    set(`db/${key}`, `"value ${key}"`, key === 7 ? expires : undefined),
  );
  const source = await openFilled(t, from, [...writes, set("db/old", '"expired"', Date.now() - HOUR)]);
  const { exit, stdout, stderr } = await portico(["store", "copy", "--services", `sqlite:${from}`, `sqlite:${to}`]);
  t.same({ exit, stderr }, { exit: 0, stderr: "" });
  t.equal(
    stdout,
    `Copied ${from}\nto ${to}, and compared:\n\n     450 entries of services\n` +
      "\nName the copy in PORTICO_SERVICE_STORE. Start no service on the old store again: it would not know\n" +
      "what is changed in the new one.\n",
  );
  const copy = await openServiceStore(`sqlite:${to}`, "", { mustExist: true });
  t.teardown(() => copy.close());
  t.equal(await copy.count("", "\u{10ffff}"), 450);
  t.match(await copy.get(["db/7", "db/449", "db/old"]), [
    { value: '"value 7"', expires },
    { value: '"value 449"', expires: undefined },
    undefined,
  ]);
  t.not(copy.id, source.id, "the registry tells services of the two apart");
});

t.test("`sqlite:` is services.sqlite in the data folder", async (t) => {
  const data = temporaryFolder(t);
  await openFilled(t, join(data, "services.sqlite"), [set("db/a", "1")]);
  const to = join(data, "copy.sqlite");
  const { exit, stdout } = await portico(["store", "copy", "--services", "sqlite:", `sqlite:${to}`, "--data", data]);
  t.equal(exit, 0);
  t.match(stdout, "1 entries of services");
});

const REFUSED = {
  "a store that is absent": {
    args: ["sqlite:absent.sqlite", "sqlite:to.sqlite"],
    message: /absent\.sqlite does not exist$/m,
  },
  "a copy to a store that is there": {
    args: ["sqlite:from.sqlite", "sqlite:from.sqlite"],
    message: /is there already; name/,
  },
  "a copy of the authority's store": {
    args: ["sqlite:portico.sqlite", "sqlite:to.sqlite"],
    message: /portico\.sqlite is not a store of Portico's services, or is damaged/,
  },
  "to say that no authority runs": {
    args: ["sqlite:from.sqlite", "sqlite:to.sqlite", "--stopped"],
    message: /'--stopped' cannot be used with option '--services'/,
  },
};
for (const [what, { args, message }] of Object.entries(REFUSED)) {
  t.test(`${what} is rejected, and no file is left`, async (t) => {
    const folder = temporaryFolder(t);
    await openFilled(t, join(folder, "from.sqlite"), [set("db/a", "1")]);
    const { openStore } = await import("../../../src/store/open.js");
    await (await openStore(`sqlite:${join(folder, "portico.sqlite")}`, "")).close();
    const before = readdirSync(folder);
    const placed = args.map((arg) => arg.replace("sqlite:", `sqlite:${folder}/`));
    const { exit, stdout, stderr } = await portico(["store", "copy", "--services", ...placed]);
    t.not(exit, 0);
    t.equal(stdout, "");
    t.match(stderr, message);
    t.same(readdirSync(folder), before);
  });
}

/** Changes of a copy before it is compared, and whether it is a valid copy afterwards. */
const CHANGES: Readonly<Record<string, { readonly writes: () => readonly StoredWrite[]; readonly isCopy: boolean }>> = {
  "has an entry that the original lacks": { writes: () => [set("db/b", "2")], isCopy: false },
  "lacks an entry": { writes: () => [{ kind: "delete", key: "db/a" }], isCopy: false },
  "has another value": { writes: () => [set("db/a", "2")], isCopy: false },
  "has another time": { writes: () => [set("db/soon", "1", Date.now() + 2 * HOUR)], isCopy: false },
  "has no time": { writes: () => [set("db/soon", "1")], isCopy: false },
  "has an entry that expires meanwhile": { writes: () => [set("db/past", "1", Date.now() + 1_000)], isCopy: true },
};
for (const [what, { writes, isCopy }] of Object.entries(CHANGES)) {
  t.test(`a copy that ${what} is ${isCopy ? "a store" : "not a store"}`, async (t) => {
    const folder = temporaryFolder(t);
    const entries = [set("db/a", "1"), set("db/soon", "1", Date.now() + HOUR)];
    const source = await openFilled(t, join(folder, "from.sqlite"), entries);
    const to = `sqlite:${join(folder, "to.sqlite")}`;
    const fill = async (target: KeyValueStore): Promise<void> => {
      // The first commit copies all entries. The change comes right after it.
      const commit = target.commit.bind(target);
      target.commit = async (copied) => {
        const result = await commit(copied);
        await commit(writes());
        return result;
      };
      await copyStore(source, target, { kind: "services", asCopy: false });
    };
    const filled = fillStore("services", to, "", { fill, warn: () => undefined });
    if (isCopy) await filled;
    else await t.rejects(filled, { message: /to\.sqlite is no copy of .*from\.sqlite\. Either a service writes to/ });
    t.same(readdirSync(folder).includes("to.sqlite"), isCopy);
  });
}
