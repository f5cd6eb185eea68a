/**
 * The keys that sign caller assertions and delegation tokens. All are derived from one secret of
 * the authority's log:
 *
 *     secret ─HMAC─▶ root (of `gateway`) ─HMAC─▶ a key for each service
 *                                        └─────▶ the key of delegation tokens
 *
 * Gateways have the root key; a service has only its own key. A key is replaced by one of a new
 * generation. The generation is the revision of the change that replaced the key. Replacing the
 * root key replaces every key.
 */
import { createHmac } from "node:crypto";
import { GATEWAY } from "../../contract/names.js";
import type { ContextKey } from "../../gen/portico/auth/v1/policy.js";

/** A key of 32 bytes, and the revision that made it. */
export interface AssertionKey {
  readonly generation: number;
  readonly secret: Buffer;
}

/** @param secret of the authority */
export function rootOf(secret: Uint8Array, generation: number): Buffer {
  return derive(secret, `root ${generation}`);
}

/** @param generation of the service's own key; the root's generation is used if it is later */
export function keyOf(root: AssertionKey, service: string, generation: number): AssertionKey {
  const later = Math.max(root.generation, generation);
  return { generation: later, secret: derive(root.secret, `service ${service} ${later}`) };
}

/** The key of delegation tokens, derived from the root key. */
export function delegationKeyOf(root: AssertionKey): Buffer {
  return derive(root.secret, "ticket");
}

function derive(key: Uint8Array, what: string): Buffer {
  return createHmac("sha256", key).update(what).digest();
}

/** Counts the changes of all AssertionKeys of this process. */
let versions = 0;

/** The keys that one process has. */
export class AssertionKeys {
  /**
   * Changes with each change of the keys, and is unique among all AssertionKeys of the process.
   * What was signed or verified at another version is checked again.
   */
  version = ++versions;
  /** The key of delegation tokens; undefined if there is no root key. */
  delegationToken: Buffer | undefined;
  #root: AssertionKey | undefined;
  /** The keys as received, by service. If there is a root key, only their generations are used. */
  readonly #given = new Map<string, AssertionKey>();
  readonly #derived = new Map<string, AssertionKey>();

  /** The key for calls of a service; undefined if it is not known. */
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

/**
 * The maximum number of derived keys that are cached. Callers cannot make up names of services, so
 * only services that come and go can reach it.
 */
const MAX_DERIVED = 10_000;
