/**
 * Machines on this machine. If the rights suffice, each one is a network namespace with its own
 * address, and all are connected by a bridge. The bridge has a namespace too, because Docker drops
 * packets that cross a bridge of the machine itself. A link between two machines can be cut
 * silently: bytes are lost, and neither end gets an error. Without the rights, all are on loopback,
 * and no link can be cut.
 */
import { execFileSync } from "node:child_process";
import { noNamespaces } from "../faults/network.js";

/** Where programs run. */
export interface Machine {
  readonly name: string;
  readonly host: string;
  /** The prefix of a command that runs on the machine, such as `ip netns exec`. */
  readonly before: readonly string[];
}

const BRIDGE = "bridge";
/** A hardware address that no device has. */
const NOWHERE = "02:00:00:00:00:99";

/** Machines that reach each other, and that this process reaches. */
export class Network {
  /** Why links cannot be cut; undefined if they can. */
  readonly whyNotCut = noNamespaces();
  readonly #id = process.pid % 16_384;
  readonly #net = `10.${128 + (this.#id >> 8)}.${this.#id & 255}`;
  /** The device through which this process reaches the machines. */
  readonly #device = `pm${this.#id}`;
  readonly #switch = `portico-${this.#id}-1`;
  readonly #machines: Machine[] = [];

  constructor() {
    if (this.whyNotCut !== undefined) return;
    ip("netns", "add", this.#switch);
    ip("-n", this.#switch, "link", "add", BRIDGE, "up", "type", "bridge");
    ip("link", "add", this.#device, "type", "veth", "peer", "name", "port1", "netns", this.#switch);
    this.#plugIn("port1");
    ip("addr", "add", `${this.#net}.1/24`, "dev", this.#device);
    ip("link", "set", this.#device, "up");
  }

  /** Adds a machine. Its processes must have ended before `close`. */
  add(name: string): Machine {
    if (this.whyNotCut !== undefined) return { name, host: "127.0.0.1", before: [] };
    const number = this.#machines.length + 2;
    const namespace = `portico-${this.#id}-${number}`;
    const machine = { name, host: `${this.#net}.${number}`, before: ["ip", "netns", "exec", namespace] };
    this.#machines.push(machine);
    ip("netns", "add", namespace);
    const port = `port${number}`;
    ip("-n", this.#switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace);
    this.#plugIn(port);
    ip("-n", namespace, "addr", "add", `${machine.host}/24`, "dev", "eth0");
    for (const device of ["eth0", "lo"]) ip("-n", namespace, "link", "set", device, "up");
    return machine;
  }

  /** Cuts the links between the first machine and each of the others, in both directions. */
  cut(one: Machine, others: readonly Machine[]): void {
    this.#eachWay(one, others, (from, to) => {
      ip(...namespaceOf(from), "neigh", "replace", to.host, "lladdr", NOWHERE, "dev", "eth0", "nud", "permanent");
    });
  }

  mend(one: Machine, others: readonly Machine[]): void {
    this.#eachWay(one, others, (from, to) => ip(...namespaceOf(from), "neigh", "del", to.host, "dev", "eth0"));
  }

  close(): void {
    if (this.whyNotCut !== undefined) return;
    for (const { before } of this.#machines) ip("netns", "del", before[3]!);
    ip("link", "del", this.#device);
    ip("netns", "del", this.#switch);
  }

  #plugIn(port: string): void {
    ip("-n", this.#switch, "link", "set", port, "master", BRIDGE, "up");
  }

  #eachWay(one: Machine, others: readonly Machine[], change: (from: Machine, to: Machine) => void): void {
    for (const other of others) {
      change(one, other);
      change(other, one);
    }
  }
}

function namespaceOf({ before }: Machine): [string, string] {
  return ["-n", before[3]!];
}

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}
