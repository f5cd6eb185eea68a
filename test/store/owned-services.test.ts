// A services' store belongs to one installation. These tests show which store a process opens,
// which it adopts, and which it refuses.

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readInstallationId, recordInstallationId } from "../../src/store/installation.js";
import { openServiceStore, refuseServicesLeft } from "../../src/store/open.js";
import { openOwnedServices, serviceStoreOf } from "../../src/store/owned-services.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { temporaryFolder } from "../support/temporary.js";

const A = "aaaaaaaa-0000-4000-8000-000000000000";
const B = "bbbbbbbb-0000-4000-8000-000000000000";

/** Creates a store. Without `owner` it is like a copy for another installation. */
async function make(file: string, { owner, entries = 1 }: { owner?: string; entries?: number }): Promise<void> {
  const store = await openServiceStore(`sqlite:${file}`, "");
  for (let number = 0; number < entries; number++) {
    await store.commit([{ kind: "set", key: `cache/default/entries/${number}`, value: '"kept"', expires: undefined }]);
  }
  if (owner !== undefined) await store.claim(owner, { withEntries: true });
  await store.close();
}

/**
 * Opens the store for an installation. Returns its owner and the number of its entries, or the
 * error.
 */
async function open(
  t: Test,
  dataFolder: string,
  installation: string,
  more: { url?: string; joined?: string } = {},
): Promise<{
  owner?: string | undefined;
  entries?: number;
  adopted?: number;
  refusal?: string;
  store?: KeyValueStore;
}> {
  const adopted: string[] = [];
  try {
    const store = await openOwnedServices({ url: "sqlite:", dataFolder, installation, ...more }, (name) => {
      adopted.push(name);
    });
    t.teardown(() => store.close());
    const found = { owner: await store.owner(), entries: await store.count("", "~"), adopted: adopted.length };
    return { ...found, store };
  } catch (error) {
    return { refusal: (error as Error).message };
  }
}

t.test("a new store belongs to the installation that created it", async (t) => {
  const folder = temporaryFolder(t);
  t.match(await open(t, folder, A), { owner: A, entries: 0, adopted: 0 });
  t.match(await open(t, folder, A), { owner: A, adopted: 0 }, "and is opened again");
});

t.test("a store without owner and entries belongs to the first installation that opens it", async (t) => {
  const folder = temporaryFolder(t);
  await make(join(folder, "services.sqlite"), { entries: 0 });
  t.match(await open(t, folder, A), { owner: A });
  t.match((await open(t, folder, B)).refusal, /belongs to another installation/);
});

t.test("another installation's store is refused, empty or not, and not changed", async (t) => {
  for (const entries of [0, 1]) {
    const folder = temporaryFolder(t);
    await make(join(folder, "services.sqlite"), { owner: A, entries });
    recordInstallationId(folder, B);
    const { refusal } = await open(t, folder, B);
    t.match(refusal, new RegExp(`belongs to another installation of Portico \\(${A}\\), and this process to ${B}`));
    t.match(refusal, /PORTICO_SERVICE_STORE, or another folder in PORTICO_DATA/);
    t.match(await open(t, folder, A), { owner: A, entries });
  }
});

t.test("a copy is adopted in the installation's own data folder", async (t) => {
  const folder = temporaryFolder(t);
  await make(join(folder, "services.sqlite"), {});
  recordInstallationId(folder, A);
  t.match(await open(t, folder, A), { owner: A, entries: 1, adopted: 1 });
  t.match(await open(t, folder, A), { owner: A, entries: 1, adopted: 0 }, "once");
});

t.test("a copy in another folder is refused, and the error names the command to adopt it", async (t) => {
  const folder = join(temporaryFolder(t), "it's here");
  mkdirSync(folder);
  const file = join(folder, "services.sqlite");
  await make(file, {});
  const { refusal = "" } = await open(t, folder, A, { url: `sqlite:${file}` });
  t.match(refusal, "does not say of which installation");
  t.match(refusal, `portico services adopt '${file.replace("'", "'\\''")}' --installation ${A}\n`);
  recordInstallationId(folder, B);
  t.match((await open(t, folder, A, { url: `sqlite:${file}` })).refusal, "does not say", "in another's folder too");
  t.match(await open(t, folder, B), { entries: 1, adopted: 1 }, "it is left as it was");
});

t.test("of two installations that open a free store at once, one gets it", async (t) => {
  const folder = temporaryFolder(t);
  await make(join(folder, "services.sqlite"), { entries: 0 });
  const [first, second] = await Promise.all([open(t, folder, A), open(t, folder, B)]);
  t.equal([first, second].filter(({ store }) => store !== undefined).length, 1);
  t.match(first.refusal ?? second.refusal, /belongs to another installation/);
});

t.test("of two installations that adopt the same entries at once from their own folders, one gets them", async (t) => {
  for (let round = 0; round < 5; round++) {
    const [folder, other] = [temporaryFolder(t), temporaryFolder(t)];
    await make(join(folder, "services.sqlite"), {});
    symlinkSync(join(folder, "services.sqlite"), join(other, "services.sqlite"));
    recordInstallationId(folder, A);
    recordInstallationId(other, B);
    const opened = await Promise.all([open(t, folder, A), open(t, other, B)]);
    t.equal(opened.filter(({ store }) => store !== undefined).length, 1);
    t.match(opened.find(({ store }) => store === undefined)?.refusal, /belongs to another installation/);
  }
});

t.test("processes of one installation that open a free store at once all get it", async (t) => {
  const folder = temporaryFolder(t);
  await make(join(folder, "services.sqlite"), {});
  recordInstallationId(folder, A);
  const opened = await Promise.all(Array.from({ length: 4 }, () => open(t, folder, A)));
  for (const one of opened) t.match(one, { owner: A, entries: 1 });
});

/**
 * The path below the data folder where the service `cache`, which has joined A, stores its data, by
 * the content of the data folder.
 */
const PLACES: Record<string, [prepare: (folder: string) => Promise<void> | void, place: string]> = {
  "the installation's own folder": [(folder) => recordInstallationId(folder, A), "services.sqlite"],
  "an empty folder": [() => {}, "services/cache/services.sqlite"],
  "a folder with an enrolment token": [
    (folder) => {
      mkdirSync(join(folder, "enrolment"));
      writeFileSync(join(folder, "enrolment", "cache"), "pte_1\n");
    },
    "services/cache/services.sqlite",
  ],
  "another installation's folder": [
    async (folder) => {
      recordInstallationId(folder, B);
      await make(join(folder, "services.sqlite"), { owner: B });
    },
    "services/cache/services.sqlite",
  ],
};
for (const [what, [prepare, place]] of Object.entries(PLACES)) {
  t.test(`a service that has joined stores its data in ${place} of ${what}`, async (t) => {
    const dataFolder = temporaryFolder(t);
    await prepare(dataFolder);
    const given = { url: "sqlite:", dataFolder, installation: A };
    t.equal(serviceStoreOf({ ...given, joined: "cache" }), join(dataFolder, place));
    t.equal(serviceStoreOf(given), join(dataFolder, "services.sqlite"), "the process with the authority");
    const named = { ...given, url: `sqlite:${join(dataFolder, "other.sqlite")}`, joined: "cache" };
    t.equal(serviceStoreOf(named), join(dataFolder, "other.sqlite"), "where a file is named");
  });
}

t.test("no new installation is set up next to data of services", async (t) => {
  for (const left of [{}, { owner: A }, { owner: A, entries: 0 }]) {
    const folder = temporaryFolder(t);
    await make(join(folder, "services.sqlite"), left);
    await t.rejects(refuseServicesLeft(folder), {
      message: /would set up a new installation beside it: put the store/,
    });
  }
  const folder = temporaryFolder(t);
  await t.resolves(refuseServicesLeft(folder), "but beside nothing");
  await make(join(folder, "services.sqlite"), { entries: 0 });
  await t.resolves(refuseServicesLeft(folder), "and beside a store that is empty");
});

t.test("a data folder belongs to the last installation whose authority used it", async (t) => {
  const folder = temporaryFolder(t);
  t.equal(readInstallationId(folder), undefined);
  recordInstallationId(folder, A);
  t.equal(readInstallationId(folder), A);
  recordInstallationId(folder, B);
  t.equal(readInstallationId(folder), B);
});
