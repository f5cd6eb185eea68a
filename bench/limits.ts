/**
 * What limits of calls cost. Each part prints a table.
 *
 *     node --expose-gc --import=tsx limits.ts guard|subjects|borrowers|lending|gateway
 *
 * `guard`: processor time of `Guard.count` for calls that no limit, one or three count, in turn.
 * `subjects`: memory and time of a lender for a million subjects of one limit.
 * `borrowers`: a lender's time where up to a thousand guards borrow of one subject.
 * `lending`: an authority's time where 200 guards borrow of a million subjects over HTTP/2.
 * `gateway`: calls through `portico server`, by wrk, with and without a limit in turn.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Test } from "tap";
import { Lender } from "../services/auth/limits/lender.js";
import type { OpenGuard } from "../src/access/guard.js";
import type { Admission } from "../src/call/admission.js";
import {
  type BorrowRequest,
  type BorrowResponse,
  Budget,
  LendingService,
  type Loan,
  type Need,
} from "../src/gen/portico/auth/v1/lending.js";
import { type Limit, Per } from "../src/gen/portico/auth/v1/limits.js";
import { type CallStream, stream } from "../src/rpc/client.js";
import { Http2Channel } from "../src/rpc/http2/channel.js";
import { ENDPOINT, limitOf, openLimited } from "../test/limits/guards.js";
import { silent } from "../test/services/auth/open.js";
import { administrator, call, start } from "../test/support/process.js";
import { freePort, processorTime } from "./processes.js";

const RATE = { rate: "1000000/s", burst: 1_000_000n };
/** Each batch is counted in one turn, as by a gateway with many calls at once. */
const BATCH = 2_000;
const BATCHES_OF_ROUND = 40;
const ROUNDS = 15;

const IPV4 = "192.0.2.1";
const CASES: readonly {
  readonly name: string;
  readonly limits: readonly Partial<Limit>[];
  readonly address?: string;
}[] = [
  { name: "a namespace without limits", limits: [] },
  { name: "ten limits, none for the endpoint", limits: Array(10).fill({ ...RATE, resource: "service:other:*" }) },
  { name: "one limit, for everyone", limits: [RATE] },
  { name: "one limit, for each address", limits: [{ ...RATE, per: Per.ADDRESS }] },
  { name: "the same, IPv6", limits: [{ ...RATE, per: Per.ADDRESS }], address: "2001:db8:1:2:3:4:5:6" },
  { name: "three limits", limits: [RATE, { ...RATE, per: Per.ADDRESS }, { ...RATE, per: Per.NAMESPACE }] },
];

/** Stands in for a test. */
class Teardowns {
  readonly #all: (() => unknown)[] = [];

  teardown(act: () => unknown): void {
    this.#all.push(act);
  }

  async run(): Promise<void> {
    for (const act of this.#all.toReversed()) await act();
  }
}

async function measureGuard(): Promise<void> {
  const teardowns = new Teardowns();
  const guards: OpenGuard[] = [];
  for (const { limits } of CASES) {
    const { guard, create } = await openLimited(teardowns as unknown as Test);
    for (const [index, limit] of limits.entries()) await create({ id: `limit-${index}`, ...limit });
    guards.push(await guard());
  }
  const samples: number[][] = CASES.map(() => []);
  let elsewhere = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, { address = IPV4 }] of CASES.entries()) {
      const measured = await roundOf(guards[index]!, address);
      // The first rounds compile.
      if (round >= 3) samples[index]!.push(measured.each);
      if (round >= 3) elsewhere += measured.waited;
    }
  }
  console.log("| limits | µs a call: median, quartiles |\n|---|---|");
  for (const [index, { name }] of CASES.entries()) console.log(`| ${name} | ${spread(samples[index]!)} |`);
  console.log(`${elsewhere} calls waited or were refused`);
  await teardowns.run();
}

async function roundOf(guard: OpenGuard, address: string): Promise<{ each: number; waited: number }> {
  const credentials = { token: undefined, namespace: undefined, tokenRequired: false };
  const admission: Admission = await guard.admit(credentials, ENDPOINT);
  let waited = 0;
  let micros = 0;
  for (let batch = -5; batch < BATCHES_OF_ROUND; batch++) {
    const before = process.cpuUsage();
    let late = 0;
    for (let count = 0; count < BATCH; count++) {
      try {
        const counted = guard.count(admission, { address, asserted: false });
        if (counted instanceof Promise) {
          late++;
          counted.then(
            (call) => call.end(),
            () => undefined,
          );
        } else counted?.end();
      } catch {
        late++;
      }
    }
    const { user, system } = process.cpuUsage(before);
    // In the first batches the demand becomes known.
    if (batch >= 0) {
      micros += user + system;
      waited += late;
    }
    await sleep(5);
  }
  return { each: micros / (BATCH * BATCHES_OF_ROUND), waited };
}

const MIB = 2 ** 20;
const SUBJECTS = 1_000_000;

/** A lender of one limit, with the clock of this process. */
function openLender(limit: Partial<Limit>): { lender: Lender; need(more: Partial<Need>): Need } {
  const revised = { limit: limitOf({ id: "limit", ...limit }), revision: 1n };
  const state = {
    namespaces: new Map([["default", {}]]),
    limits: { of: () => [], lenders: { ids: [], revision: 0n } },
  };
  const journal = { state, now: Date.now(), follow: () => () => undefined };
  const lender = new Lender({
    journal: journal as never,
    settled: async () => undefined,
    store: {} as never,
    ...{ id: "", maxCallMs: 90_000, log: silent, now: () => performance.now() },
  });
  // A new limit, so that its buckets are full.
  lender.changed(1, [{ change: { $case: "limitSet", value: { namespace: "default", limit: revised } } }] as never);
  const need = { namespace: "default", limit: "limit", revision: 1n, budget: Budget.RATE, subject: "" };
  const none = { kept: 0n, returned: 0n, waiting: 0n, soon: 0n, refused: 0n };
  return { lender, need: (more) => ({ ...need, ...none, ...more }) };
}

async function measureSubjects(): Promise<void> {
  // A rate so small that no bucket is full again during the measurement.
  const { lender, need } = openLender({ per: Per.ADDRESS, rate: "1/h", burst: 10n });
  await sleep(1_200);
  // As a decoder makes them: a text that is put together takes more memory.
  const scratch = Buffer.alloc(16);
  const subjects = (index: number) =>
    scratch.latin1Slice(0, scratch.write(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`));
  gc?.();
  const guard = { enrolment: undefined, guard: "/gateway-1" };
  const before = process.memoryUsage();
  const times: number[] = [];
  for (let index = 0; index < SUBJECTS; ) {
    const began = process.cpuUsage();
    for (const end = index + 10_000; index < end; index++) {
      lender.lend(guard, 0n, need({ subject: subjects(index), waiting: 1n }));
    }
    const { user, system } = process.cpuUsage(began);
    times.push((user + system) / 10_000);
    await sleep(0);
  }
  gc?.();
  const after = process.memoryUsage();
  // Until each subject was looked at.
  const lag = await longestTurn(14_000);
  gc?.();
  const later = process.memoryUsage();
  const again: number[] = [];
  for (let index = 0; index < SUBJECTS / 10; ) {
    const began = process.cpuUsage();
    for (const end = index + 10_000; index < end; index++) {
      const subject = subjects((index * 7_919) % SUBJECTS);
      lender.lend(guard, 0n, need({ subject, waiting: 1n }));
    }
    const { user, system } = process.cpuUsage(began);
    again.push((user + system) / 10_000);
    await sleep(0);
  }
  console.log(
    `resident memory: +${((after.rss - before.rss) / MIB).toFixed(0)} MiB, then +${((later.rss - before.rss) / MIB).toFixed(0)} MiB`,
  );
  console.log(`heap: +${((after.heapUsed - before.heapUsed) / MIB).toFixed(0)} MiB; once loans have ended \
+${((later.heapUsed - before.heapUsed) / MIB).toFixed(0)} MiB`);
  console.log(`µs of a new subject: ${spread(times)}; of a known one: ${spread(again)}`);
  console.log(
    `heap with free space: ${(later.heapTotal / MIB).toFixed(0)} MiB, was ${(before.heapTotal / MIB).toFixed(0)}`,
  );
  console.log(`longest turn of forgetting: ${lag.toFixed(1)} ms of processor time`);
  lender.close();
}

/** Processor time of the turns in which subjects are forgotten. */
async function longestTurn(ms: number): Promise<number> {
  let longest = 0;
  let before = process.cpuUsage();
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await sleep(1);
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.cpuUsage();
  }
  return longest;
}

async function measureBorrowers(): Promise<void> {
  console.log("| guards | µs of a need: median, quartiles; enough tokens | too few |\n|---:|---|---|");
  for (const guards of [1, 10, 100, 1_000]) {
    const borrowers = Array.from({ length: guards }, (_, index) => ({
      enrolment: "gateway",
      guard: `gateway/${index}`,
    }));
    const cells: string[] = [];
    for (const rate of ["1000000/s", "100/s"]) {
      const { lender, need } = openLender({ rate, burst: BigInt(rate.split("/")[0]!) });
      await sleep(1_200);
      const times: number[] = [];
      for (let round = 0; round < 45; round++) {
        const began = process.cpuUsage();
        const asks = 2_000;
        for (let ask = 0; ask < asks; ask++) {
          lender.lend(borrowers[ask % guards]!, 0n, need({ waiting: 1n, soon: 5n }));
        }
        const { user, system } = process.cpuUsage(began);
        if (round >= 15) times.push((user + system) / asks);
        await sleep(20);
      }
      lender.close();
      cells.push(spread(times));
    }
    console.log(`| ${[guards, ...cells].join(" | ")} |`);
  }
}

const GUARDS = 200;

/** Each stream asks again once it has its response, for the first time of most subjects. */
async function measureLending(): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), "portico-bench-"));
  const port = await freePort();
  const server = await start(["server"], { PORTICO_DATA: data, PORTICO_GRPC: `127.0.0.1:${port}` });
  const channels = Array.from({ length: GUARDS }, () => new Http2Channel({ host: "127.0.0.1", port }));
  try {
    const http = server.address("HTTP");
    const admin = await administrator(http, data);
    const { body } = await call(`${http}/auth/enrolments.create`, { name: "gateway" }, admin);
    const limit = { id: "limit", per: "ADDRESS", rate: "10/s", burst: "10" };
    await call(`${http}/auth/limits.create`, { limit }, admin);
    const metadata = [["authorization", `Bearer ${(body as { secret: string }).secret}`]] as const;
    const borrowers = channels.map((channel, index) => new StreamOfNeeds(channel, metadata, `guard-${index}`));
    const revision = await borrowers[0]!.findRevision();
    console.log("| needs in a request | µs of the authority for a need |\n|---:|---|");
    for (const needs of [1, 10, 100]) {
      const times: number[] = [];
      for (let round = 0; round < 12; round++) {
        const before = processorTime(server.child.pid!);
        const end = performance.now() + 1_000;
        const lent = await Promise.all(borrowers.map((borrower) => borrower.borrow(revision, needs, end)));
        const used = processorTime(server.child.pid!) - before;
        if (round >= 3) times.push(used / lent.reduce((sum, one) => sum + one, 0));
      }
      console.log(`| ${needs} | ${spread(times)} |`);
    }
  } finally {
    for (const channel of channels) channel.close();
    await server.stop();
    rmSync(data, { recursive: true });
  }
}

/** Borrows for random addresses, on one stream. */
class StreamOfNeeds {
  readonly #call: CallStream<BorrowRequest, BorrowResponse>;
  readonly #responses: AsyncIterator<BorrowResponse>;
  readonly #guard: string;

  constructor(channel: Http2Channel, metadata: readonly (readonly [string, string])[], guard: string) {
    this.#call = stream(channel, LendingService.borrow, { metadata });
    this.#responses = this.#call.responses[Symbol.asyncIterator]();
    this.#guard = guard;
  }

  /** The revision at which the limit was created. */
  async findRevision(): Promise<bigint> {
    await this.#responses.next();
    for (let revision = 1n; ; revision++) {
      const [loan] = await this.#ask(revision, 1);
      if (loan?.other === false) return revision;
      if (revision > 1_000n) throw new Error("the authority lends at no revision");
    }
  }

  /** @returns for how many needs it got a loan until then */
  async borrow(revision: bigint, needs: number, end: number): Promise<number> {
    let lent = 0;
    while (performance.now() < end) lent += (await this.#ask(revision, needs)).length;
    return lent;
  }

  async #ask(revision: bigint, count: number): Promise<readonly Loan[]> {
    const need = { namespace: "default", limit: "limit", revision, budget: Budget.RATE };
    const none = { kept: 0n, returned: 0n, soon: 0n, refused: 0n };
    const needs = Array.from({ length: count }, () => {
      const at = Math.floor(Math.random() * SUBJECTS);
      const subject = `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
      return { ...need, ...none, subject, waiting: 1n };
    });
    this.#call.send({ appointment: 0n, needs, guard: this.#guard });
    for (;;) {
      const { value, done } = await this.#responses.next();
      if (done === true) throw new Error("the stream has ended");
      const { message } = value as BorrowResponse;
      if (message?.$case === "loans") return message.value.loans;
    }
  }
}

const TURNS = 10;

async function measureGateway(): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), "portico-bench-"));
  const server = await start(["server"], { PORTICO_DATA: data });
  try {
    const http = server.address("HTTP");
    const admin = await administrator(http, data);
    const script = join(data, "call.lua");
    const headers = { ...admin, "content-type": "application/json" };
    const lines = Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
    writeFileSync(script, ['wrk.method = "POST"', `wrk.body = '{"name":"Ada"}'`, ...lines].join("\n"));
    const limit = { id: "limit", per: "EVERYONE", ...RATE, burst: `${RATE.burst}` };
    const samples = {
      without: { rate: [] as number[], each: [] as number[] },
      with: { rate: [] as number[], each: [] as number[] },
    };
    for (let turn = 0; turn <= TURNS; turn++) {
      for (const which of ["without", "with"] as const) {
        if (which === "with") await call(`${http}/auth/limits.create`, { limit }, admin);
        const before = processorTime(server.child.pid!);
        const parameters = ["-t1", "-c16", "-d3s", "-s", script, `${http}/v1/helloworld/call`];
        const { stdout } = await promisify(execFile)("wrk", parameters);
        const used = processorTime(server.child.pid!) - before;
        if (which === "with") await call(`${http}/auth/limits.delete`, { id: limit.id }, admin);
        if (stdout.includes("Non-2xx")) throw new Error(stdout);
        const calls = Number(/(\d+) requests in/.exec(stdout)?.[1]);
        // The first turn compiles.
        if (turn > 0) samples[which].each.push(used / calls);
        if (turn > 0) samples[which].rate.push(calls / 3);
      }
    }
    for (const [which, { rate, each }] of Object.entries(samples)) {
      console.log(`${which} a limit: µs a call ${spread(each)}; calls a second ${spread(rate)}`);
    }
    const ratio = (of: "rate" | "each") =>
      spread(samples.with[of].map((one, index) => one / samples.without[of][index]!));
    console.log(`with / without: µs a call ${ratio("each")}; calls a second ${ratio("rate")}`);
  } finally {
    await server.stop();
    rmSync(data, { recursive: true });
  }
}

function spread(samples: readonly number[]): string {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): string => sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(2);
  return `${at(0.5)}, ${at(0.25)} to ${at(0.75)}`;
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  guard: measureGuard,
  subjects: measureSubjects,
  borrowers: measureBorrowers,
  lending: measureLending,
  gateway: measureGateway,
};
const part = PARTS[process.argv[2] ?? ""];
if (part === undefined) throw new Error(`the part must be one of ${Object.keys(PARTS).join(", ")}`);
await part();
