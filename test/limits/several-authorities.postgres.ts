// Three authorities on one database lend the tokens of one limit, each for its own subjects.
// However they are killed, stopped, paused and started, the guards together never count more than
// burst + rate × t for a subject, and only the subjects of an authority that is gone notice it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { LendingService } from "../../src/gen/portico/auth/v1/lending.js";
import { LimitsService, Per } from "../../src/gen/portico/auth/v1/limits.js";
import { budgetKey, lenderOf } from "../../src/limits/lenders.js";
import { stream, unary } from "../../src/rpc/client.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { FULL } from "../support/full.js";
import { ADMIN_PASSWORD } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { type Portico, start } from "../support/process.js";
import { until } from "../support/until.js";
import { excess, type GuardCall, GuardProcess } from "./bound.js";
import { limitOf } from "./guards.js";

/** The burst is more than what comes while lenders change, so that a new one must not be full. */
const RATE = { perSecond: 20, burst: 120 };
/** More than twice the rate for each subject. */
const PER_GUARD = 135;
const GUARDS = 3;
const SUBJECTS_EACH = 3;
/** A call is written down a moment after it was counted. */
const LATE = 3;
/**
 * The longest pause of subjects that should notice nothing, in milliseconds: some 100 on an idle
 * machine. Others pause for the time of a lease at least.
 */
const PAUSE = 1_000;
const ID = "shared";

/** One authority, with the same address after each start. */
class Authority {
  readonly port: number;
  readonly channel: Http2Channel;
  readonly #env: Record<string, string>;
  #running: Portico | undefined;

  constructor(t: Test, env: Record<string, string>, port: number) {
    this.port = port;
    this.#env = { ...env, PORTICO_GRPC: this.address, PORTICO_DRAIN_NOTICE: "1s", PORTICO_DRAIN: "2s" };
    this.channel = new Http2Channel({ host: "127.0.0.1", port }, { maxReconnectMs: 100 });
    t.teardown(() => this.channel.close());
    t.teardown(() => this.#running?.stop("SIGKILL"));
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.#running = await start(["authority"], this.#env);
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#running?.stop(signal);
  }

  signal(signal: NodeJS.Signals): void {
    this.#running?.child.kill(signal);
  }
}

class Cluster {
  readonly authorities: readonly Authority[];
  token = "";
  #guards: readonly GuardProcess[] = [];
  #addresses: readonly string[] = [];

  constructor(authorities: readonly Authority[]) {
    this.authorities = authorities;
  }

  /** Starts authorities with one limit, and guards that call from addresses of each lender. */
  static async start(t: Test): Promise<Cluster> {
    const store = (await startPostgres(t)).url();
    const folder = t.testdir({});
    const authorities = [];
    for (const name of ["a", "b", "c"]) {
      mkdirSync(join(folder, name));
      const env = { PORTICO_DATA: join(folder, name), PORTICO_STORE: store, PORTICO_LEASE: "2s" };
      authorities.push(new Authority(t, { ...env, PORTICO_ADMIN_PASSWORD: ADMIN_PASSWORD }, await freePort()));
    }
    const cluster = new Cluster(authorities);
    for (const authority of authorities) await authority.start();
    const { channel } = authorities[0]!;
    const login = { account: "admin", password: ADMIN_PASSWORD, namespace: "" };
    const { accessToken } = await unary(channel, AuthService.login, login);
    const admin = { metadata: [["authorization", `Bearer ${accessToken}`]] } as const;
    const limit = { id: ID, rate: `${RATE.perSecond}/s`, burst: BigInt(RATE.burst), per: Per.ADDRESS };
    await unary(channel, LimitsService.create, { limit: limitOf(limit) }, admin);
    cluster.token = (await unary(channel, EnrolmentsService.create, { name: "gateway", replace: false }, admin)).secret;
    await cluster.#startGuards(t);
    return cluster;
  }

  async #startGuards(t: Test): Promise<void> {
    const lenders = await this.lenders();
    const found = new Map(lenders.map((lender) => [lender, [] as string[]]));
    for (let last = 1; [...found.values()].some(({ length }) => length < SUBJECTS_EACH); last++) {
      const own = found.get(lenderOf(subject(`192.0.2.${last}`), lenders))!;
      if (own.length < SUBJECTS_EACH) own.push(`192.0.2.${last}`);
    }
    this.#addresses = [...found.values()].flat();
    const authority = this.authorities.map(({ address }) => address);
    const options = { authority, token: this.token, perSecond: PER_GUARD, addresses: this.#addresses };
    this.#guards = Array.from({ length: GUARDS }, () => new GuardProcess(t, options));
    await Promise.all(this.#guards.map((guard) => guard.ready()));
  }

  /** Which lender each authority is, by their order. */
  lenders(): Promise<string[]> {
    return Promise.all(this.authorities.map((authority) => this.#lenderAt(authority)));
  }

  async #lenderAt({ channel }: Authority): Promise<string> {
    const metadata = [["authorization", `Bearer ${this.token}`]] as const;
    const call = stream(channel, LendingService.borrow, { metadata });
    try {
      for await (const { message } of call.responses) if (message?.$case === "hello") return message.value.lender;
    } finally {
      call.cancel();
    }
    throw new Error("an authority did not say which lender it is");
  }

  /** The addresses whose tokens an authority lends. */
  async ownOf(index: number): Promise<ReadonlySet<string>> {
    const lenders = await this.lenders();
    return new Set(this.#addresses.filter((address) => lenderOf(subject(address), lenders) === lenders[index]));
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  get calls(): GuardCall[] {
    return this.#guards.flatMap(({ calls }) => calls);
  }
}

function subject(address: string): string {
  return budgetKey("default", ID, address);
}

/** By the clock of the guards' moments. */
const now = (): number => performance.timeOrigin + performance.now();

/** The longest time without a counted call of an address between two moments, in milliseconds. */
function longestPause(cluster: Cluster, addresses: Iterable<string>, from: number, to: number): number {
  let longest = 0;
  for (const address of addresses) {
    const isIn = ({ at, address: of, outcome }: GuardCall): boolean =>
      of === address && outcome === "counted" && at > from && at < to;
    const moments = cluster.calls.filter(isIn).map(({ at }) => at);
    const sorted = [from, ...moments, to].sort((a, b) => a - b);
    for (const [index, at] of sorted.entries()) longest = Math.max(longest, at - (sorted[index - 1] ?? at));
  }
  return longest;
}

/** Waits until a call of each address was counted after a moment. */
async function counted(cluster: Cluster, addresses: Iterable<string>, after: number): Promise<void> {
  const wanted = [...addresses];
  const isCounted = (address: string): boolean =>
    cluster.calls.some(({ at, address: of, outcome }) => of === address && outcome === "counted" && at > after);
  await until(() => wanted.every(isCounted), { what: () => `calls of ${wanted.join(", ")} are counted again` });
}

interface Fault {
  readonly name: string;
  readonly index: number;
  readonly cause: (authority: Authority) => Promise<void> | void;
  readonly end: (authority: Authority) => Promise<void> | void;
  /** How long the fault lasts, in milliseconds. */
  readonly ms: number;
  /** The longest time without a counted call for the subjects of the authority, in milliseconds. */
  readonly pause: number;
}

const FAULTS: readonly Fault[] = [
  {
    name: "kill -9",
    index: 0,
    cause: (authority) => authority.stop("SIGKILL"),
    end: (authority) => authority.start(),
    ms: 5_000,
    pause: 5_000,
  },
  {
    name: "clean stop",
    index: 1,
    cause: (authority) => authority.stop("SIGTERM"),
    end: (authority) => authority.start(),
    ms: 2_000,
    pause: 1_500,
  },
  {
    name: "pause",
    index: 2,
    cause: (authority) => authority.signal("SIGSTOP"),
    end: (authority) => authority.signal("SIGCONT"),
    ms: 4_000,
    pause: 5_000,
  },
];

t.test("limits hold over three authorities that are killed, stopped and paused", { skip: noPostgres }, async (t) => {
  const cluster = await Cluster.start(t);
  await counted(cluster, cluster.addresses, now());
  // Until all bursts are used up.
  await sleep(5_000);
  for (const { name, index, cause, end, ms, pause } of FULL ? FAULTS : FAULTS.slice(0, 1)) {
    const authority = cluster.authorities[index]!;
    const own = await cluster.ownOf(index);
    const others = cluster.addresses.filter((address) => !own.has(address));
    const from = now();
    await cause(authority);
    await sleep(ms);
    await counted(cluster, own, from + pause / 2);
    const to = now();
    const [ofOwn, ofOthers] = [own, others].map((addresses) => longestPause(cluster, addresses, from, to));
    t.comment(`${name}: ${own.size} subjects paused ${Math.round(ofOwn!)} ms, others ${Math.round(ofOthers!)} ms`);
    t.ok(ofOwn! < pause, `${name}: its subjects paused ${ofOwn} ms`);
    // A machine that is short of processor time pauses every subject.
    if (FULL) {
      t.ok(ofOthers! < PAUSE, `${name}: other subjects paused ${ofOthers} ms`);
      const failed = cluster.calls.filter(({ at, address, outcome }) => {
        return at > from && at < to && outcome === "unavailable" && !own.has(address);
      });
      t.same(failed, [], `${name}: other subjects notice nothing`);
    }
    await end(authority);
    await sleep(2_500);
  }
  for (const address of cluster.addresses) {
    const own = cluster.calls.filter((call) => call.address === address && call.outcome === "counted");
    const beyond = excess(
      own.map(({ at }) => at),
      RATE,
    );
    t.ok(own.length > RATE.burst, `${own.length} calls of ${address} were counted`);
    t.ok(beyond <= LATE, `${address}: ${beyond} beyond the bound`);
  }
});
