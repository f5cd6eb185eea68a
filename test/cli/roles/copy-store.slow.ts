/** `portico store copy`: its output, and what it rejects. */

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { COLLECTIONS, collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { temporaryFolder } from "../../support/temporary.js";
import { portico } from "../command-line.js";

/** A store in a file with entries in each collection, except the lease records. */
async function fill(file: string, entries = 100): Promise<void> {
  const store = await openStore(`sqlite:${file}`, "");
  for (const name of COLLECTIONS) {
    const keys = Array.from({ length: name === "grantors" ? 0 : entries }, (_, key) => `${key}`.padStart(4, "0"));
    await Promise.all(keys.map((key) => collectionOf(store, name).create(key, `${name} ${key}`)));
  }
  await store.close();
}

t.test("a store is copied to a file that does not exist", async (t) => {
  const folder = temporaryFolder(t);
  const [from, to] = [join(folder, "from.sqlite"), join(folder, "to.sqlite")];
  await fill(from);
  const { exit, stdout, stderr } = await portico(["store", "copy", `sqlite:${from}`, `sqlite:${to}`]);
  t.same({ exit, stderr }, { exit: 0, stderr: "" });
  t.equal(
    stdout,
    `Copied ${from}\nto ${to}, and compared:\n\n` +
      "     100 changes\n     100 parts of snapshots\n       0 claims of authorities\n     100 rows of usage\n     100 rows of time\n     100 rows of the audit trail\n     100 rows of quotas\n" +
      "\nName the copy in PORTICO_STORE. Start no authority on the old store again: it would not know\n" +
      "what is changed in the new one.\n",
  );
  const copy = await openStore(`sqlite:${to}`, "");
  t.teardown(() => copy.close());
  t.equal((await collectionOf(copy, "log").keys()).length, 100);
  t.equal(await collectionOf(copy, "usage").get("0042"), "usage 0042");
});

t.test("a store with an authority's lease record is copied only with --stopped", async (t) => {
  const folder = temporaryFolder(t);
  const [from, to] = [join(folder, "from.sqlite"), join(folder, "to.sqlite")];
  await fill(from, 1);
  const store = await openStore(`sqlite:${from}`, "");
  await collectionOf(store, "grantors").create("retired/a", "5000");
  await collectionOf(store, "grantors").create("b", "5250");
  await store.close();
  const args = ["store", "copy", `sqlite:${from}`, `sqlite:${to}`];
  const refused = await portico(args);
  t.equal(refused.exit, 1);
  t.match(refused.stderr, /has the claim of an authority: stop every authority on it\. .* add --stopped$/m);
  t.notOk(existsSync(to));
  t.match(await portico([...args, "--stopped"]), { exit: 0, stdout: / 2 claims of authorities/ });
});

t.test("a missing source is reported, even if the data folder belongs to another installation", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "store-location"), "/elsewhere/portico.sqlite");
  const args = ["store", "copy", `sqlite:${join(folder, "absent.sqlite")}`, `sqlite:${join(folder, "to.sqlite")}`];
  const { exit, stderr } = await portico([...args, "--data", folder]);
  t.same({ exit, stderr }, { exit: 1, stderr: `store ${join(folder, "absent.sqlite")} does not exist\n` });
  t.same(readdirSync(folder), ["store-location"]);
});

const REFUSED = {
  "a store that is absent": { from: "absent.sqlite", to: "to.sqlite", message: /absent\.sqlite does not exist$/m },
  "a copy to a store that is there": {
    from: "from.sqlite",
    to: "from.sqlite",
    message: /is there already; name a file/,
  },
  "a copy to another database": { from: "from.sqlite", to: "folder", message: /is not a store of Portico|EISDIR/ },
};
for (const [what, { from, to, message }] of Object.entries(REFUSED)) {
  t.test(`${what} is rejected, and no file is left`, async (t) => {
    const folder = temporaryFolder(t);
    await fill(join(folder, "from.sqlite"), 1);
    const before = readdirSync(folder);
    if (to === "folder") before.push("folder");
    const [source, target] = [join(folder, from), to === "folder" ? folder : join(folder, to)];
    const { exit, stdout, stderr } = await portico(["store", "copy", `sqlite:${source}`, `sqlite:${target}`]);
    t.same({ exit, stdout }, { exit: 1, stdout: "" });
    t.match(stderr, message);
    t.same(
      readdirSync(folder),
      before.filter((name) => name !== "folder"),
    );
  });
}
