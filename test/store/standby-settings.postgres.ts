/**
 * No setting of the role or the server lets a store on Postgres acknowledge a write that the
 * synchronous standby does not have.
 */

import t from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { noPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import { errorOf, openOn, replicated } from "./open-postgres.js";

const NOT_KNOWN = /; it is not known whether the write happened$/;
const WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

t.test("a role whose settings say not to wait for the disk waits anyway", { skip: noPostgres }, async (t) => {
  const { primary, standby } = await replicated(t);
  for (const setting of [
    "synchronous_commit = off",
    "statement_timeout = 100",
    "default_transaction_isolation = serializable",
  ]) {
    await primary.query(`ALTER ROLE portico SET ${setting}`);
  }
  const log = collectionOf(await openOn(t, primary, { timeoutMs: 2_000 }), "log");
  await log.create("1", "x");
  standby.pause();
  t.match((await errorOf(log.replace("1", "y")))?.message, NOT_KNOWN);
  standby.resume();
});

t.test(
  "an interrupted wait for the standby is noticed, although the role wants no warnings",
  { skip: noPostgres },
  async (t) => {
    const { primary, standby } = await replicated(t);
    await primary.query("ALTER ROLE portico SET client_min_messages = error");
    const log = collectionOf(await openOn(t, primary), "log");
    await log.create("1", "x");
    standby.pause();
    const write = errorOf(log.replace("1", "y"));
    await until(async () => (await primary.query(WAITING)).length === 1);
    await primary.query(`SELECT pg_cancel_backend(pid) FROM (${WAITING}) AS waiting`);
    t.match((await write)?.message, NOT_KNOWN);
    standby.resume();
  },
);

t.test(
  "a server that is told not to wait for standbys any more is not obeyed by open connections",
  { skip: noPostgres },
  async (t) => {
    const { primary, standby } = await replicated(t);
    const log = collectionOf(await openOn(t, primary, { timeoutMs: 2_000 }), "log");
    await log.create("1", "x");
    await primary.set({ synchronous_commit: "off" });
    standby.pause();
    t.match((await errorOf(log.replace("1", "y")))?.message, NOT_KNOWN);
    standby.resume();
  },
);
