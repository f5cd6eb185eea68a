/**
 * Stores the notes of an account, and streams their changes. Each change is stored as an entry too.
 * Its key has the next position in the account's list of changes. It is committed together with the
 * note, so a stream reports exactly the changes that were made.
 */
import { monotonicFactory } from "ulid";
import { Change, type Event, type Note, NotesService } from "../../src/gen/notes/notes.js";
import {
  aborted,
  type Call,
  type Entry,
  notFound,
  outOfRange,
  part,
  resourceExhausted,
  toTimestamp,
  type Write,
} from "../../src/kit/index.js";
import { accountOf, checkBytes, checkName, checkNumber, checkText } from "../patterns/checks.js";
import { Notifier } from "../patterns/notifier.js";
import { pageOf } from "../patterns/pages.js";
import { retry } from "../patterns/retry.js";

const TITLE = { min: 0, max: 200 };
const TEXT = { min: 0, max: 65_536 };
const LIMIT = { min: 1, max: 100, absent: 20 };
/** The maximum number of notes of an account. */
const MAX_NOTES = 10_000;
/** The maximum number of stored changes of an account, and how long they are stored. */
const MAX_CHANGES = 1000;
const CHANGE_TTL_MS = 86_400_000;
/** The number of changes that are read at once. */
const MAX_EVENTS = 20;
/** The number of digits of a position in a key, so that keys sort by position. */
const DIGITS = 16;

const ulid = monotonicFactory();
const notifier = new Notifier();

/** A note, stored under its account and ID. Times are in milliseconds since 1970. */
interface StoredNote {
  readonly title: string;
  readonly text: string;
  readonly created: number;
  readonly updated: number;
  readonly revision: number;
}

/** The state of an account's notes, stored under its name. */
interface Journal {
  /** The position of the last change. */
  readonly position: number;
  readonly notes: number;
}

/** A change, stored under its account and position. */
interface StoredChange {
  readonly change: Change;
  readonly id: string;
}

/** The service `notes`. */
export const parts = [
  part(NotesService, {
    async create({ title, text }, call) {
      checkContent({ title, text });
      const now = Date.now();
      const note: StoredNote = { title, text, created: now, updated: now, revision: 1 };
      const id = ulid(now);
      await change(call, id, Change.CREATED, async () => [{ set: keyOf(call, id), value: note, ifAbsent: true }]);
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
      const { position } = await journalOf(call);
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
      let note: StoredNote | undefined;
      await change(call, id, Change.UPDATED, async () => {
        const { value, version } = await noteOf(call, id);
        if (revision !== 0n && revision !== BigInt(value.revision)) {
          throw aborted(`The note was changed: its revision is ${value.revision}. Read it again`);
        }
        note = {
          ...value,
          title: title ?? value.title,
          text: text ?? value.text,
          updated: Date.now(),
          revision: value.revision + 1,
        };
        return [{ set: keyOf(call, id), value: note, ifVersion: version }];
      });
      return toNote(id, note!);
    },

    async delete({ id }, call) {
      await change(call, id, Change.DELETED, async () => {
        const { version } = await noteOf(call, id);
        return [{ delete: keyOf(call, id), ifVersion: version }];
      });
      return {};
    },

    async *events({ position }, call) {
      const account = accountOf(call, "Notes");
      const { sleep, end } = notifier.listen(notifierOf(call), call.signal);
      try {
        let last = position === undefined ? (await journalOf(call)).position : checkPosition(position);
        while (!call.signal.aborted) {
          const events = await eventsAfter(call, account, last);
          yield* events;
          if (events.length === 0) await sleep();
          else last = Number(events.at(-1)!.position);
        }
      } finally {
        end();
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

async function journalOf(call: Call): Promise<Journal> {
  return (await call.store<Journal>("journals").get(accountOf(call, "Notes"))) ?? { position: 0, notes: 0 };
}

/** The notifier's key for changes of the caller's notes. */
function notifierOf(call: Call): string {
  return `${call.namespace}/${accountOf(call, "Notes")}`;
}

function checkContent({ title, text }: { title: string; text: string }): void {
  checkText("title", title, TITLE);
  checkBytes("text", text, TEXT);
}

function checkPosition(position: bigint): number {
  if (position < 0n || position > BigInt(Number.MAX_SAFE_INTEGER))
    throw outOfRange("position: is none that List or Events gave");
  return Number(position);
}

/**
 * Commits writes to a note together with the change at the next position.
 * @param writes called again after a lost race
 */
async function change(call: Call, id: string, change: Change, writes: () => Promise<Write[]>): Promise<void> {
  const account = accountOf(call, "Notes");
  const grows = change === Change.CREATED ? 1 : change === Change.DELETED ? -1 : 0;
  await retry(call, account, async () => {
    const entry = await call.store<Journal>("journals").getEntry(account);
    const old: Journal = entry?.value ?? { position: 0, notes: 0 };
    if (grows > 0 && old.notes >= MAX_NOTES) throw resourceExhausted(`You have ${MAX_NOTES} notes: delete some first`);
    const journal: Journal = { position: old.position + 1, notes: old.notes + grows };
    const condition = entry === undefined ? { ifAbsent: true as const } : { ifVersion: entry.version };
    const made: StoredChange = { change, id };
    const { committed } = await notesOf(call).commit([
      ...(await writes()),
      { set: account, value: journal, collection: "journals", ...condition },
      { set: changeKey(account, journal.position), value: made, ttlMs: CHANGE_TTL_MS, collection: "changes" },
      { delete: changeKey(account, journal.position - MAX_CHANGES), collection: "changes" },
    ]);
    return committed ? true : undefined;
  });
  notifier.notify(notifierOf(call));
}

function changeKey(account: string, position: number): string {
  return `${account}/${`${Math.max(0, position)}`.padStart(DIGITS, "0")}`;
}

/** The next events after a position; none if nothing has changed since. */
async function eventsAfter(call: Call, account: string, position: number): Promise<Event[]> {
  const latest = (await journalOf(call)).position;
  if (latest === position) return [];
  const prefix = `${account}/`;
  const after = changeKey(account, position);
  const { entries } = await call.store<StoredChange>("changes").range({ prefix, after, limit: MAX_EVENTS });
  if (latest < position || entries[0]?.key !== changeKey(account, position + 1)) {
    throw outOfRange(
      "position: the changes after it are not kept any more: call List again, and pass the position that it gives",
    );
  }
  const notes = await notesOf(call).getMany(entries.map(({ value }) => prefix + value.id));
  return entries.map(({ key, value }, index) => ({
    change: value.change,
    note: toNote(value.id, notes[index]),
    position: BigInt(key.slice(prefix.length)),
  }));
}

/** @param note undefined for a deleted note */
function toNote(id: string, note: StoredNote | undefined): Note {
  if (note === undefined) return { id, title: "", text: "", created: undefined, updated: undefined, revision: 0n };
  const { title, text, created, updated, revision } = note;
  return { id, title, text, created: toTimestamp(created), updated: toTimestamp(updated), revision: BigInt(revision) };
}
