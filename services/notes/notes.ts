/** Stores the notes of an account, and streams their changes. */
import { monotonicFactory } from "ulid";
import { Change, type Note, NotesService } from "../../src/gen/notes/notes.js";
import {
  aborted,
  type Call,
  Code,
  type Entry,
  notFound,
  outOfRange,
  part,
  resourceExhausted,
  StatusError,
  toTimestamp,
  type Write,
} from "../../src/kit/index.js";
import { accountOf, checkBytes, checkName, checkNumber, checkText } from "../patterns/checks.js";
import { pageOf } from "../patterns/pages.js";
import { retry } from "../patterns/retry.js";

const TITLE = { min: 0, max: 200 };
const TEXT = { min: 0, max: 65_536 };
const LIMIT = { min: 1, max: 100, absent: 20 };
/** The maximum number of notes of an account. */
const MAX_NOTES = 10_000;

const ulid = monotonicFactory();

/** A note, stored under its account and ID. Times are in milliseconds since 1970. */
interface StoredNote {
  readonly title: string;
  readonly text: string;
  readonly created: number;
  readonly updated: number;
  readonly revision: number;
}

/** The number of an account's notes, stored under its name. */
interface Journal {
  readonly notes: number;
}

/** The service `notes`. */
export const parts = [
  part(NotesService, {
    async create({ title, text }, call) {
      checkContent({ title, text });
      const now = Date.now();
      const note: StoredNote = { title, text, created: now, updated: now, revision: 1 };
      const id = ulid(now);
      await count(call, 1, async () => ({ set: keyOf(call, id), value: note, ifAbsent: true }));
      return toNote(id, note);
    },

    async read({ id }, call) {
      return toNote(id, (await noteOf(call, id)).value);
    },

    async list({ before, limit: asked }, call) {
      const account = accountOf(call, "Notes");
      const limit = checkNumber("limit", asked, LIMIT);
      if (before !== "") checkName("before", before);
      // The position is read before the notes. So Events reports every later change, even if the
      // notes already contain it.
      const position = await notesOf(call).revision();
      const prefix = `${account}/`;
      const page = await notesOf(call).range({
        prefix,
        limit,
        reverse: true,
        after: before === "" ? undefined : prefix + before,
      });
      const { entries, next } = pageOf(page);
      const notes = entries.map(({ key, value }) => toNote(key.slice(prefix.length), value));
      return { notes, next: next.slice(prefix.length), position: BigInt(position) };
    },

    async update({ id, title, text, revision }, call) {
      checkContent({ title: title ?? "", text: text ?? "" });
      return retry(call, accountOf(call, "Notes"), async () => {
        const { value, version } = await noteOf(call, id);
        if (revision !== 0n && revision !== BigInt(value.revision)) {
          throw aborted(`The note was changed: its revision is ${value.revision}. Read it again`);
        }
        const note: StoredNote = {
          ...value,
          title: title ?? value.title,
          text: text ?? value.text,
          updated: Date.now(),
          revision: value.revision + 1,
        };
        return (await notesOf(call).compareAndSet(keyOf(call, id), version, note)) ? toNote(id, note) : undefined;
      });
    },

    async delete({ id }, call) {
      await count(call, -1, async () => ({ delete: keyOf(call, id), ifVersion: (await noteOf(call, id)).version }));
      return {};
    },

    async *events({ position }, call) {
      const prefix = `${accountOf(call, "Notes")}/`;
      const changes = notesOf(call).watch(prefix, position === undefined ? undefined : checkPosition(position));
      try {
        for await (const { key, value, revision } of changes) {
          const change = value === undefined ? Change.DELETED : value.revision === 1 ? Change.CREATED : Change.UPDATED;
          yield { change, note: toNote(key.slice(prefix.length), value), position: BigInt(revision) };
        }
      } catch (error) {
        if (error instanceof StatusError && error.code === Code.OUT_OF_RANGE) throw unknownPosition();
        throw error;
      }
    },
  }),
];

function notesOf(call: Call) {
  return call.store<StoredNote>("notes");
}

function keyOf(call: Call, id: string): string {
  return `${accountOf(call, "Notes")}/${id}`;
}

async function noteOf(call: Call, id: string): Promise<Entry<StoredNote>> {
  const account = accountOf(call, "Notes");
  checkName("id", id);
  const entry = await notesOf(call).getEntry(`${account}/${id}`);
  if (entry === undefined) throw notFound(`You have no note ${id}`);
  return entry;
}

function checkContent({ title, text }: { title: string; text: string }): void {
  checkText("title", title, TITLE);
  checkBytes("text", text, TEXT);
}

function checkPosition(position: bigint): number {
  if (position < 0n || position > BigInt(Number.MAX_SAFE_INTEGER)) throw unknownPosition();
  return Number(position);
}

function unknownPosition() {
  return outOfRange(
    "position: the changes after it are not kept any more: call List again, and pass the position that it gives",
  );
}

/**
 * Creates or deletes a note, and counts it in the same commit.
 * @param by 1 or -1
 * @param write called again after a lost race
 */
async function count(call: Call, by: 1 | -1, write: () => Promise<Write>): Promise<void> {
  const account = accountOf(call, "Notes");
  await retry(call, account, async () => {
    const entry = await call.store<Journal>("journals").getEntry(account);
    const notes = entry?.value.notes ?? 0;
    if (by > 0 && notes >= MAX_NOTES) throw resourceExhausted(`You have ${MAX_NOTES} notes: delete some first`);
    const condition = entry === undefined ? { ifAbsent: true as const } : { ifVersion: entry.version };
    const value: Journal = { notes: notes + by };
    const { committed } = await notesOf(call).commit([
      await write(),
      { set: account, value, collection: "journals", ...condition },
    ]);
    return committed ? true : undefined;
  });
}

/** @param note undefined for a deleted note */
function toNote(id: string, note: StoredNote | undefined): Note {
  if (note === undefined) return { id, title: "", text: "", created: undefined, updated: undefined, revision: 0n };
  const { title, text, created, updated, revision } = note;
  return { id, title, text, created: toTimestamp(created), updated: toTimestamp(updated), revision: BigInt(revision) };
}
