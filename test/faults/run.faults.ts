/**
 * Tries every fault on real processes, with all safeguards and without each of them. Writes the
 * tables of docs/faults.md.
 *
 *     npm run test:faults
 *     FAULTS=revocation npm run test:faults
 *     FAULTS='the clock' npm run test:faults
 *
 * FAULTS is a part of the page (revocation, limits, availability, machines, sign-ins, hostile,
 * overload, upstream), or words in the titles of faults of the first four parts. With words, the
 * page is not written. SEED is the seed of the faults during sign-ins, and SECONDS their time.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { resolve } from "node:path";
import t, { type Test } from "tap";
import { startCluster } from "../machines/cluster.js";
import { MACHINE_FAULTS, MACHINE_HEAD, type MachineFault, machineRow, suffer } from "../machines/faults.js";
import { disturb, SIGN_IN_HEAD, SIGN_IN_SAFEGUARDS, signInRow } from "../machines/sign-in-faults.js";
import type { SignIns } from "../machines/sign-ins.js";
import { noPostgres } from "../support/postgres.js";
import { AVAILABILITY } from "./availability.js";
import { Cluster } from "./cluster.js";
import type { Fault, Figures } from "./fault.js";
import { LATE } from "./late.js";
import { LIMITS } from "./limits.js";
import { noNamespaces, openNetwork } from "./network.js";
import { PAST } from "./past.js";
import { REVOCATION } from "./revocation.js";
import { buildWithout } from "./variant.js";

const PAGE = "docs/faults.md";
const wanted = process.env.FAULTS;
const builds = new Map<string, Promise<string>>();
const skipped: string[] = [];

async function tryOn(program: string, fault: Fault, folder: string): Promise<Figures> {
  const network = openNetwork();
  const cluster = new Cluster({ program, network, folder, lease: fault.lease });
  try {
    return await fault.run(cluster);
  } finally {
    await cluster.stop();
    network.close();
  }
}

/**
 * Tries the faults one after the other.
 * @returns the rows of their table
 */
async function tryAll(faults: readonly Fault[]): Promise<string[]> {
  const rows: string[] = [];
  for (const fault of faults) {
    const { title, safeguards, mayFail = 0 } = fault;
    const reason = fault.skip?.();
    if (reason !== undefined) skipped.push(`${title}: ${reason}`);
    await t.test(title, { skip: reason ?? false }, async (t) => {
      const figures = await tryOn(resolve("dist/portico.js"), fault, t.testdir());
      rows.push(row(fault, figures));
      process.stderr.write(`note: ${JSON.stringify({ title, ...figures })}\n`);
      t.equal(figures.wrongful, 0, "no call is granted wrongly");
      t.ok(figures.failed <= mayFail, `${figures.failed} calls fail, at most ${mayFail} may`);
      for (const safeguard of safeguards) {
        const { name } = safeguard;
        await t.test(`without its safeguard, that ${name}`, async (t) => {
          if (!builds.has(name)) builds.set(name, buildWithout(safeguard, `${builds.size}`));
          const { wrongful } = await tryOn(await builds.get(name)!, fault, t.testdir());
          process.stderr.write(`note: ${JSON.stringify({ without: name, wrongful })}\n`);
          t.ok(wrongful > 0, `${wrongful} calls are granted wrongly`);
          rows.push(`| – *without: ${name}* | | **${wrongful}** | | | | | |`);
        });
      }
    });
  }
  return rows;
}

function row({ title, lease }: Fault, figures: Figures): string {
  const { calls, failed, wrongful, acknowledged, lastGrant, recovered, gap } = figures;
  const times = [acknowledged, lastGrant, gap, recovered].map((ms) => (ms === undefined ? "" : inSeconds(ms)));
  return `| ${[title, lease, wrongful, `${failed} of ${calls.toLocaleString("en")}`, ...times].join(" | ")} |`;
}

function inSeconds(ms: number): string {
  return ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

const HEAD = [
  "| fault | lease | granted wrongly | failed calls | acknowledged after | last grant after the fault | longest gap | answered again after |",
  "|---|---|---|---|---|---|---|---|",
];

/** Replaces the text between the two comments that name a part of the page. */
function write(page: string, part: string, lines: readonly string[]): string {
  const [begin, end] = [`<!-- ${part} -->`, `<!-- end of ${part} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${PAGE} has no part ${part}`);
  return `${page.slice(0, from + begin.length)}\n${lines.join("\n")}\n${page.slice(to)}`;
}

const ON_REVOCATION = [...REVOCATION, ...LATE, ...PAST];
const PARTS: Record<string, () => Promise<string[]>> = {
  revocation: async () => [...HEAD, ...(await tryAll(ON_REVOCATION))],
  limits: async () => [...HEAD, ...(await tryAll(LIMITS))],
  availability: async () => [...HEAD, ...(await tryAll(AVAILABILITY))],
  machines: async () => [...MACHINE_HEAD, ...(await tryOnMachines(MACHINE_FAULTS))],
  "sign-ins": async () => [...SIGN_IN_HEAD, ...(await trySignIns())],
  hostile: async () => [await tableOf("test/faults/hostile.ts")],
  overload: async () => [await tableOf("test/faults/overload.ts")],
  upstream: async () => [await tableOf("test/faults/overload-upstream.ts")],
};

/** Tries the faults between machines one after the other, on one cluster. */
async function tryOnMachines(faults: readonly MachineFault[]): Promise<string[]> {
  const rows: string[] = [];
  await t.test("a cluster on Postgres", { skip: noPostgres }, async (t) => {
    const cluster = await startCluster(t, t.testdir());
    for (const fault of faults) {
      const reason = fault.needsNamespaces === undefined ? undefined : cluster.network.whyNotCut;
      if (reason !== undefined) skipped.push(`${fault.title}: ${reason}`);
      await t.test(fault.title, { skip: reason ?? false }, async (t) => {
        const outcome = await suffer(cluster, fault);
        rows.push(machineRow(fault, outcome));
        console.error(rows.at(-1));
        t.equal(outcome.seen.wrongful, 0, "no call is granted wrongly");
        t.ok(outcome.failed <= (fault.mayFail ?? 0), `${outcome.failed} calls fail`);
      });
    }
  });
  if (noPostgres) skipped.push(`faults between machines: ${noPostgres}`);
  return rows;
}

/** Signs in on a cluster while faults follow each other, with all safeguards and without each. */
async function trySignIns(): Promise<string[]> {
  const rows: string[] = [];
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e6));
  const seconds = Number(process.env.SECONDS ?? 60);
  const tryWith = (title: string, program: string | undefined, check: (t: Test, seen: SignIns["seen"]) => void) =>
    t.test(title, { skip: noPostgres || noNamespaces() || false }, async (t) => {
      const cluster = await startCluster(t, t.testdir(), program);
      const most = program === undefined ? seconds : Math.min(seconds, 40);
      const { seen, faults } = await disturb(t, cluster, { seconds: most, seed });
      process.stderr.write(`note: ${JSON.stringify({ title, seed, faults, ...seen })}\n`);
      check(t, seen);
    });
  await tryWith("sign-ins while faults follow each other", undefined, (t, seen) => {
    for (const [kind, counts] of Object.entries(seen)) {
      rows.push(signInRow(kind, counts));
      t.equal(counts.wrongful, 0, `${kind}: nothing is granted after its end`);
      t.equal(counts.twice, 0, `${kind}: nothing gives tokens twice`);
      t.ok(counts.ended > 0, `${kind}: ${counts.ended} ended`);
    }
  });
  for (const { wrong, ...safeguard } of SIGN_IN_SAFEGUARDS) {
    const program = await buildWithout(safeguard, `sign-ins-${wrong}`);
    await tryWith(`without the safeguard, that ${safeguard.name}`, program, (t, seen) => {
      const total = Object.values(seen).reduce((sum, counts) => sum + counts[wrong], 0);
      t.ok(total > 0, `${wrong}: ${total}`);
      rows.push(`| – *without: ${safeguard.name}* | | | ${bold("twice")} | | | ${bold("wrongful")} | |`);
      function bold(count: typeof wrong): string {
        return count === wrong ? `**${total}**` : "";
      }
    });
  }
  return rows;
}

/** Returns the table that a script prints. */
async function tableOf(script: string): Promise<string> {
  const args = ["--import=tsx", script];
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.equal(status, 0, `${script} has its figures`);
  return stdout.trim();
}

/** Tries the faults with these words in their titles. */
async function tryTitled(words: string): Promise<void> {
  const hasWords = ({ title }: { readonly title: string }): boolean => title.includes(words);
  const onProcesses = [...ON_REVOCATION, ...LIMITS, ...AVAILABILITY].filter(hasWords);
  const onMachines = MACHINE_FAULTS.filter(hasWords);
  if (onProcesses.length + onMachines.length === 0) {
    throw new Error(`FAULTS: "${words}" is no part (${Object.keys(PARTS).join(", ")}), and in the title of no fault`);
  }
  await tryAll(onProcesses);
  if (onMachines.length > 0) await tryOnMachines(onMachines);
}

if (wanted !== undefined && !Object.hasOwn(PARTS, wanted)) await tryTitled(wanted);
else {
  for (const [part, make] of Object.entries(PARTS)) {
    if (wanted !== undefined && wanted !== part) continue;
    const lines = await make();
    writeFileSync(PAGE, write(readFileSync(PAGE, "utf8"), part, lines));
  }
  const network = openNetwork();
  network.close();
  const where = [
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model}), ${new Date().toISOString().slice(0, 10)}.`,
    `The link was cut by: ${network.kind}.`,
    skipped.length === 0 ? "Nothing was skipped." : `Skipped: ${skipped.join("; ")}.`,
  ];
  writeFileSync(PAGE, write(readFileSync(PAGE, "utf8"), "machine", where));
}
