/**
 * Acknowledged writes are on the disk: the system calls show that the write-ahead log was synced
 * before the acknowledgement.
 */
import t from "tap";
import { bundleInto } from "../support/bundle.js";
import { noStrace, traceCalls } from "../support/system-calls.js";

const CALLS = ["pwrite64", "pwritev", "pwritev2", "fsync", "fdatasync", "write"];

t.test("each change is synced before it is acknowledged", { skip: noStrace }, async (t) => {
  const folder = t.testdir();
  const program = await bundleInto(folder, "test/store/synced-writer.ts");
  const { printed, calls } = traceCalls(folder, CALLS, [program, folder]);
  const changes = changesIn(calls);
  t.equal(printed[0], "opened");
  t.same(
    changes.map(({ printed }) => printed),
    printed,
  );
  for (const { printed, written, synced } of changes.slice(1)) {
    t.ok(written, `${printed}: was written to the log`);
    t.ok(synced, `${printed}: was synced after that, and before the acknowledgement`);
  }
});

interface Change {
  readonly printed: string;
  /** Whether the write-ahead log was written since the previous line. */
  readonly written: boolean;
  /** Whether it was synced after the last of these writes. */
  readonly synced: boolean;
}

/** The changes that a program printed, by its system calls. */
function changesIn(calls: readonly string[]): Change[] {
  const changes: Change[] = [];
  let written = false;
  let synced = false;
  for (const call of calls) {
    if (/^pwrite\w+\(\d+<[^>]*-wal>/.test(call)) [written, synced] = [true, false];
    if (/^f(data)?sync\(\d+<[^>]*-wal>.* = 0$/.test(call)) synced = written;
    const printed = /^write\(1<[^>]*>, "(.*)\\n"/.exec(call)?.[1];
    if (printed === undefined) continue;
    changes.push({ printed, written, synced });
    [written, synced] = [false, false];
  }
  return changes;
}
