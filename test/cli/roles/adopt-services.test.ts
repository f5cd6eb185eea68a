// `portico services adopt`, and copies for another installation.
import { join } from "node:path";
import t, { type Test } from "tap";
import { readInstallationId, recordInstallationId } from "../../../src/store/installation.js";
import { openServiceStore, openStore } from "../../../src/store/open.js";
import { installation } from "../../support/installation.js";
import { temporaryFolder } from "../../support/temporary.js";
import { portico } from "../command-line.js";

const A = "aaaaaaaa-0000-4000-8000-000000000000";
const B = "bbbbbbbb-0000-4000-8000-000000000000";

async function ownerOf(url: string): Promise<string | undefined> {
  const store = await openServiceStore(url, "", { mustExist: true });
  const owner = await store.owner();
  await store.close();
  return owner;
}

/** A store with one entry. Returns its file. */
async function filled(t: Test, owner?: string): Promise<string> {
  const file = join(temporaryFolder(t), "services.sqlite");
  const store = await openServiceStore(`sqlite:${file}`, "");
  await store.commit([{ kind: "set", key: "cache/default/entries/a", value: "1", expires: undefined }]);
  if (owner !== undefined) await store.claim(owner, { withEntries: true });
  await store.close();
  return file;
}

t.test("a store is assigned to the named installation, or to the data folder's", async (t) => {
  const [named, beside] = [await filled(t), await filled(t)];
  const first = await portico(["services", "adopt", named, "--installation", A]);
  t.match(first, { exit: 0, stdout: `Adopted ${named} with 1 entries\nIt belongs to the installation ${A} now\n` });
  const data = temporaryFolder(t);
  recordInstallationId(data, B);
  t.match(await portico(["services", "adopt", `sqlite:${beside}`, "--data", data]), { exit: 0 });
  t.same([await ownerOf(`sqlite:${named}`), await ownerOf(`sqlite:${beside}`)], [A, B]);
  t.match(await portico(["services", "adopt", named, "--installation", A]), { exit: 0, stdout: /already\n$/ });
});

t.test("a store that cannot be assigned is rejected, and nothing changes", async (t) => {
  const file = await filled(t, A);
  const other = await portico(["services", "adopt", file, "--installation", B]);
  t.match(other, {
    exit: 1,
    stderr: /belongs to another installation, a.*copy it by portico store copy --services --as-copy/,
  });
  t.equal(await ownerOf(`sqlite:${file}`), A);
  const data = temporaryFolder(t);
  t.match(await portico(["services", "adopt", file, "--data", data]), { exit: 2, stderr: /--installation is missing/ });
  t.match(await portico(["services", "adopt", file, "--installation", "A"]), { exit: 2, stderr: /A is no ID/ });
  const absent = await portico(["services", "adopt", join(data, "none.sqlite"), "--installation", A]);
  t.match(absent, { exit: 1, stderr: /none\.sqlite does not exist/ });
});

t.test("a copy of a store of services belongs to the same installation, with --as-copy to none", async (t) => {
  const file = await filled(t, A);
  const [same, free] = [`sqlite:${file}.same`, `sqlite:${file}.free`];
  t.match(await portico(["store", "copy", "--services", `sqlite:${file}`, same]), { exit: 0 });
  const copied = await portico(["store", "copy", "--services", "--as-copy", `sqlite:${file}`, free]);
  t.match(copied, { exit: 0, stdout: /The copy belongs to no installation yet/ });
  t.same([await ownerOf(same), await ownerOf(free)], [A, undefined]);
  t.match(await portico(["services", "adopt", free, "--installation", B]), { exit: 0, stdout: /with 1 entries/ });
});

t.test("a copy of the authority's store is the same installation, with --as-copy a new one", async (t) => {
  const data = await installation(temporaryFolder(t));
  const { Journal } = await import("../../../services/auth/log/changelog/journal.js");
  const { ChangeLog } = await import("../../../services/auth/log/changelog/change-log.js");
  const { AuthorityClock, MACHINE_CLOCKS } = await import("../../../services/auth/log/time/clock.js");
  const { default: pino } = await import("pino");
  const log = pino({ level: "silent" });
  const stateOf = async (url: string) => {
    const store = await openStore(url, "", { mustExist: true });
    const clock = new AuthorityClock({ clocks: MACHINE_CLOCKS, log });
    const journal = await Journal.open({ log: new ChangeLog({ store, log }), logger: log, clock });
    const { installationId, contextSecret } = journal.state;
    await journal.close();
    await store.close();
    return { installationId, secret: contextSecret.toString("hex") };
  };
  const [same, other] = [`sqlite:${join(data, "same.sqlite")}`, `sqlite:${join(data, "other.sqlite")}`];
  t.match(await portico(["store", "copy", "sqlite:", same, "--data", data]), { exit: 0 });
  const copied = await portico(["store", "copy", "--as-copy", "sqlite:", other, "--data", data]);
  const [before, first, second] = [
    await stateOf(`sqlite:${join(data, "portico.sqlite")}`),
    await stateOf(same),
    await stateOf(other),
  ];
  t.equal(before.installationId, readInstallationId(data), "the data folder has the ID");
  t.same(first, before);
  t.not(second.installationId, before.installationId);
  t.not(second.secret, before.secret, "what the original signs is not good in the copy");
  t.match(copied, { exit: 0, stdout: new RegExp(`an installation of its own, ${second.installationId}`) });
});
