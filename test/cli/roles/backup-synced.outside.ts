/**
 * A backup and a restored store are on disk before they get their names, and the names are on disk
 * before the command ends. Nothing is written to a file that has such a name. So a power failure
 * leaves the earlier file or the new one.
 */
import { dirname, join } from "node:path";
import t from "tap";
import { openStore } from "../../../src/store/open.js";
import { bundleInto } from "../../support/bundle.js";
import { installation } from "../../support/installation.js";
import { noStrace, traceCalls } from "../../support/system-calls.js";

const WRITES = ["write", "writev", "pwrite64", "pwritev", "copy_file_range", "sendfile", "ftruncate"];
const CALLS = [...WRITES, "fsync", "fdatasync", "rename", "renameat", "renameat2"];

/** A change of a file, or the end of a sync. */
interface Step {
  readonly kind: "write" | "sync" | "rename";
  readonly path: string;
  /** The new name. */
  readonly to?: string | undefined;
}

function stepsIn(calls: readonly string[]): Step[] {
  return calls.flatMap((call): Step[] => {
    const [, from = "", to] =
      /^rename\w*\((?:AT_FDCWD\S*, )?"(.*?)", (?:AT_FDCWD\S*, )?"(.*?)".* = 0$/.exec(call) ?? [];
    if (to !== undefined) return [{ kind: "rename", path: from, to }];
    const [, name = "", path = ""] = /^(\w+)\(\d+<(.*?)>.* = \d+/.exec(call) ?? [];
    if (/^f(?:data)?sync$/.test(name)) return [{ kind: "sync", path }];
    return WRITES.includes(name) ? [{ kind: "write", path }] : [];
  });
}

t.test("a backup and a restored store", { skip: noStrace }, async (t) => {
  const root = t.testdir();
  const data = await installation(join(root, "data"));
  const program = await bundleInto(root, "test/cli/roles/backup-process.ts");
  const backup = join(root, "portico.backup");
  const store = join(data, "portico.sqlite");
  for (const [command, file] of [
    ["backup", backup],
    ["restore", store],
  ] as const) {
    const { calls } = traceCalls(root, CALLS, [program, command, backup, data]);
    const steps = stepsIn(calls);
    const named = steps.findIndex(({ kind, to }) => kind === "rename" && to === file);
    const draft = steps[named]?.path;
    const isOf = (path: string | undefined, kind: Step["kind"]) => (step: Step) =>
      step.kind === kind && step.path === path;
    const written = steps.findLastIndex(isOf(draft, "write"));
    t.ok(named > 0, `${command}: the file gets its name by a rename`);
    t.ok(written >= 0 && written < named, `${command}: everything was written before`);
    t.ok(steps.slice(written, named).some(isOf(draft, "sync")), `${command}: and is on disk`);
    t.ok(steps.slice(named).some(isOf(dirname(file), "sync")), `${command}: the name is on disk`);
    t.notOk(steps.slice(named).some(isOf(file, "write")), `${command}: nothing is written to it`);
  }
  await (await openStore("sqlite:", data, { mustExist: true })).close();
});
