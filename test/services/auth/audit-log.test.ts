// The audit log (PORTICO_AUDIT_LOG): every record of every namespace is a line in the file, once,
// in the order of revisions, whatever happens to the file and to the authority.

import { mkdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import { pino } from "pino";
import t, { type Test } from "tap";
import { AuditLog } from "../../../services/auth/log/audit/audit-log.js";
import { MergedTrails } from "../../../services/auth/log/audit/audit-merge.js";
import { type AuditOutput, outputTo } from "../../../services/auth/log/audit/audit-output.js";
import { AuditTrail } from "../../../services/auth/log/audit/audit-trail.js";
import { type Journal, PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { AUDIT_FIELDS, auditLine } from "../../../src/api/audit-line.js";
import type { AuditRecord as ApiRecord } from "../../../src/api/types.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { readDescriptors } from "../../../src/contract/endpoint.js";
import { AuditRecord } from "../../../src/gen/portico/auth/v1/audit.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { collectionOf, writesTo } from "../../../src/store/collection.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { FaultyStore } from "./faulty-store.js";
import { HASH, open, openJournal, silent } from "./open.js";

const RULE = { scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
const RETRY_MS = 10;
/** Of 4 bytes in UTF-8. */
const NAME = "ada-𝄞";

/** Creates rules in one entry. */
const create = (journal: Journal, namespace: string, ...ids: string[]): Promise<number> =>
  journal.commit({ namespace, account: "portico" }, () =>
    ids.map((id) => ({ $case: "ruleCreated", value: { namespace, rule: { ...RULE, id } } })),
  );

async function opened(t: Test, options: Parameters<typeof openMemoryStore>[0] = {}) {
  const store = openMemoryStore(options);
  t.teardown(() => store.close());
  const journal = await openJournal(store);
  t.teardown(() => journal.close());
  await journal.commit(PORTICO, () => [
    ...["default", "team"].map((name) => ({ $case: "namespaceCreated" as const, value: { name, id: undefined } })),
    { $case: "accountCreated", value: { namespace: "default", name: "admin", scopes: ["admin"], password: HASH } },
  ]);
  return { store, journal, file: join(temporaryFolder(t), "audit.jsonl") };
}

/** Starts to write; `close` is called at the end of the test at the latest. */
function writing(
  t: Test,
  { store, journal, file, id = "" }: { store: KeyValueStore; journal: Journal; file: string; id?: string },
) {
  const log = new AuditLog({ output: outputTo(file), journal, store, id, log: silent, retryMs: RETRY_MS }).open();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= log.close());
  t.teardown(close);
  return { log, close };
}

const linesOf = (file: string): string[] => {
  try {
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
};
const subjectsOf = (file: string): string[] => linesOf(file).map((line) => JSON.parse(line).subject);
const written = (file: string, subject: string) => until(() => subjectsOf(file).includes(subject));

t.test("a record is a line with these fields, of every namespace in the order of revisions", async (t) => {
  const mesh = await opened(t);
  await create(mesh.journal, "team", "one", "two");
  writing(t, mesh);
  await create(mesh.journal, "default", "three");
  await create(mesh.journal, "team", NAME);
  await written(mesh.file, NAME);
  const lines = linesOf(mesh.file).map((line) => JSON.parse(line));
  for (const line of lines) t.same(Object.keys(line), AUDIT_FIELDS);
  t.match(lines.at(-1), {
    ...{ cursor: `${mesh.journal.state.revision}.0`, revision: `${mesh.journal.state.revision}`, namespace: "team" },
    ...{ actor: "portico", action: "rule created", subject: NAME, administrator: true, address: "", key: "" },
    time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/,
  });
  t.same(subjectsOf(mesh.file).slice(-4), ["one", "two", "three", NAME]);
  t.equal(statSync(mesh.file).mode & 0o777, 0o600, "others cannot read the file");
});

t.test("a start goes on where the last one has ended", async (t) => {
  const mesh = await opened(t);
  const first = writing(t, mesh);
  await create(mesh.journal, "default", "one");
  await written(mesh.file, "one");
  await first.close();
  await create(mesh.journal, "default", "two");
  writing(t, mesh);
  await create(mesh.journal, "default", "three");
  await written(mesh.file, "three");
  t.same(subjectsOf(mesh.file).slice(-3), ["one", "two", "three"]);
  t.equal(new Set(linesOf(mesh.file)).size, linesOf(mesh.file).length);
});

t.test("after a rename, as by logrotate, the next line is in a new file, and none is lost", async (t) => {
  const mesh = await opened(t);
  writing(t, mesh);
  await create(mesh.journal, "default", "one");
  await written(mesh.file, "one");
  const before = linesOf(mesh.file);
  renameSync(mesh.file, `${mesh.file}.1`);
  await create(mesh.journal, "default", "two");
  await written(mesh.file, "two");
  t.same(linesOf(`${mesh.file}.1`), before);
  t.same(subjectsOf(mesh.file), ["two"]);
  truncateSync(mesh.file); // As by logrotate with copytruncate.
  await create(mesh.journal, "default", "three");
  await written(mesh.file, "three");
  t.same(subjectsOf(mesh.file), ["three"]);
});

t.test("a file that cannot be written stops no change, is said, and gets every line later", async (t) => {
  const mesh = await opened(t);
  const folder = join(temporaryFolder(t), "later");
  const file = join(folder, "audit.jsonl");
  const output = outputTo(file);
  let attempts = 0;
  const write: AuditOutput["write"] = (lines) => {
    attempts++;
    return output.write(lines);
  };
  const counted = { name: file, write, close: () => output.close() };
  const log = new AuditLog({ ...mesh, output: counted, id: "", log: silent, retryMs: RETRY_MS }).open();
  t.teardown(() => log.close());
  await create(mesh.journal, "default", "one");
  await until(() => attempts > 3);
  t.match(log.error, /wait to be written to PORTICO_AUDIT_LOG: ENOENT\. Changes go on/);
  await create(mesh.journal, "default", "two");
  mkdirSync(folder);
  await written(file, "two");
  await until(() => log.error === undefined);
  t.same(subjectsOf(file).slice(-2), ["one", "two"]);
});

const NO_FILES: readonly (readonly [path: string, message: RegExp])[] = [
  ["/dev/null", /it is no regular file; name a file, or - for standard output/],
  ["/dev/full", /it is no regular file/],
  ["/dev", /EISDIR/],
  ["/dev/null/audit.jsonl", /ENOTDIR/],
];
t.test("what is no file is refused with the reason", async (t) => {
  for (const [path, message] of NO_FILES) await t.rejects(outputTo(path).write(["{}\n"]), { message }, path);
});

t.test("lines that a crash or a full disk has cut off at any byte are completed, and none comes twice", async (t) => {
  const file = join(temporaryFolder(t), "audit.jsonl");
  const lines = ["zero", NAME, "two"].map((subject, index) => `${JSON.stringify({ cursor: `${index}.0`, subject })}\n`);
  const [earlier, ...batch] = lines as [string, ...string[]];
  const whole = Buffer.from(lines.join(""));
  for (let cut = Buffer.byteLength(earlier); cut <= whole.length; cut++) {
    writeFileSync(file, whole.subarray(0, cut));
    const output = outputTo(file);
    await output.write(batch);
    await output.close();
    if (!readFileSync(file).equals(whole)) t.fail(`cut at ${cut}: ${readFileSync(file, "utf8")}`);
  }
  writeFileSync(file, "not a li");
  const output = outputTo(file);
  await output.write(batch);
  await output.close();
  t.same(linesOf(file), ["not a li", ...batch.map((line) => line.trimEnd())], "what is not its own is left as it is");
});

t.test(
  "a crash after the write and before the cursor is on disk repeats no line, or one batch in a new file",
  async (t) => {
    const mesh = await opened(t);
    const rows = collectionOf(mesh.store, "audit");
    const first = writing(t, mesh);
    await until(async () => (await rows.get("log/cursor")) === String(mesh.journal.state.revision));
    const cursor = await rows.get("log/cursor");
    await create(mesh.journal, "default", "one", "two");
    await written(mesh.file, "two");
    await first.close();
    const before = linesOf(mesh.file);
    const crash = () => rows.commit([writesTo("audit").set(["log/cursor", cursor!])]);
    await crash();
    const second = writing(t, mesh);
    await until(async () => (await rows.get("log/cursor")) !== cursor);
    await second.close();
    t.same(linesOf(mesh.file), before);
    await crash();
    renameSync(mesh.file, `${mesh.file}.1`);
    writing(t, mesh);
    await written(mesh.file, "two");
    t.same(subjectsOf(mesh.file), ["one", "two"]);
  },
);

t.test("a record that is written while the trails are read is not passed over", async (t) => {
  const { store, journal } = await opened(t);
  const faulty = new FaultyStore(store);
  const reading = await openJournal(faulty);
  const trails = new MergedTrails(reading.audit);
  const head = reading.state.revision;
  let reads = 0;
  faulty.onStep = async (step) => {
    // The trail of `default` was read, the one of `team` was not.
    if (!step.startsWith("after range") || ++reads !== 1) return;
    await create(journal, "default", "early");
    await create(journal, "team", "late");
  };
  const { records, revision } = await trails.read({ trails: new Set(["default", "team"]) }, 0, head);
  t.ok(reads > 1);
  t.equal(revision, head);
  t.notOk(records.some((record) => Number(record.revision) > head));
});

t.test("revisions stay whole, also one with more records than are read at once", async (t) => {
  const { journal } = await opened(t);
  const ids = Array.from({ length: 3_000 }, (_, index) => `rule-${index}`);
  await create(journal, "default", ...ids);
  await create(journal, "team", "last");
  const trails = new MergedTrails(journal.audit);
  const subjects: string[] = [];
  for (let after = 0; after < journal.state.revision; ) {
    const { records, revision } = await trails.read({ trails: undefined }, after, journal.state.revision);
    t.ok(records.every((record) => Number(record.revision) > after && Number(record.revision) <= revision));
    subjects.push(...records.map(({ subject }) => subject));
    after = revision;
  }
  t.same(subjects.slice(-3_001), [...ids, "last"]);
});

t.test("of several authorities one writes at a time, and another goes on where it has ended", async (t) => {
  const { store, journal, file } = await opened(t, { mayBeStale: true });
  const other = await openJournal(store);
  const files = [file, `${file}.other`] as const;
  const first = writing(t, { store, journal, file: files[0], id: "first" });
  await create(journal, "default", "one");
  await written(files[0], "one");
  const second = writing(t, { store, journal: other, file: files[1], id: "second" });
  for (const id of ["two", "three"]) {
    await create(journal, "default", id);
    await other.sync();
  }
  await written(files[0], "three");
  t.same(linesOf(files[1]), []);
  await first.close();
  await create(journal, "default", "four");
  await other.sync();
  await written(files[1], "four");
  t.same(subjectsOf(files[1]), ["four"]);
  await second.close();
});

t.test("an authority that has lost its claim while it wrote leaves the cursor to the one that has it", async (t) => {
  const { store, journal, file } = await opened(t, { mayBeStale: true });
  const rows = collectionOf(store, "audit");
  const faulty = new FaultyStore(store);
  const slow = await openJournal(faulty);
  const { log, close } = writing(t, { store: faulty, journal: slow, file, id: "slow" });
  await written(file, "admin");
  await until(async () => (await rows.get("log/cursor")) === String(journal.state.revision));
  let isTaken = false;
  faulty.onStep = async (step) => {
    // The claim of another authority, which has written nothing yet.
    if (isTaken || !step.startsWith("before commit audit")) return;
    isTaken = true;
    await rows.commit([writesTo("audit").set(["log/claim", "other"])]);
  };
  const cursor = await rows.get("log/cursor");
  await create(journal, "default", "one");
  await slow.sync();
  await until(() => isTaken);
  await until(() => subjectsOf(file).includes("one"));
  await until(() => log.error === undefined);
  t.equal(await rows.get("log/cursor"), cursor);
  await close();
});

t.test("the claim of an authority that was killed ends by itself", async (t) => {
  const { store, journal, file } = await opened(t, { mayBeStale: true });
  const expires = Date.now() + 100;
  await store.commit([{ kind: "set", key: "audit/log/claim", value: "killed", expires }]);
  writing(t, { store, journal, file, id: "other" });
  await written(file, "admin");
  t.ok(Date.now() >= expires);
});

t.test("records that were too old before they were written are said in the log", async (t) => {
  const mesh = await opened(t);
  const first = writing(t, mesh);
  await written(mesh.file, "admin");
  await first.close();
  await create(mesh.journal, "default", "old");
  await mesh.journal.audit.dropBefore(Date.now() + 1);
  const logged: object[] = [];
  const log = pino({ level: "warn" }, { write: (line) => void logged.push(JSON.parse(line)) });
  const output = outputTo(mesh.file);
  const second = new AuditLog({ ...mesh, output, id: "", log, retryMs: RETRY_MS }).open();
  t.teardown(() => second.close());
  await create(mesh.journal, "default", "new");
  await written(mesh.file, "new");
  t.same(subjectsOf(mesh.file).includes("old"), false);
  const cursor = `${mesh.journal.state.revision - 1}.0`;
  t.match(logged, [{ trail: "default", cursor, msg: /were deleted before they could be written/ }]);
});

/** When the records of two trails are deleted, which then have none left. */
for (const when of ["before they are listed", "just before they are read"] as const) {
  t.test(`trails that are deleted ${when} are not passed over in silence`, async (t) => {
    const { store, journal } = await opened(t);
    const before = journal.state.revision;
    await create(journal, "default", "one");
    await create(journal, "team", "two");
    const deleteAll = () => journal.audit.dropBefore(Date.now() + 1);
    class Deleted extends AuditTrail {
      override async after(...which: Parameters<AuditTrail["after"]>) {
        await deleteAll();
        return super.after(...which);
      }
    }
    if (when === "before they are listed") await deleteAll();
    const trails = new MergedTrails(new Deleted(store));
    const { records, deletions } = await trails.read({ trails: undefined }, before, before + 2);
    t.same(records, []);
    t.same([...deletions.keys()], ["default", "team"]);
  });
}

t.test("an authority writes to the file of its setting, and says while it cannot", async (t) => {
  const folder = join(temporaryFolder(t), "later");
  const { call, login, authority } = await open(t, { auditLog: join(folder, "audit.jsonl") });
  await until(() => authority.errors().length > 0);
  t.match(authority.errors(), [/PORTICO_AUDIT_LOG: ENOENT\. Changes go on/]);
  const token = await login();
  await call(RulesService.create, { rule: { ...RULE, id: "mine" } }, token);
  mkdirSync(folder);
  await until(() => authority.errors().length === 0);
  await written(join(folder, "audit.jsonl"), "mine");
});

t.test("the API gives the same lines", async (t) => {
  const { journal, file } = await opened(t);
  await create(journal, "team", NAME);
  writing(t, { store: openMemoryStore(), journal, file });
  await written(file, NAME);
  const [record] = await journal.audit.after("team", "", 1);
  const type = readDescriptors(descriptorsOf()).getMessage("portico.auth.v1.AuditRecord")!;
  const json = toJson(type, fromBinary(type, AuditRecord.encode(record!).finish()), { alwaysEmitImplicit: true });
  t.equal(`${linesOf(file).at(-1)}\n`, auditLine(json as unknown as ApiRecord));
});
