/**
 * Many guards and three authorities on bad links. Guards are simulated, by the rules of src/access/follow/lease.ts; authorities run the
 * real code. Every guard that decides is compared with what was acknowledged, at each step of time.
 */

import { Code } from "../../../src/errors.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { SimulatedAuthority, type SimulatedStream, type SimulationOptions } from "./simulated-authority.js";
import { randomOf, VirtualTime } from "./virtual-time.js";

export interface Figures {
  readonly changes: number;
  /** How long each acknowledgement took after its commit, ascending, in milliseconds. */
  readonly times: readonly number[];
  /** Decisions that lacked an acknowledged change. */
  readonly wrongful: number;
  /** Leases that were granted. */
  readonly leases: number;
  readonly kills: number;
}

export interface Setting {
  readonly seed: number;
  readonly guards: number;
  readonly seconds: number;
  readonly waitsForOthers?: boolean;
  /** Whether the store is of one machine, such as a file, where authorities retire each other's claims (LocalClaims). */
  readonly isLocal?: boolean;
  /** The share of the store's answers that take seconds. */
  readonly stalls?: number;
}

const AUTHORITIES = 3;
/** The leases that authorities start with, in milliseconds. */
export const LEASES = [1_000, 2_000, 5_000];
/** Clocks' rates differ by less than a twentieth. */
const MAX_DRIFT = 0.024;
const CHANGE_INTERVAL = 300;

class World {
  readonly time = new VirtualTime();
  readonly random: () => number;
  readonly authorities: SimulatedAuthority[] = [];
  readonly guards: Guard[] = [];
  readonly times: number[] = [];
  readonly store: KeyValueStore;
  readonly setting: Setting;
  acknowledged = 0;
  changes = 0;
  wrongful = 0;
  leases = 0;
  kills = 0;

  constructor(setting: Setting) {
    this.setting = setting;
    this.store = openMemoryStore({ mayBeStale: setting.isLocal !== true });
    this.random = randomOf(setting.seed);
  }

  between(least: number, most: number): number {
    return least + (most - least) * this.random();
  }

  drift(): number {
    return this.between(1 - MAX_DRIFT, 1 + MAX_DRIFT);
  }

  async start(index: number): Promise<void> {
    const { time, random, store } = this;
    const leaseMs = LEASES[Math.floor(random() * LEASES.length)] as number;
    const { waitsForOthers = true, stalls = 0.001 } = this.setting;
    const rate = this.drift();
    const options: SimulationOptions = { time, random, store, rate, leaseMs, waitsForOthers, stalls };
    this.authorities[index] = await SimulatedAuthority.start(options);
  }

  /** A change at any authority that is up, now and then. */
  change(): void {
    this.time.after(this.between(0, 2 * CHANGE_INTERVAL), () => this.change());
    const authority = this.authorities[Math.floor(this.random() * AUTHORITIES)];
    if (authority?.up !== true) return;
    let committed = 0;
    const began = (): void => {
      committed = this.time.now;
    };
    void authority.change(began).then((revision) => {
      if (!authority.up) return;
      this.changes++;
      this.times.push(this.time.now - committed);
      this.acknowledged = Math.max(this.acknowledged, revision);
      this.check();
    });
  }

  /** An authority is killed, and starts again with another lease. */
  kill(): void {
    this.time.after(this.between(5_000, 20_000), () => this.kill());
    const index = Math.floor(this.random() * AUTHORITIES);
    const authority = this.authorities[index];
    if (authority?.up !== true) return;
    authority.kill();
    this.kills++;
    this.time.after(this.between(100, 8_000), () => void this.start(index));
  }

  check(): void {
    for (const guard of this.guards) if (guard.applied < this.acknowledged && guard.runs()) this.wrongful++;
  }
}

class Guard {
  applied = 0;
  readonly #world: World;
  readonly #index: number;
  readonly #rate: number;
  #end = 0;
  #stream: SimulatedStream | undefined;
  /** Of the stream at hand: what comes from an earlier one is not read any more. */
  #generation = 0;
  #authority: SimulatedAuthority | undefined;
  #pings = new Map<number, number>();
  #pongs: { sent: number; revision: number; leaseMs: number }[] = [];
  #sequence = 0;
  /** When the link is mended, and when the last message in each direction arrives. */
  #mended = 0;
  readonly #last = { up: 0, down: 0 };

  constructor(world: World, index: number) {
    this.#world = world;
    this.#index = index;
    this.#rate = world.drift();
    world.time.after(world.between(0, 1_000), () => this.#ping());
    world.time.after(world.between(0, 60_000), () => this.#cut());
  }

  get #now(): number {
    return this.#world.time.now * this.#rate;
  }

  /** Lease.runs */
  runs(): boolean {
    return this.#now < this.#end;
  }

  /** The link loses everything for a while, so that what is sent comes late. */
  #cut(): void {
    const { time } = this.#world;
    this.#mended = time.now + this.#world.between(500, 12_000);
    time.after(this.#world.between(10_000, 60_000), () => this.#cut());
  }

  #open(): void {
    const { authorities, random } = this.#world;
    const authority = authorities[Math.floor(random() * AUTHORITIES)];
    if (authority?.up !== true) return;
    const generation = ++this.#generation;
    this.#authority = authority;
    [this.#pings, this.#pongs] = [new Map(), []];
    const mine = (act: () => void) => () => this.#generation === generation && act();
    try {
      this.#stream = authority.open({
        guard: this.#index,
        onChanged: (revision) =>
          this.#send(
            "down",
            mine(() => this.#apply(revision)),
          ),
        onPong: (sequence, revision, leaseMs) =>
          this.#send(
            "down",
            mine(() => this.#answered(sequence, revision, leaseMs)),
          ),
      });
    } catch (error) {
      if ((error as { code?: Code }).code !== Code.RESOURCE_EXHAUSTED) throw error;
      // It has as many guards as it takes: another one is tried at the next ping.
      this.#stream = undefined;
    }
  }

  /** Messages of one direction stay in order. */
  #send(way: "up" | "down", deliver: () => void): void {
    const { time } = this.#world;
    const delay = this.#world.random() < 0.01 ? this.#world.between(200, 3_000) : this.#world.between(1, 20);
    this.#last[way] = Math.max(this.#last[way], Math.max(time.now, this.#mended) + delay);
    time.after(this.#last[way] - time.now, deliver);
  }

  /** To the authority, unless that is gone or the stream has ended there. */
  #tell(act: (stream: SimulatedStream) => void): void {
    const [stream, authority] = [this.#stream, this.#authority];
    if (stream === undefined) return;
    this.#send("up", () => authority?.up === true && act(stream));
  }

  /** Pings.#ping */
  #ping(): void {
    const { time, random } = this.#world;
    time.after(this.#world.between(150, 250), () => this.#ping());
    if (this.#stream === undefined) {
      this.#open();
      return;
    }
    if (this.#pings.size >= 6 || this.#authority?.up !== true || random() < 0.001) {
      this.#leave();
      return;
    }
    const sequence = ++this.#sequence;
    this.#pings.set(sequence, this.#now);
    this.#tell((stream) => stream.ping(sequence));
  }

  /** The connection breaks; the authority hears of it late. */
  #leave(): void {
    const [stream, authority] = [this.#stream, this.#authority];
    this.#stream = undefined;
    this.#generation++;
    this.#world.time.after(this.#world.between(1, 10_000), () => authority?.up === true && stream?.end());
  }

  #apply(revision: number): void {
    if (revision < this.applied) {
      this.#leave();
      return;
    }
    this.applied = revision;
    this.#tell((stream) => stream.applied(revision));
    this.#extend();
  }

  /** Pings.answered */
  #answered(sequence: number, revision: number, leaseMs: number): void {
    const sent = this.#pings.get(sequence);
    if (sent === undefined) return;
    for (const other of this.#pings.keys()) if (other <= sequence) this.#pings.delete(other);
    this.#pongs.push({ sent, revision, leaseMs });
    this.#extend();
  }

  /** Lease.extend */
  #extend(): void {
    for (const { sent, revision, leaseMs } of this.#pongs) {
      if (revision > this.applied) continue;
      this.#end = sent + leaseMs;
      this.#world.leases++;
    }
    this.#pongs = this.#pongs.filter(({ revision }) => revision > this.applied);
  }
}

/** Runs the simulation of a setting to its end. */
export async function simulate(setting: Setting): Promise<Figures> {
  const world = new World(setting);
  for (let index = 0; index < AUTHORITIES; index++) world.time.after(10 * index, () => void world.start(index));
  for (let index = 0; index < setting.guards; index++) world.guards.push(new Guard(world, index));
  world.change();
  world.kill();
  await world.time.run(setting.seconds * 1_000, () => world.check());
  const { changes, times, wrongful, leases, kills } = world;
  return { changes, wrongful, leases, kills, times: times.sort((a, b) => a - b) };
}
