/**
 * Many guards and three authorities on bad links. Guards are simulated by the rules of
 * src/access/follow/lease.ts. Authorities run the real code. At each step of time, every guard that
 * decides is compared with the acknowledged changes.
 */

import { Code, type StatusError } from "../../../src/errors.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { randomOf } from "../../support/random.js";
import { SimulatedAuthority, type SimulatedStream, type SimulationOptions } from "./simulated-authority.js";
import { VirtualTime } from "./virtual-time.js";

export interface Figures {
  readonly changes: number;
  /** The time of each acknowledgement after its commit, in milliseconds, ascending. */
  readonly times: readonly number[];
  /** Decisions that lacked an acknowledged change. */
  readonly wrongful: number;
  readonly leases: number;
  readonly kills: number;
}

export interface Setting {
  readonly seed: number;
  readonly guards: number;
  readonly seconds: number;
  readonly waitsForOthers?: boolean;
  /**
   * Whether the store is a file on one machine, where authorities retire each other's lease records
   * (LocalLeaseRecords).
   */
  readonly isLocal?: boolean;
  /** The share of the store's responses that take seconds. */
  readonly stalls?: number;
}

const AUTHORITIES = 3;
/** The leases that authorities start with, in milliseconds. */
export const LEASES = [1_000, 2_000, 5_000];
/**
 * How far the rate of a clock may differ from 1. Two clocks then differ by less than a twentieth.
 */
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

  between(min: number, max: number): number {
    return min + (max - min) * this.random();
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

  /** Makes a change now and then, at a random authority that is up. */
  change(): void {
    this.time.after(this.between(0, 2 * CHANGE_INTERVAL), () => this.change());
    const authority = this.authorities[Math.floor(this.random() * AUTHORITIES)];
    if (authority?.up !== true) return;
    let committed = 0;
    const began = (): void => {
      committed = this.time.now;
    };
    const acknowledged = (revision: number): void => {
      if (!authority.up) return;
      this.changes++;
      this.times.push(this.time.now - committed);
      this.acknowledged = Math.max(this.acknowledged, revision);
      this.check();
    };
    // A change that waits too long for a store that stalls is refused.
    authority.change(began).then(acknowledged, (error) => {
      if ((error as StatusError).code !== Code.UNAVAILABLE) throw error;
    });
  }

  /** Kills an authority now and then, and starts it again with another lease. */
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
  /** The number of the present stream. Messages of earlier streams are ignored. */
  #generation = 0;
  #authority: SimulatedAuthority | undefined;
  #pings = new Map<number, number>();
  #pongs: { sent: number; revision: number; leaseMs: number }[] = [];
  #sequence = 0;
  /** When the link works again, and when the last message of each direction arrives. */
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

  /** The link carries nothing for a while; what is sent in that time arrives late. */
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
      // The authority has its maximum of guards. The next ping tries another one.
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

  /** Sends to the authority, unless that was killed or the stream has ended. */
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

  /** The connection breaks. The authority notices it later. */
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

  /** Pings.responded */
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
