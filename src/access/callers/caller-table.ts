/**
 * The callers that one guard caches, by token, up to a maximum number and a maximum size. When it
 * is full, the clock algorithm (FIFO with a second chance) evicts callers that have not been used
 * for long.
 *
 * Callers with the same scopes and limits share one object for them, so an account's scopes are
 * stored once for all its tokens.
 */
import type { KnownCaller, Permissions } from "./known-caller.js";

/**
 * Bytes of a caller without the names of its account and key and without its permissions: its
 * object, token, prefix, hash and map entry.
 */
const CALLER_BYTES = 440;
/** Bytes of permissions without their texts, and of each text without its characters. */
const PERMISSIONS_BYTES = 300;
const TEXT_BYTES = 100;
/**
 * Maximum number of used callers that one eviction passes over: passing over all of them would take
 * long.
 */
const MAX_PASSED = 16;

export interface CallerTableLimits {
  readonly callers: number;
  /** Maximum estimated size of all callers: the sum of `bytesOf` and `bytesOfPermissions`. */
  readonly bytes: number;
}

/** Permissions, and how many callers have them. */
interface SharedPermissions extends Permissions {
  users: number;
}

/** The callers that one guard caches. */
export class CallerTable {
  /** Estimated size of all callers. */
  bytes = 0;
  readonly #limits: CallerTableLimits;
  readonly #callers = new Map<string, KnownCaller>();
  readonly #permissions = new Map<string, SharedPermissions>();
  /**
   * The hand of the clock algorithm. It visits the callers in the order in which they were added or
   * passed over.
   */
  #hand = this.#callers.entries();

  constructor(limits: CallerTableLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#callers.size;
  }

  get(token: string): KnownCaller | undefined {
    const caller = this.#callers.get(token);
    if (caller !== undefined) caller.used = true;
    return caller;
  }

  set(token: string, caller: KnownCaller): void {
    this.delete(token);
    this.#share(caller);
    this.#callers.set(token, caller);
    this.bytes += bytesOf(caller);
    const { callers, bytes } = this.#limits;
    while (this.size > callers || (this.bytes > bytes && this.size > 0)) this.#evict();
  }

  delete(token: string): void {
    const caller = this.#callers.get(token);
    if (caller === undefined) return;
    this.#callers.delete(token);
    this.bytes -= bytesOf(caller);
    this.#release(caller);
  }

  clear(): void {
    this.#callers.clear();
    this.#permissions.clear();
    this.#hand = this.#callers.entries();
    this.bytes = 0;
  }

  #evict(): void {
    for (let passed = 0; ; passed++) {
      const next = this.#hand.next();
      if (next.done) {
        this.#hand = this.#callers.entries();
        continue;
      }
      const [token, caller] = next.value;
      if (!caller.used || passed >= MAX_PASSED) {
        this.delete(token);
        return;
      }
      caller.used = false;
      this.#callers.delete(token);
      this.#callers.set(token, caller);
    }
  }

  #share(caller: KnownCaller): void {
    const name = keyOf(caller);
    const shared = this.#permissions.get(name);
    if (shared !== undefined) {
      shared.users++;
      caller.share(shared);
      return;
    }
    const { scopes, person, resources, limits, from } = caller;
    this.#permissions.set(name, { scopes, person, resources, limits, from, users: 1 });
    this.bytes += bytesOfPermissions(caller);
  }

  #release(caller: KnownCaller): void {
    const name = keyOf(caller);
    const shared = this.#permissions.get(name);
    if (shared === undefined || --shared.users > 0) return;
    this.#permissions.delete(name);
    this.bytes -= bytesOfPermissions(caller);
  }
}

function keyOf({ scopes, resources, from }: Permissions): string {
  return JSON.stringify(from === undefined ? [scopes, resources] : [scopes, resources, from.texts]);
}

function bytesOf({ account, key }: KnownCaller): number {
  return CALLER_BYTES + account.length + (key === undefined ? 0 : TEXT_BYTES + 2 * key.length);
}

/**
 * Each text counts twice: in the lists, and in the key by which they are shared. A resource is also
 * stored as a pattern, an address as a range.
 */
function bytesOfPermissions({ scopes, resources, from }: Permissions): number {
  const bytes = (texts: readonly string[]): number =>
    texts.reduce((sum, text) => sum + TEXT_BYTES + 2 * text.length, 0);
  return PERMISSIONS_BYTES + bytes(scopes) + 2 * (bytes(resources) + bytes(from?.texts ?? []));
}
