/**
 * Which callers have changed lately, and when. A guard caches many callers, and does not search
 * them at each change. Instead, each cached caller has the version at which it was last confirmed.
 * When it is used again, it is compared with the changes since that version.
 *
 * Versions increase across snapshots of the authority, so a caller that was found before a snapshot
 * is never confirmed after it. After a snapshot, the version increases by the same steps as the
 * revision.
 */
import type { KnownCaller } from "./known-caller.js";

/**
 * Maximum number of tokens, accounts and namespaces whose changes are remembered. At least the
 * newest half of this number is remembered.
 */
const MAX_REMEMBERED = 40_000;

/** What is known of a token's caller, or of the owner of a key that has ended. */
export type ConfirmedCaller = Pick<KnownCaller, "hash" | "enrolment" | "namespace" | "account"> & {
  confirmedAt: number;
};

/** The callers that changed in one revision. */
export class ChangedCallers {
  /** By namespace. */
  readonly accounts = new Map<string, Set<string>>();
  /** As `KnownCaller.hash`. */
  readonly tokens = new Set<string>();
  readonly namespaces = new Set<string>();

  get some(): boolean {
    return this.accounts.size + this.tokens.size + this.namespaces.size > 0;
  }

  addAccount(namespace: string, account: string): void {
    const accounts = this.accounts.get(namespace);
    if (accounts === undefined) this.accounts.set(namespace, new Set([account]));
    else accounts.add(account);
  }

  has({ hash, enrolment, namespace, account }: KnownCaller): boolean {
    if (this.tokens.has(hash)) return true;
    if (enrolment !== undefined) return false;
    return this.namespaces.has(namespace) || this.accounts.get(namespace)?.has(account) === true;
  }
}

/**
 * The changes of consecutive versions: for each token, account and namespace the last version that
 * changed it.
 */
class Remembered {
  /** The version before the first of these changes. */
  readonly start: number;
  size = 0;
  readonly #tokens = new Map<string, number>();
  readonly #accounts = new Map<string, Map<string, number>>();
  readonly #namespaces = new Map<string, number>();

  constructor(start: number) {
    this.start = start;
  }

  add(version: number, { tokens, accounts, namespaces }: ChangedCallers): void {
    for (const token of tokens) this.#tokens.set(token, version);
    for (const [namespace, names] of accounts) {
      const versions = this.#accounts.get(namespace) ?? new Map<string, number>();
      this.#accounts.set(namespace, versions);
      for (const name of names) versions.set(name, version);
      this.size += names.size;
    }
    for (const namespace of namespaces) this.#namespaces.set(namespace, version);
    this.size += tokens.size + namespaces.size;
  }

  /** The last version that changed the caller; −1 for none. */
  last({ hash, enrolment, namespace, account }: ConfirmedCaller): number {
    const token = this.#tokens.get(hash) ?? -1;
    if (enrolment !== undefined) return token;
    const own = this.#accounts.get(namespace)?.get(account) ?? -1;
    return Math.max(token, own, this.#namespaces.get(namespace) ?? -1);
  }
}

/** The changes to callers that one guard has applied. */
export class CallerChanges {
  /** The revision of the last change. What was resolved before it may be out of date. */
  revision = 0n;
  /** The version of the last change. */
  version = 0;
  /** The version minus the revision. */
  #lead = 0;
  #younger = new Remembered(0);
  #older = new Remembered(0);

  add(revision: bigint, changed: ChangedCallers): void {
    this.revision = revision;
    this.version = Number(revision) + this.#lead;
    this.#younger.add(this.version, changed);
    if (this.#younger.size < MAX_REMEMBERED / 2) return;
    this.#older = this.#younger;
    this.#younger = new Remembered(this.version);
  }

  /** Every caller may have changed: the state of the given revision replaces what was known. */
  addAll(revision: bigint): void {
    this.revision = revision;
    this.version++;
    this.#lead = this.version - Number(revision);
    this.#younger = new Remembered(this.version);
    this.#older = this.#younger;
  }

  /**
   * The version of a revision; for a later revision than the last change, the version of that
   * change.
   */
  versionOf(revision: bigint): number {
    return Math.min(Number(revision) + this.#lead, this.version);
  }

  /**
   * Whether the cached caller is still correct. If so, it is marked as confirmed at this version.
   * False also if changes that it must be compared with are no longer remembered.
   */
  confirm(caller: ConfirmedCaller): boolean {
    const { confirmedAt } = caller;
    if (confirmedAt === this.version) return true;
    if (confirmedAt < this.#older.start) return false;
    if (this.#younger.last(caller) > confirmedAt || this.#older.last(caller) > confirmedAt) return false;
    caller.confirmedAt = this.version;
    return true;
  }
}
