/** The connection to a file of SQLite by which everything is written: one write at a time, each a statement or a transaction. */
import { setTimeout as sleep } from "node:timers/promises";
import type KeyvSqlite from "@keyv/sqlite";

export type Query = KeyvSqlite["query"];

/** The connection of all writes, which makes one at a time. */
export interface Writer {
  /** Runs a statement, which is a transaction. */
  readonly write: Query;
  /** Runs the statements of `act` in one transaction, which holds SQLite's lock from its beginning. It is made where `act` says so. */
  transact(act: (query: Query) => Promise<boolean>): Promise<boolean>;
}

/** How soon a write is tried again while another connection has SQLite's lock, in milliseconds. */
const RETRY_MS = 5;

/**
 * What writes, as long as another connection has SQLite's lock; at most half of the deadline, so that the reason is told. SQLite
 * itself would wait in a thread, and of Node's few threads one must be left for who has the lock.
 */
async function whenFree<T>(deadline: number, act: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + deadline / 2; ; ) {
    try {
      return await act();
    } catch (error) {
      // Nothing was done: a statement takes the lock before it writes, and a transaction when it begins.
      if ((error as { code?: string }).code !== "SQLITE_BUSY" || performance.now() >= end) throw error;
    }
    await sleep(RETRY_MS);
  }
}

/** @param checkFile throws where what is written would be lost */
export function writerOf(writer: KeyvSqlite, checkFile: () => void, deadline: number): Writer {
  const query: Query = (...statement) => writer.query(...statement);
  const inTurn = oneAtATime(deadline);
  const keptInTurn = <T>(act: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      checkFile();
      const result = await act();
      checkFile();
      return result;
    });
  return {
    write: (...statement) => keptInTurn(() => whenFree(deadline, () => query(...statement))),
    transact: (act) =>
      keptInTurn(async () => {
        await whenFree(deadline, () => query("BEGIN IMMEDIATE"));
        try {
          const isMade = await act(query);
          await query(isMade ? "COMMIT" : "ROLLBACK");
          return isMade;
        } catch (error) {
          // Where no transaction is open, as after a full disk, this fails too.
          await query("ROLLBACK").catch(() => undefined);
          throw error;
        }
      }),
  };
}

/** Does each thing when those before it have ended, unless its deadline has passed by then. */
function oneAtATime(deadline: number): <T>(act: () => Promise<T>) => Promise<T> {
  let turn: Promise<unknown> = Promise.resolve();
  return (act) => {
    const latest = performance.now() + deadline;
    const result = turn.then(() => {
      if (performance.now() > latest) throw new Error("the writes before it took too long");
      return act();
    });
    turn = result.catch(() => undefined);
    return result;
  };
}
