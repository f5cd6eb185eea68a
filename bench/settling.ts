/**
 * Measures how long a deletion waits for the guards of three authorities on one Postgres, compared
 * with one durable commit on the same server, and what pongs cost: `node --import=tsx
 * bench/settling.ts`. It starts its own Postgres, with fsync. The authorities and the scripted
 * guards share this process.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { EnrolmentsService } from "../src/gen/portico/auth/v1/enrolments.js";
import { Access, RulesService } from "../src/gen/portico/auth/v1/rules.js";
import { collectionOf } from "../src/store/collection.js";
import { openStore } from "../src/store/open.js";
import { type Open, open } from "../test/services/auth/open.js";
import { ScriptedGuard } from "../test/services/auth/scripted-guard.js";
import { noPostgres, type PostgresServer, startPostgres } from "../test/support/postgres.js";

const ROUNDS = Number(process.env.ROUNDS ?? 300);
const AUTHORITIES = 3;
const GUARDS = 10;
const MANY = 1_000;
/** The interval in which a guard pings with the default lease, in milliseconds. */
const INTERVAL = 1_000;

const ends: (() => unknown)[] = [];
// Resources that a test would end are ended by the program.
const ending = { teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test;

function show(name: string, times: number[]): void {
  times.sort((a, b) => a - b);
  const at = (share: number): string => `${times[Math.floor(share * times.length)]?.toFixed(2)} ms`.padStart(10);
  console.log(`${name.padEnd(64)} p50 ${at(0.5)}   p99 ${at(0.99)}   max ${at(0.9999)}`);
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

async function openAuthorities(server: PostgresServer, folder: string): Promise<Open[]> {
  const authorities: Open[] = [];
  for (let index = 0; index < AUTHORITIES; index++) {
    const store = await openStore(server.url(), "");
    ends.unshift(() => store.close());
    authorities.push(await open(ending, { store, folder: mkdtempSync(join(folder, "authority-")) }));
  }
  return authorities;
}

async function measureDeletions(authorities: readonly Open[], token: string): Promise<void> {
  const [first] = authorities as [Open];
  const rule = { id: "measured", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
  const times: number[] = [];
  for (let round = -20; round < ROUNDS; round++) {
    await first.call(RulesService.create, { rule }, token);
    const took = await timed(() => first.call(RulesService.delete, { id: rule.id }, token));
    if (round >= 0) times.push(took);
  }
  show(`deletion acknowledged, ${AUTHORITIES} authorities x ${GUARDS} guards`, times);
}

async function measurePongs(server: PostgresServer, authority: Open, enrolments: readonly string[]): Promise<void> {
  const guards = Array.from(
    { length: MANY - 2 * GUARDS },
    (_, index) =>
      new ScriptedGuard(ending, authority.channel, {
        enrolment: enrolments[index % enrolments.length]!,
        interval: INTERVAL,
      }),
  );
  const commits = async (): Promise<number> =>
    Number((await server.query("SELECT xact_commit AS n FROM pg_stat_database WHERE datname = 'portico'"))[0]!.n);
  // Between changes, authorities update only their lease records and the time.
  const renewals = async (): Promise<number> =>
    Number(
      (await server.query("SELECT n_tup_upd AS n FROM pg_stat_user_tables WHERE relname = 'entries'", "portico"))[0]!.n,
    );
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const seconds = 10;
  const [before, updates, cpu] = [await commits(), await renewals(), process.cpuUsage()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const used = process.cpuUsage(cpu);
  const rate = (n: number): string => (n / seconds).toFixed(1);
  console.log(
    `${guards.filter(({ decides }) => decides).length} of ${guards.length} guards of one authority have a lease; ` +
      `${rate((await renewals()) - updates)} renewals/s of all, ${rate((await commits()) - before)} transactions/s of all kinds, ` +
      `${((used.user + used.system) / seconds / 1e4).toFixed(0)} % of a core for authorities and guards`,
  );
}

if (noPostgres !== false) throw new Error(noPostgres);
const folder = mkdtempSync(join(tmpdir(), "portico-settling-"));
ends.push(() => rmSync(folder, { recursive: true }));
try {
  const server = await startPostgres(ending, { settings: { fsync: "on" } });
  const authorities = await openAuthorities(server, folder);
  const [first] = authorities as [Open];
  const token = await first.login();
  const enrolments: string[] = [];
  for (let index = 0; index < 5; index++) {
    enrolments.push((await first.call(EnrolmentsService.create, { name: "gateway", replace: false }, token)).secret);
  }
  const store = await openStore(server.url(), "");
  ends.unshift(() => store.close());
  for (const { channel } of authorities) {
    for (let guard = 0; guard < GUARDS; guard++) {
      new ScriptedGuard(ending, channel, { enrolment: enrolments[0]!, interval: INTERVAL });
    }
  }
  for (const when of ["before", "after"]) {
    const usage = collectionOf(store, "usage");
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++)
      times.push(await timed(() => usage.create(`${when} ${round}`, "x".repeat(300))));
    show(`one durable commit, ${when}`, times);
    if (when === "before") await measureDeletions(authorities, token);
  }
  await measurePongs(server, first, enrolments);
} finally {
  for (const end of ends) await end();
}
process.exit();
