/** `portico backup` and `portico restore`: what they write, what they say, what they refuse. */
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { run as runProgram } from "../../../cli/program.js";
import { changeStore } from "../../../services/auth/change-store.js";
import type { LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import type { State } from "../../../services/auth/log/state/state.js";
import { hashToken } from "../../../src/call/token.js";
import { Access } from "../../../src/gen/portico/auth/v1/rules.js";
import { readBackup } from "../../../src/store/backup-file.js";
import { openServiceStore, openStore } from "../../../src/store/open.js";
import { toTimestamp } from "../../../src/time.js";
import { silent } from "../../services/auth/open.js";
import { installation } from "../../support/installation.js";
import { temporaryFolder } from "../../support/temporary.js";
import { ioOf, portico } from "../command-line.js";

interface Place {
  readonly data: string;
  /** Where the backup goes. */
  readonly file: string;
  /** Runs a command on the data folder. */
  run(...args: string[]): ReturnType<typeof portico>;
}

async function placeOf(t: Test): Promise<Place> {
  const data = await installation(join(temporaryFolder(t), "data"));
  const env = { PORTICO_DATA: data, PORTICO_LEASE: "500ms" };
  return { data, file: join(data, "..", "portico.backup"), run: (...args) => portico(args, { env }) };
}

/** Makes changes in a store that no authority uses, and returns its revision. */
async function change(data: string, ...events: LogEvent[]): Promise<number> {
  const store = await openStore("sqlite:", data, { mustExist: true });
  try {
    return await changeStore(store, silent, (journal) => journal.commit(PORTICO, () => events));
  } finally {
    await store.close();
  }
}

async function look<T>(data: string, read: (state: State) => T): Promise<T> {
  const store = await openStore("sqlite:", data, { mustExist: true });
  try {
    return await changeStore(store, silent, async (journal) => read(journal.state));
  } finally {
    await store.close();
  }
}

const namespace = "default";
const rule = (id: string): LogEvent => ({
  $case: "ruleCreated",
  value: {
    namespace,
    rule: { id, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false },
    replaced: undefined,
  },
});
const ruleDeleted = (id: string): LogEvent => ({ $case: "ruleDeleted", value: { namespace, id } });
const rulesIn = (data: string) => look(data, ({ namespaces }) => [...namespaces.get(namespace)!.rules.keys()]);

const TOKEN = { sha256: hashToken("a token"), expires: toTimestamp(Date.now() + 3_600_000) };
const loggedIn: LogEvent = {
  $case: "loggedIn",
  value: {
    login: hashToken("a login"),
    namespace,
    account: "admin",
    access: TOKEN,
    refresh: { ...TOKEN, sha256: hashToken("r") },
  },
};
const hasToken = (data: string) => look(data, (state) => state.token(TOKEN.sha256) !== undefined);

t.test("a backup is one private file that says what it is", async (t) => {
  const { data, file, run } = await placeOf(t);
  const revision = await change(data, rule("kept"));
  const { exit, stdout, stderr } = await run("backup", file);
  t.equal(exit, 0, stderr);
  t.match(stdout, /Backed up .*portico\.sqlite\nto .*portico\.backup, and read it again: installation .*, revision/);
  t.match(stdout, /Not in it: what services keep \(portico backup --services FILE\)/);
  t.equal(statSync(file).mode & 0o777, 0o600);
  const header = await readBackup(file);
  const id = await look(data, (state) => state.installationId);
  t.match(header, { kind: "authority", installation: id, revision, version: /^\d/, time: /Z$/ });
  t.same(readdirSync(join(data, "..")).sort(), ["data", "portico.backup"], "no temporary file is left");
});

t.test("a restore gives back the state of the backup, records it, and keeps the old store", async (t) => {
  const { data, file, run } = await placeOf(t);
  const backedUp = await change(data, rule("deleted"), loggedIn);
  await run("backup", file);
  await change(data, ruleDeleted("deleted"), rule("lost"));
  const { exit, stdout, stderr } = await run("restore", file, "--yes");
  t.equal(exit, 0, stderr);
  t.match(stderr, /Undone, so what they took away is valid again:\n.*portico {2}rule deleted deleted\n/);
  t.match(stderr, /Lost:\n.*rule created lost\n/);
  t.match(stdout, `now at revision ${backedUp + 1}`);
  t.same(await rulesIn(data), ["default", "deleted"]);
  t.notOk(await hasToken(data), "logins have ended");

  const store = await openStore("sqlite:", data, { mustExist: true });
  const [record] = await changeStore(store, silent, (journal) => journal.audit.list(namespace, { limit: 1 }));
  await store.close();
  const { time } = await readBackup(file);
  const subject = `of ${time}, revision ${backedUp}, logins ended`;
  t.match(record, { actor: "portico", action: "backup restored", subject, administrator: true });

  const kept = /The old store is (.*)/.exec(stdout)?.[1] ?? "";
  copyFileSync(kept, join(data, "portico.sqlite"));
  t.same(await rulesIn(data), ["default", "lost"], "the old store is whole");
});

t.test("--keep-logins keeps the logins of the backup", async (t) => {
  const { data, file, run } = await placeOf(t);
  await change(data, loggedIn);
  await run("backup", file);
  await run("restore", file, "--yes", "--keep-logins");
  t.ok(await hasToken(data));
});

t.test("a store that is lost or damaged is restored", async (t) => {
  for (const what of ["lost", "damaged"]) {
    const { data, file, run } = await placeOf(t);
    await change(data, rule("kept"));
    await run("backup", file);
    const store = join(data, "portico.sqlite");
    writeFileSync(`${store}-wal`, "of the old store");
    if (what === "lost") truncateSync(store, 0);
    else writeFileSync(store, Buffer.concat([readFileSync(store).subarray(0, 3000), Buffer.alloc(9000, 7)]));
    const { exit, stdout, stderr } = await run("restore", file, "--yes");
    t.equal(exit, 0, stderr);
    t.match(stderr, "The old store cannot tell which");
    t.same(await rulesIn(data), ["default", "kept"]);
    t.ok(existsSync(/The old store is (.*)/.exec(stdout)?.[1] ?? ""));
  }
});

t.test("a store that was absent, and that a process creates during the restore, is not replaced", async (t) => {
  const { data, file, run } = await placeOf(t);
  await run("backup", file);
  const [store, created] = [join(data, "portico.sqlite"), join(data, "created")];
  await change(data, rule("created meanwhile"));
  renameSync(store, created);
  const { io, outcome } = ioOf({ env: { PORTICO_DATA: data, PORTICO_LEASE: "500ms" } });
  const write = io.stderr.write.bind(io.stderr);
  io.stderr.write = (text: string) => {
    if (text.startsWith("Waiting")) renameSync(created, store);
    return write(text);
  };
  const { exit, stderr } = outcome(await runProgram(["restore", file, "--yes"], io));
  t.equal(exit, 1);
  t.match(stderr, `a process has created ${store} meanwhile; stop it, and restore again`);
  t.same(await rulesIn(data), ["default", "created meanwhile"]);
  t.same(
    readdirSync(data).filter((name) => /before|new/.test(name)),
    [],
  );
});

t.test("what was only in the write-ahead log of the old store is not applied to the new one", async (t) => {
  const { data, file, run } = await placeOf(t);
  await run("backup", file);
  const store = join(data, "portico.sqlite");
  const open = await openStore("sqlite:", data, { mustExist: true });
  await changeStore(open, silent, (journal) => journal.commit(PORTICO, () => [rule("lost")]));
  copyFileSync(`${store}-wal`, join(data, "saved"));
  await open.close();
  rmSync(store);
  copyFileSync(join(data, "saved"), `${store}-wal`);
  t.equal((await run("restore", file, "--yes")).exit, 0);
  t.same(await rulesIn(data), ["default"]);
});

t.test("on another machine the store is made anew, with the same ID", async (t) => {
  const { data, file, run } = await placeOf(t);
  await run("backup", file);
  const env = { PORTICO_DATA: join(data, "..", "another"), PORTICO_LEASE: "500ms" };
  const { exit, stdout } = await portico(["restore", file, "--yes"], { env });
  t.equal(exit, 0);
  t.match(stdout, /If a process runs that used the store before, stop it/);
  const id = (folder: string) => look(folder, (state) => state.installationId);
  t.equal(await id(env.PORTICO_DATA), await id(data));
  const copy = join(data, "..", "copy");
  t.equal((await portico(["restore", file, "--yes", "--as-copy"], { env: { ...env, PORTICO_DATA: copy } })).exit, 0);
  t.not(await id(copy), await id(data), "with --as-copy it gets another ID");
  const refused = await run("restore", file, "--yes", "--as-copy");
  t.match(refused, { exit: 1, stderr: /--as-copy makes another installation/ }, "which replaces none");
});

const DAMAGES: readonly (readonly [what: string, damage: (file: string) => void, error: RegExp])[] = [
  ["truncated", (file) => truncateSync(file, statSync(file).size - 100), /is truncated: it has \d+ of \d+ bytes/],
  ["longer", (file) => appendFileSync(file, "more"), /was altered: its checksum differs/],
  ["altered in its content", (file) => alter(file, 10_000), /was altered: its checksum differs/],
  ["altered in its first line", (file) => alterText(file, '"revision":', '"revision":9'), /was altered/],
  ["of a newer format", (file) => alterText(file, '"format":1', '"format":2'), /was written by a newer Portico/],
  ["no backup", (file) => writeFileSync(file, "rules: []\n"), /is not a backup of Portico/],
  ["a store, not a backup", (file) => copyFileSync(join(file, "../data/portico.sqlite"), file), /is not a backup/],
];

function alter(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at]! ^= 1;
  writeFileSync(file, bytes);
}

function alterText(file: string, from: string, to: string): void {
  const text = readFileSync(file, "latin1");
  writeFileSync(file, text.replace(from, to), "latin1");
}

for (const [what, damage, error] of DAMAGES) {
  t.test(`a backup that is ${what} is refused, and the store stays`, async (t) => {
    const { data, file, run } = await placeOf(t);
    await run("backup", file);
    damage(file);
    const before = readFileSync(join(data, "portico.sqlite"));
    const { exit, stderr } = await run("restore", file, "--yes");
    t.equal(exit, 1);
    t.match(stderr, error);
    t.ok(readFileSync(join(data, "portico.sqlite")).equals(before), "the store is as it was");
    t.same(
      readdirSync(data).filter((name) => name.endsWith(".new")),
      [],
    );
  });
}

const HEADERS: readonly [what: string, members: object][] = [
  ["no time", { time: "yesterday" }],
  ["a time with other text", { time: "2026-11-29 (\u001b[31m)" }],
  ["an unknown kind", { kind: "__proto__" }],
  ["control characters in its installation", { installation: "\u001b[31m" }],
];

for (const [what, members] of HEADERS) {
  t.test(`a backup with a right checksum and ${what} is refused`, async (t) => {
    const { file, run } = await placeOf(t);
    await run("backup", file);
    const bytes = readFileSync(file);
    const end = bytes.indexOf("\n");
    const header = JSON.stringify({ ...JSON.parse(bytes.toString("utf8", 0, end)), ...members });
    const whole = Buffer.concat([Buffer.from(header), bytes.subarray(end, -65)]);
    writeFileSync(file, Buffer.concat([whole, Buffer.from(`${createHash("sha256").update(whole).digest("hex")}\n`)]));
    t.match(await run("restore", file, "--yes"), { exit: 1, stderr: /is not a backup of Portico, or is damaged/ });
  });
}

t.test("a folder is no backup", async (t) => {
  const { data, run } = await placeOf(t);
  t.match(await run("restore", data, "--yes"), { exit: 1, stderr: /^backup \S+ cannot be read \(EISDIR/ });
});

t.test("a store that is a symbolic link stays on its disk", async (t) => {
  const { data, file, run } = await placeOf(t);
  await run("backup", file);
  const [link, store] = [join(data, "portico.sqlite"), join(temporaryFolder(t), "portico.sqlite")];
  renameSync(link, store);
  symlinkSync(store, link);
  await change(data, rule("lost"));
  t.match(await run("restore", file, "--yes"), { exit: 0 });
  t.equal(readlinkSync(link), store);
  t.same(await rulesIn(data), ["default"]);
  t.equal(readdirSync(dirname(store)).filter((name) => name.includes(".before-restore-")).length, 1);
});

t.test("a restore is refused while a process has the store open", async (t) => {
  const { data, file, run } = await placeOf(t);
  await run("backup", file);
  const store = await openStore("sqlite:", data, { mustExist: true });
  t.match(await run("restore", file, "--yes"), { exit: 1, stderr: /is in use by another process; stop every/ });
  t.equal((await run("backup", file)).exit, 0, "a backup is not");
  await store.close();
});

t.test("the backup of another installation is refused", async (t) => {
  const { data, file, run } = await placeOf(t);
  const other = join(data, "..", "other");
  await run("backup", file);
  await portico(["restore", file, "--yes", "--as-copy"], { env: { PORTICO_DATA: other, PORTICO_LEASE: "500ms" } });
  const ofOther = join(data, "..", "other.backup");
  await portico(["backup", ofOther], { env: { PORTICO_DATA: other } });
  t.match(await run("restore", ofOther, "--yes"), { exit: 1, stderr: /is of installation .* belongs to/ });
  t.match(await run("backup", ofOther), { exit: 1, stderr: /is a backup of another store/ });
});

t.test("a data folder whose store has moved is refused", async (t) => {
  const { data, file, run } = await placeOf(t);
  await run("backup", file);
  writeFileSync(join(data, "store-location"), "postgres://db.example.com/portico");
  t.match(await run("restore", file, "--yes"), { exit: 1, stderr: /belongs to store postgres:\S+; name that store/ });
});

const notRoot = process.getuid?.() !== 0 && "only root can give files to others";
t.test("what root restores belongs to the owner of the data folder", { skip: notRoot }, async (t) => {
  const { data, file, run } = await placeOf(t);
  await run("backup", file);
  t.match((await run("restore", file, "--yes")).stdout, `It belongs to root. If Portico runs as another user: chown`);
  chownSync(data, 4_242, 4_242);
  t.notMatch((await run("restore", file, "--yes")).stdout, "It belongs to root");
  const { uid, gid, mode } = statSync(join(data, "portico.sqlite"));
  t.same([uid, gid, mode & 0o777], [4_242, 4_242, 0o600]);
});

t.test("a backup replaces no file that is not a backup", async (t) => {
  const { data, run } = await placeOf(t);
  const store = join(data, "portico.sqlite");
  t.match(await run("backup", store), { exit: 1, stderr: /is not a backup of Portico/ });
  t.same(await rulesIn(data), ["default"]);
});

t.test("a backup below a file is refused in plain words", async (t) => {
  const { data, run } = await placeOf(t);
  const store = join(data, "portico.sqlite");
  const stderr = `Writing failed: ${store}: a part of this path is a file, not a folder\n`;
  t.match(await run("backup", join(store, "x.backup")), { exit: 1, stderr });
});

t.test("without a terminal, a restore needs --yes", async (t) => {
  const { file, run } = await placeOf(t);
  await run("backup", file);
  t.match(await run("restore", file), { exit: 2, stderr: /Give --yes/ });
});

t.test("a store on Postgres is left to its own tools", async (t) => {
  const env = { PORTICO_STORE: "postgres://portico@127.0.0.1/portico" };
  t.match(await portico(["backup", "x"], { env }), { exit: 1, stderr: /On Postgres use pg_dump/ });
  t.match(await portico(["restore", "x", "--yes"], { env }), { exit: 1, stderr: /On Postgres use pg_restore/ });
});

t.test("what services keep has a backup of its own", async (t) => {
  const { data, file, run } = await placeOf(t);
  const written = await openServiceStore("sqlite:", data, { isNew: true });
  await written.claim("an installation");
  const set = (value: string) => written.commit([{ kind: "set", key: "notes/1", value, expires: undefined }]);
  await set("kept");
  t.equal((await run("backup", "--services", file)).exit, 0);
  await set("lost");
  await written.close();
  t.match(await run("restore", file, "--yes"), { exit: 1, stderr: /is of the store of services; give --services/ });
  t.equal((await run("restore", "--services", file, "--yes")).exit, 0);
  const store = await openServiceStore("sqlite:", data);
  t.equal((await store.get(["notes/1"]))[0]?.value, "kept");
  t.equal(await store.owner(), "an installation");
  await store.close();
});
