/**
 * Each process is restarted in turn, and then killed in turn, under load: three authorities on
 * Postgres, two gateways behind haproxy, two instances of a service. No call fails when a process
 * is stopped in order, or when an authority is killed. A key is refused as soon as the response to
 * its deletion has arrived.
 */
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { FULL } from "../../support/full.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { inTime, until } from "../../support/until.js";
import { hasHaproxy, type Member, post, type Several, startSeveral } from "./several.js";

const CALLERS = 4;
const MESSAGES = 10_000;
/** Milliseconds. A stream that is read slowly takes some ten seconds. */
const STREAM_TIME = 120_000;
/**
 * The reader pauses after this number of bytes. If it paused after each chunk, a stream of small
 * chunks would take minutes.
 */
const PAUSE_EVERY = 65_536;
/** Messages are so large that a whole stream does not fit into the kernel's buffers. */
const NAME = "x".repeat(1_000);

/** The results of a load: how often each outcome occurred, by kind of call. */
class Outcomes {
  readonly #counts = new Map<string, number>();

  add(outcome: string): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
  }

  /** Returns the failures of these kinds, and resets all counts. */
  take(kinds: readonly string[]): string[] {
    const failures = [...this.#counts].filter(
      ([outcome]) => !outcome.endsWith(" ok") && kinds.includes(outcome.split(":")[0]!),
    );
    const text = failures.map(([outcome, count]) => `${count} × ${outcome}`);
    this.#counts.clear();
    return text;
  }

  of(outcome: string): number {
    return this.#counts.get(outcome) ?? 0;
  }

  toString(): string {
    return JSON.stringify(Object.fromEntries(this.#counts));
  }
}

class Load {
  readonly outcomes = new Outcomes();
  readonly #several: Several;
  readonly #loops: Promise<void>[] = [];
  /** Streams in progress. */
  readonly #streams = new Set<Promise<void>>();
  #over = false;
  #acknowledged: number[] = [];

  constructor(several: Several) {
    this.#several = several;
    for (let caller = 0; caller < CALLERS; caller++) this.#loops.push(this.#repeat(() => this.#call(), 20));
    for (const gateway of several.gateways) this.#loops.push(this.#repeat(() => this.#readStream(gateway), 20));
    this.#loops.push(this.#repeat(() => this.#revoke(), 200));
  }

  /**
   * Waits until the streams in progress have ended. A slow reader notices late that its stream was
   * cut off.
   */
  async streamsEnd(): Promise<void> {
    await inTime(Promise.all(this.#streams), "the streams under way end", STREAM_TIME + 1_000);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await inTime(Promise.all(this.#loops), "the last calls and streams of the load end", STREAM_TIME + 1_000);
  }

  /** How long changes took, in milliseconds: the median and the maximum. */
  acknowledged(): string {
    const sorted = this.#acknowledged.splice(0).sort((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1);
    return `${sorted.length} changes, acknowledged in ${at(0.5)} ms (median), ${at(1)} ms (longest)`;
  }

  async #repeat(once: () => Promise<void>, pauseMs: number): Promise<void> {
    while (!this.#over) {
      await once();
      await sleep(pauseMs);
    }
  }

  async #call(): Promise<void> {
    const { url, admin } = this.#several;
    const { status, body } = await post(`${url}/v1/helloworld/Call`, { name: "Ada" }, admin);
    this.outcomes.add(status === 200 ? "call: ok" : `call: ${status} ${body.Detail}`);
  }

  async #readStream(gateway: Member): Promise<void> {
    const stream = this.#stream(gateway);
    this.#streams.add(stream);
    await stream;
    this.#streams.delete(stream);
  }

  /** Reads a stream of one gateway slowly. The stream must be complete. */
  async #stream({ address }: Member): Promise<void> {
    try {
      const response = await fetch(`http://${address}/helloworld/stream?name=${NAME}&messages=${MESSAGES}`, {
        signal: AbortSignal.timeout(STREAM_TIME),
      });
      let lines = 0;
      let unpaused = 0;
      let end = "";
      for await (const chunk of response.body!) {
        for (const byte of chunk) if (byte === 10) lines++;
        unpaused += chunk.length;
        end = Buffer.from(chunk).toString().slice(-200);
        if (unpaused < PAUSE_EVERY || this.#over) continue;
        unpaused = 0;
        await sleep(50);
      }
      this.outcomes.add(lines === MESSAGES ? "stream: ok" : `stream: ${lines} lines, the end is ${end}`);
    } catch (error) {
      this.outcomes.add(`stream: ${(error as Error).cause ?? error}`);
    }
  }

  /** Creates a key, uses it, revokes it, and uses it at each gateway right after the response. */
  async #revoke(): Promise<void> {
    const { url, admin, gateways } = this.#several;
    const created = await post(`${url}/v1/auth/Keys/Create`, { name: "short" }, admin);
    if (created.status !== 200) return this.outcomes.add(`change: ${created.status} ${created.body.Detail}`);
    const { key, secret } = created.body;
    const headers = { authorization: `Bearer ${secret}` };
    const use = (at: string) => post(`${at}/v1/helloworld/Call`, { name: "key" }, headers);
    const used = await use(url);
    this.outcomes.add(used.status === 200 ? "call: ok" : `call: by a new key ${used.status} ${used.body.Detail}`);
    const began = performance.now();
    const revoked = await post(`${url}/v1/auth/Keys/Revoke`, { prefix: key?.prefix }, admin);
    if (revoked.status !== 200) return this.outcomes.add(`change: ${revoked.status} ${revoked.body.Detail}`);
    this.#acknowledged.push(performance.now() - began);
    this.outcomes.add("change: ok");
    for (const { address } of gateways) {
      const { status } = await use(`http://${address}`);
      this.outcomes.add(status === 200 ? "grant: by a revoked key" : "grant: ok");
    }
  }
}

const skip = noPostgres || (hasHaproxy ? false : "there is no haproxy here");

t.test("each process of three authorities, two gateways and two instances is ended in turn", { skip }, async (t) => {
  const server = await startPostgres(t);
  const several = await startSeveral(t, server.url());
  const { authorities, gateways, services } = several;
  const load = new Load(several);
  t.teardown(() => load.stop());
  const { outcomes } = load;
  const calm = async (): Promise<void> => {
    const [calls, changes] = [outcomes.of("call: ok") + 20, outcomes.of("change: ok") + 2];
    const isCalm = (): boolean => outcomes.of("call: ok") >= calls && outcomes.of("change: ok") >= changes;
    await until(isCalm, { what: () => `${calls} calls and ${changes} changes are done: ${outcomes}`, within: 60_000 });
  };
  const end = async (member: Member, signal: NodeJS.Signals): Promise<void> => {
    await member.stop(signal);
    await calm();
    await member.start();
    await calm();
  };
  await calm();
  t.same(outcomes.take(["call", "stream", "change", "grant"]), [], "before");

  const sample = FULL ? undefined : 1;
  for (const member of [...authorities.slice(0, sample), ...services.slice(0, sample), ...gateways.slice(0, sample)]) {
    await end(member, "SIGTERM");
    // A stream ends with its gateway.
    const kinds = member.role === "authority" ? ["call", "stream", "change", "grant"] : ["call", "change", "grant"];
    if (member.role !== "authority") await load.streamsEnd();
    t.same(outcomes.take(kinds), [], `${member.name} is stopped`);
    t.comment(`${member.name} stopped: ${load.acknowledged()}`);
  }
  for (const member of FULL ? authorities : authorities.slice(1, 2)) {
    await end(member, "SIGKILL");
    // A change that was in progress at a killed authority may have been made or not. Its response
    // says that it is unknown.
    t.same(outcomes.take(["call", "stream", "grant"]), [], `${member.name} is killed`);
    t.comment(`${member.name} killed: ${load.acknowledged()}`);
  }
  for (const member of FULL ? [...services, ...gateways] : []) {
    await end(member, "SIGKILL");
    t.same(outcomes.take(["grant"]), [], `${member.name} is killed`);
  }
});
