/**
 * The keys under which contexts of calls are signed, and tickets. All are derived from one secret of the authority's log:
 *
 *     secret ─HMAC─▶ root (of `gateway`) ─HMAC─▶ a key for each service
 *                                        └─────▶ the key of tickets
 *
 * Gateways have the root, a service has its own key alone. A key is replaced by a new generation, which is the revision
 * of the change that replaced it; replacing the root replaces every key.
 */
import { createHmac } from "node:crypto";
import { GATEWAY } from "../../contract/names.js";
import type { ContextKey } from "../../gen/portico/auth/v1/policy.js";

/** A key of 32 bytes, and the revision that made it. */
export interface AssertionKey {
  readonly generation: number;
  readonly secret: Buffer;
}

/** @param secret of the authority. */
export function rootOf(secret: Uint8Array, generation: number): Buffer {
  return derive(secret, `root ${generation}`);
}

/** @param generation of the service's own key; that of the root counts where it is later. */
export function keyOf(root: AssertionKey, service: string, generation: number): AssertionKey {
  const later = Math.max(root.generation, generation);
  return { generation: later, secret: derive(root.secret, `service ${service} ${later}`) };
}

/** The key of tickets, derived from the root. */
export function delegationKeyOf(root: AssertionKey): Buffer {
  return derive(root.secret, "ticket");
}

function derive(key: Uint8Array, what: string): Buffer {
  return createHmac("sha256", key).update(what).digest();
}

/** Counts the changes of all ContextKeys of this process. */
let versions = 0;

/** The keys that one process has. */
export class AssertionKeys {
  /** Differs after each change, and from that of any other ContextKeys: what was signed or verified by another is looked at again. */
  version = ++versions;
  /** The key of tickets; undefined where there is no root. */
  delegationToken: Buffer | undefined;
  #root: AssertionKey | undefined;
  /** As given, by service: with a root, only the generations count. */
  readonly #given = new Map<string, AssertionKey>();
  readonly #derived = new Map<string, AssertionKey>();

  /** The key of a service's calls; undefined where it is not known. */
  of(service: string): AssertionKey | undefined {
    const root = this.#root;
    if (root === undefined) return this.#given.get(service);
    const known = this.#derived.get(service);
    if (known !== undefined) return known;
    const key = keyOf(root, service, this.#given.get(service)?.generation ?? 0);
    if (this.#derived.size >= MAX_DERIVED) this.#derived.clear();
    this.#derived.set(service, key);
    return key;
  }

  set({ name, generation, key }: ContextKey): void {
    const given = { generation: Number(generation), secret: key };
    if (name === GATEWAY) {
      this.#root = given;
      this.delegationToken = delegationKeyOf(given);
      this.#derived.clear();
    } else {
      this.#given.set(name, given);
      this.#derived.delete(name);
    }
    this.version = ++versions;
  }

  clear(): void {
    this.#root = undefined;
    this.delegationToken = undefined;
    this.#given.clear();
    this.#derived.clear();
    this.version = ++versions;
  }
}

/** Services called have names that a caller cannot choose; this is for those that come and go. */
const MAX_DERIVED = 10_000;
