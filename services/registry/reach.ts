/**
 * Counts the instances that can be reached now, for `List` and `Describe`. A registered instance
 * keeps a stream open, and leaves when the stream ends. A configured target has no stream, so its
 * reachability is tested with a connection. Each target is tested at most once a second, however
 * often callers ask.
 */
import { connect } from "node:net";
import type { GrpcTarget } from "../../src/address/address.js";
import { formatServiceTarget, type ServiceTarget, serversOf } from "../../src/address/srv.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { SELF_GOVERNED } from "../../src/contract/names.js";
import type { InstanceEntry } from "./entry.js";

/** How long a target may take to accept a connection, in milliseconds. */
const CONNECT_MS = 500;
/** How long a result is valid, in milliseconds. */
const FRESH_MS = 1_000;

interface Tried {
  readonly target: ServiceTarget;
  at: number;
  reachable: Promise<boolean>;
}

/** The configured targets, and the last test of each. */
export class Reach {
  readonly #authorities: () => number;
  /** By the ID of the target's instance, which is its address. */
  readonly #targets = new Map<string, Tried>();

  /** @param authorities returns the number of authorities */
  constructor(authorities: () => number) {
    this.#authorities = authorities;
  }

  /** Replaces the targets by the targets of these services. */
  set(services: readonly ExternalService[]): void {
    this.#targets.clear();
    for (const { targets } of services) {
      for (const { target } of targets) {
        const never = Promise.resolve(false);
        this.#targets.set(formatServiceTarget(target), { target, at: Number.NEGATIVE_INFINITY, reachable: never });
      }
    }
  }

  /**
   * The number of a service's reachable instances: all that registered, and the configured ones
   * that accept a connection. Each authority has one instance of the authorities' own services.
   */
  async count(service: string, entries: readonly InstanceEntry[]): Promise<number> {
    if (SELF_GOVERNED.has(service)) return this.#authorities();
    const reachable = await Promise.all(entries.map(({ instance }) => this.#isReachable(instance.id)));
    return reachable.filter(Boolean).length;
  }

  #isReachable(id: string): Promise<boolean> | true {
    const tried = this.#targets.get(id);
    if (tried === undefined) return true;
    const now = performance.now();
    if (now - tried.at > FRESH_MS) {
      tried.at = now;
      tried.reachable = isReachable(tried.target);
    }
    return tried.reachable;
  }
}

/** Whether a server accepts a connection, or one of the servers of an SRV name does. */
async function isReachable(target: ServiceTarget): Promise<boolean> {
  const servers = await serversOf(target).catch(() => []);
  return (await Promise.all(servers.map(accepts))).includes(true);
}

function accepts(target: GrpcTarget): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect("path" in target ? { path: target.path } : { host: target.host, port: target.port });
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(CONNECT_MS, () => end(false));
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
