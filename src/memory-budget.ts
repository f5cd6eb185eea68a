/**
 * The memory that one process lends to its clients: bodies being received, messages half received, answers that are not
 * read yet; on every port and protocol. Whoever holds such bytes has reserved them here first, and releases them when they
 * are gone. What does not fit is refused; nothing ever waits for memory.
 *
 * Shares depend on what is still free (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
 * switches", 1998): a client address may hold as much as is free after that, a connection a quarter as much. So one
 * address has half of the budget at most and one connection a fifth, the many hold little each when memory is short, and
 * some is always left for those who hold nothing.
 */
import { networkOf } from "./network.js";
import type { TrustedProxies } from "./trusted-proxies.js";

/** Bytes of a process's budget. */
const LIMIT = 256 * 1024 ** 2;
/** Bodies of the largest size that fit at least, where `maxBody` is so large that they would not fit into `LIMIT`. */
const MIN_BODIES = 12;

/**
 * Bytes that every connection may hold, however little is free: so small calls go on while others hold everything. With
 * 10,000 connections these are 160 MB beside the budget.
 */
const ALWAYS = 16 * 1024;
/** What a connection may hold, by what is free. */
const CONNECTION_SHARE = 1 / 4;

export interface MemoryBudgetOptions {
  /** Most bytes of a request's body. */
  readonly maxBody?: number | undefined;
  /** Bytes; default 256 MiB, or 12 bodies where these are more. */
  readonly limit?: number | undefined;
  /** Of their addresses only the connections have a bound: each carries many clients. Default none. */
  readonly trustedProxies?: Pick<TrustedProxies, "has"> | undefined;
}

/** What all connections from a client address hold together. */
interface AddressUse {
  reserved: number;
  connections: number;
}

export class MemoryBudget {
  /** Bytes. */
  readonly limit: number;
  /** Bytes that are held by all connections. */
  reserved = 0;
  readonly #trustedProxies: Pick<TrustedProxies, "has"> | undefined;
  /** By network (see `networkOf`), of the connections that are open. */
  readonly #addresses = new Map<string, AddressUse>();

  constructor({ maxBody = 0, limit, trustedProxies }: MemoryBudgetOptions = {}) {
    this.limit = limit ?? Math.max(LIMIT, MIN_BODIES * maxBody);
    this.#trustedProxies = trustedProxies;
  }

  /** Whether more than half is held: a client that does not read what waits for it is then cut sooner. */
  get isShort(): boolean {
    return this.reserved > this.limit / 2;
  }

  /** Client addresses that have a connection with a reservation. */
  get addresses(): number {
    return this.#addresses.size;
  }

  /**
   * A client's connection; to be closed with it.
   * @param address the IP address at the other end; anything else counts as an address too, such as `unix`
   */
  open(address: string): ConnectionMemory {
    if (this.#trustedProxies?.has(address)) return new ConnectionMemory(this, CONNECTION_SHARE, NO_BOUND, NOTHING);
    const network = networkOf(address);
    let use = this.#addresses.get(network);
    if (use === undefined) {
      use = { reserved: 0, connections: 0 };
      this.#addresses.set(network, use);
    }
    use.connections++;
    const left = use;
    return new ConnectionMemory(this, CONNECTION_SHARE, use, () => {
      if (--left.connections === 0) this.#addresses.delete(network);
    });
  }

  /**
   * A connection of this process's own to a service, which carries the calls of all clients: it may hold what an address
   * may.
   */
  openUpstream(): ConnectionMemory {
    return new ConnectionMemory(this, 1, NO_BOUND, NOTHING);
  }
}

const NO_BOUND = undefined;
const NOTHING = (): void => {};

/** What one connection holds. */
export class ConnectionMemory {
  /** Bytes. */
  reserved = 0;
  readonly #budget: MemoryBudget;
  readonly #share: number;
  readonly #address: AddressUse | undefined;
  readonly #onClose: () => void;
  #closed = false;

  constructor(budget: MemoryBudget, share: number, address: AddressUse | undefined, onClose: () => void) {
    this.#budget = budget;
    this.#share = share;
    this.#address = address;
    this.#onClose = onClose;
  }

  /** Whether memory is short in this process. */
  get isShort(): boolean {
    return this.#budget.isShort;
  }

  /** Reserves so many bytes more. False where they do not fit: then nothing is reserved, and the bytes are not to be kept. */
  tryReserve(bytes: number): boolean {
    if (this.#closed) return false;
    const budget = this.#budget;
    const address = this.#address;
    const free = budget.limit - budget.reserved - bytes;
    if (this.reserved + bytes > ALWAYS) {
      if (this.reserved + bytes > free * this.#share) return false;
      if (address !== undefined && address.reserved + bytes > free) return false;
    }
    if (address !== undefined) address.reserved += bytes;
    this.reserved += bytes;
    budget.reserved += bytes;
    return true;
  }

  /** Gives back bytes that were reserved. Harmless after the close, which has given back everything. */
  release(bytes: number): void {
    if (this.#closed) return;
    this.reserved -= bytes;
    this.#budget.reserved -= bytes;
    if (this.#address !== undefined) this.#address.reserved -= bytes;
  }

  /**
   * Makes a reservation larger or smaller.
   * @returns false where more does not fit; then it is as it was
   */
  tryResize(from: number, to: number): boolean {
    if (to > from) return this.tryReserve(to - from);
    this.release(from - to);
    return true;
  }

  /** The connection is closed, and all that it held is free. */
  close(): void {
    if (this.#closed) return;
    this.release(this.reserved);
    this.#closed = true;
    this.#onClose();
  }
}
