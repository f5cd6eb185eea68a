/**
 * Acknowledged writes are on the disk: the system calls show that the write-ahead log was synced
 * before the acknowledgement.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { bundleInto } from "../support/bundle.js";

const noStrace = spawnSync("strace", ["-V"]).status !== 0 && "there is no strace here";

t.test("each change is synced before it is acknowledged", { skip: noStrace }, async (t) => {
  const folder = t.testdir();
  const program = await bundleInto(folder, "test/store/synced-writer.ts");
  const trace = join(folder, "trace");
  const calls = "--trace=pwrite64,pwritev,pwritev2,fsync,fdatasync,write";
  const strace = ["--follow-forks", "--decode-fds=path", calls, `--output=${trace}`, process.execPath, program, folder];
  const printed = execFileSync("strace", strace, { encoding: "utf8" }).trim().split("\n");
  const changes = changesIn(readFileSync(trace, "utf8"));
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

/** The changes that a program printed, with the system calls that strace saw. */
function changesIn(trace: string): Change[] {
  const changes: Change[] = [];
  let written = false;
  let synced = false;
  /**
   * The unfinished system call of each thread. For a call that takes longer, strace prints its end
   * on another line.
   */
  const begun = new Map<string, string>();
  for (const line of trace.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const call = rest.startsWith("<...") ? (begun.get(thread) ?? "") : rest;
    if (rest.endsWith("<unfinished ...>")) begun.set(thread, rest);
    if (/^pwrite\w+\(\d+<[^>]*-wal>/.test(rest)) [written, synced] = [true, false];
    if (/^f(data)?sync\(\d+<[^>]*-wal>/.test(call) && rest.endsWith(" = 0")) synced = written;
    const printed = /^write\(1<[^>]*>, "(.*)\\n"/.exec(rest)?.[1];
    if (printed === undefined) continue;
    changes.push({ printed, written, synced });
    [written, synced] = [false, false];
  }
  return changes;
}
