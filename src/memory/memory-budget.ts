/**
 * The memory that one process uses for its clients, on every port and protocol: bodies and messages
 * that are being received, and responses that are not read yet. Code must reserve such bytes here
 * before it stores them, and release them afterwards. A reservation that does not fit is refused at
 * once; nothing ever waits for memory.
 *
 * Limits depend on the memory that is still free (Choudhury and Hahne, "Dynamic queue length
 * thresholds for shared-memory packet switches", 1998). A client address may reserve as much as
 * remains free, a connection a quarter of that. So one address has at most half of the budget, and
 * one connection a fifth. When memory is short, each of many clients has little, and some is always
 * left for a client that has none.
 *
 * If a client's share is full, its oldest unfinished bodies are given up for a body that is still
 * being received. A body that will be complete soon is young; bodies that never end are the oldest.
 *
 * This room knows no protocol.
 */

import type { TrustedProxies } from "../address/client-address.js";
import { networkOf } from "../address/client-address.js";

/** Bytes of a process's budget. */
const LIMIT = 256 * 1024 ** 2;
/**
 * The budget is at most this share of the memory that the process may use: a process with a full
 * budget uses up to three times as much.
 */
const MEMORY_SHARE = 1 / 3;
/**
 * Number of bodies of the maximum size that fit into the budget. If `maxBody` is large, the budget
 * is raised for them.
 */
const MIN_BODIES = 12;

/**
 * Bytes that every connection may reserve, however little is free, so that small calls succeed
 * while others use the whole budget. With 10,000 connections these are 160 MB in addition to the
 * budget.
 */
const ALWAYS = 16 * 1024;
/** What a connection may reserve, as a share of the free memory. */
const CONNECTION_SHARE = 1 / 4;

export interface MemoryBudgetOptions {
  /** Maximum bytes of a request's body. */
  readonly maxBody?: number | undefined;
  /** Bytes that the process may use, such as the limit of a container; default: no limit. */
  readonly memory?: number | undefined;
  /**
   * Bytes; default 256 MiB or a third of `memory`, whichever is less, but at least 12 bodies of
   * `maxBody`.
   */
  readonly limit?: number | undefined;
  /**
   * Proxies that each carry the requests of many clients: their addresses have no limit, only their
   * connections. Default: none.
   */
  readonly trustedProxies?: Pick<TrustedProxies, "has"> | undefined;
}

/** A body that is not completely received. It has reserved memory. */
export interface UnfinishedBody {
  /** Bytes that are freed when it is given up. */
  readonly freeable: number;
  /** Ends the body, and releases what it has reserved. */
  giveUp(): void;
}

/**
 * Used instead of an unfinished body for a request that is complete, or its response: all
 * unfinished bodies may be given up for it.
 */
export const FINISHED: UnfinishedBody = { freeable: 0, giveUp() {} };

/**
 * The unfinished bodies of one client address or of one connection, oldest first, each with its
 * reservation.
 */
type UnfinishedBodies = Map<UnfinishedBody, Reservation>;

/** What all connections from one client address use together. */
interface AddressUse {
  reserved: number;
  connections: number;
  readonly unfinished: UnfinishedBodies;
}

export class MemoryBudget {
  /** Bytes. */
  readonly limit: number;
  /** Bytes that all connections have reserved. */
  reserved = 0;
  readonly #trustedProxies: Pick<TrustedProxies, "has"> | undefined;
  /** By network (see `networkOf`), for networks with open connections. */
  readonly #addresses = new Map<string, AddressUse>();

  constructor({ maxBody = 0, memory = Infinity, limit, trustedProxies }: MemoryBudgetOptions = {}) {
    this.limit = limit ?? Math.max(Math.min(LIMIT, memory * MEMORY_SHARE), MIN_BODIES * maxBody);
    this.#trustedProxies = trustedProxies;
  }

  /**
   * Whether more than half is reserved: a client that does not read its responses is then
   * disconnected sooner.
   */
  get isShort(): boolean {
    return this.reserved > this.limit / 2;
  }

  /** The number of client addresses with open connections. */
  get addresses(): number {
    return this.#addresses.size;
  }

  /**
   * The memory of a client's connection, to be closed with it.
   * @param address the IP address at the other end; any other text counts as one address, such as
   * `unix`
   */
  open(address: string): ConnectionMemory {
    if (this.#trustedProxies?.has(address)) return new ConnectionMemory(this, CONNECTION_SHARE, NO_BOUND, NOTHING);
    const { use, onClose } = this.#useOf(address);
    return new ConnectionMemory(this, CONNECTION_SHARE, use, onClose);
  }

  /**
   * The memory of one client of a proxy, on the proxy's connection. It has the limits of the
   * connection and of the client's address. To be closed when the client's request is over.
   */
  openClient(connection: ConnectionMemory, address: string): ClientMemory {
    const { use, onClose } = this.#useOf(address);
    return new ClientMemory(this, connection, use, onClose);
  }

  /** The use of an address, which has one connection more until `onClose` is called. */
  #useOf(address: string): { readonly use: AddressUse; readonly onClose: () => void } {
    const network = networkOf(address);
    const use = this.#addresses.get(network) ?? { reserved: 0, connections: 0, unfinished: new Map() };
    this.#addresses.set(network, use);
    use.connections++;
    const onClose = (): void => {
      if (--use.connections === 0) this.#addresses.delete(network);
    };
    return { use, onClose };
  }

  /**
   * The memory of this process's own connection to a service, to be closed with it. It carries the
   * calls of all clients, so it may reserve as much as an address.
   */
  openUpstream(): ConnectionMemory {
    return new ConnectionMemory(this, 1, NO_BOUND, NOTHING);
  }
}

const NO_BOUND = undefined;
const NOTHING = (): void => {};

/** Memory that is reserved for one purpose. */
abstract class Reservation {
  /**
   * Reserves further bytes.
   * @param body the unfinished body that the bytes belong to: older ones may be given up for it.
   * Call `finished` when it ends.
   * @returns false if they do not fit: then nothing is reserved, and they must not be stored
   */
  abstract tryReserve(bytes: number, body?: UnfinishedBody): boolean;
  /** To be called when a body is complete or was given up. */
  abstract finished(body: UnfinishedBody): void;
  /** Releases reserved bytes. No effect after `close`, which has released everything. */
  abstract release(bytes: number): void;

  /**
   * Makes a reservation larger or smaller.
   * @param body as in `tryReserve`
   * @returns false if the larger size does not fit; then nothing changes
   */
  tryResize(from: number, to: number, body?: UnfinishedBody): boolean {
    if (to > from) return this.tryReserve(to - from, body);
    this.release(from - to);
    return true;
  }
}

/** Reserves the bytes of a request. */
export type RequestMemory = Pick<Reservation, "tryReserve" | "tryResize" | "release" | "finished">;

/** The memory that one connection uses. */
export class ConnectionMemory extends Reservation {
  /** Bytes. */
  reserved = 0;
  readonly #budget: MemoryBudget;
  readonly #share: number;
  readonly #address: AddressUse | undefined;
  /** Shared by all connections of the address; the connection's own if no address limits it. */
  readonly #unfinished: UnfinishedBodies;
  readonly #onClose: () => void;
  #closed = false;

  constructor(budget: MemoryBudget, share: number, address: AddressUse | undefined, onClose: () => void) {
    super();
    this.#budget = budget;
    this.#share = share;
    this.#address = address;
    this.#unfinished = address?.unfinished ?? new Map();
    this.#onClose = onClose;
  }

  /** Whether memory is short in this process. */
  get isShort(): boolean {
    return this.#budget.isShort;
  }

  tryReserve(bytes: number, body?: UnfinishedBody): boolean {
    if (this.#closed) return false;
    if (!this.#fits(bytes, 0, 0) && !(body !== undefined && this.#makeRoom(bytes, body))) return false;
    const budget = this.#budget;
    const address = this.#address;
    if (body !== undefined && body !== FINISHED && !this.#unfinished.has(body)) this.#unfinished.set(body, this);
    if (address !== undefined) address.reserved += bytes;
    this.reserved += bytes;
    budget.reserved += bytes;
    return true;
  }

  finished(body: UnfinishedBody): void {
    this.#unfinished.delete(body);
  }

  /**
   * Whether further bytes fit.
   * @param freed bytes of the address that will have been freed by then
   * @param freedHere bytes of `freed` that belong to this connection
   */
  #fits(bytes: number, freed: number, freedHere: number): boolean {
    if (this.reserved - freedHere + bytes <= ALWAYS) return true;
    const free = this.#budget.limit - this.#budget.reserved + freed - bytes;
    if (this.reserved - freedHere + bytes > free * this.#share) return false;
    return this.#address === undefined || this.#address.reserved - freed + bytes <= free;
  }

  /**
   * Gives up the oldest bodies: of the address if its share is full, otherwise only of this
   * connection.
   * @returns false if the bodies older than `body` are not enough: then none is given up
   */
  #makeRoom(bytes: number, body: UnfinishedBody): boolean {
    const address = this.#address;
    const isFull =
      address !== undefined && address.reserved + bytes > this.#budget.limit - this.#budget.reserved - bytes;
    let freedHere = 0;
    const fits = (freed: number): boolean => this.#fits(bytes, freed, freedHere);
    return giveUpOldest(this.#unfinished, body, fits, (older, memory) => {
      if (!isFull && memory !== this) return false;
      if (memory === this) freedHere += older.freeable;
      return true;
    });
  }

  release(bytes: number): void {
    if (this.#closed) return;
    this.reserved -= bytes;
    this.#budget.reserved -= bytes;
    if (this.#address !== undefined) this.#address.reserved -= bytes;
  }

  /** Releases everything, because the connection is closed. */
  close(): void {
    if (this.#closed) return;
    this.release(this.reserved);
    deleteOf(this.#unfinished, this);
    this.#closed = true;
    this.#onClose();
  }
}

/**
 * What a client's request uses of a proxy's connection. Bodies of the proxy's other clients are not
 * given up for it.
 */
export class ClientMemory extends Reservation {
  readonly #budget: MemoryBudget;
  readonly #connection: ConnectionMemory;
  readonly #address: AddressUse;
  readonly #onClose: () => void;
  #reserved = 0;
  #closed = false;

  constructor(budget: MemoryBudget, connection: ConnectionMemory, address: AddressUse, onClose: () => void) {
    super();
    this.#budget = budget;
    this.#connection = connection;
    this.#address = address;
    this.#onClose = onClose;
  }

  tryReserve(bytes: number, body?: UnfinishedBody): boolean {
    if (this.#closed) return false;
    const address = this.#address;
    const fits = (freed: number): boolean => this.#fits(bytes, freed);
    if (!fits(0) && !(body !== undefined && giveUpOldest(address.unfinished, body, fits))) return false;
    if (!this.#connection.tryReserve(bytes)) return false;
    if (body !== undefined && body !== FINISHED && !address.unfinished.has(body)) address.unfinished.set(body, this);
    address.reserved += bytes;
    this.#reserved += bytes;
    return true;
  }

  finished(body: UnfinishedBody): void {
    this.#address.unfinished.delete(body);
  }

  release(bytes: number): void {
    if (this.#closed) return;
    this.#address.reserved -= bytes;
    this.#reserved -= bytes;
    this.#connection.release(bytes);
  }

  /** Releases everything, because the request is over. */
  close(): void {
    if (this.#closed) return;
    this.release(this.#reserved);
    deleteOf(this.#address.unfinished, this);
    this.#closed = true;
    this.#onClose();
  }

  /** @param freed bytes of the address that will have been freed by then */
  #fits(bytes: number, freed: number): boolean {
    if (this.#reserved + bytes <= ALWAYS) return true;
    return this.#address.reserved - freed + bytes <= this.#budget.limit - this.#budget.reserved + freed - bytes;
  }
}

/**
 * Gives up the oldest bodies until the bytes of a newer one fit.
 * @param body the newer body
 * @param fits whether its bytes fit when this many further bytes are free
 * @param mayGiveUp whether a body may be given up; default: any
 * @returns false if the bodies older than `body` are not enough: then none is given up
 */
function giveUpOldest(
  bodies: UnfinishedBodies,
  body: UnfinishedBody,
  fits: (freed: number) => boolean,
  mayGiveUp: (older: UnfinishedBody, memory: Reservation) => boolean = () => true,
): boolean {
  const given: UnfinishedBody[] = [];
  let freed = 0;
  for (const [older, memory] of bodies) {
    if (older === body) return false;
    if (!mayGiveUp(older, memory)) continue;
    given.push(older);
    freed += older.freeable;
    if (!fits(freed)) continue;
    for (const one of given) one.giveUp();
    return fits(0);
  }
  return false;
}

function deleteOf(bodies: UnfinishedBodies, memory: Reservation): void {
  for (const [body, of] of bodies) if (of === memory) bodies.delete(body);
}
