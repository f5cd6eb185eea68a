/**
 * People who sign in by issuers (OpenID Connect): which account each of them is, and which attempts
 * to sign in have been used. All objects are immutable: a change replaces them, so a draft need not
 * copy them.
 */
import type { PersonLink, Snapshot, UsedAttempt } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { timestampMs } from "../../../../src/time.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";
import { hex } from "./hex.js";

/** Whom an issuer names by a subject. */
export type Person = Pick<PersonLink, "namespace" | "issuer" | "subject">;

export type FrozenPeople = Pick<Snapshot, "personLinks" | "usedAttempts">;

export class PeopleTable {
  readonly #links: MapEntries<string, PersonLink>;
  /** By the hex of their SHA-256. */
  readonly #used: MapEntries<string, UsedAttempt>;

  /** @param base makes this a draft of it; see State.draft */
  constructor(base?: PeopleTable) {
    this.#links = base === undefined ? new Map() : new DraftMap(base.#links);
    this.#used = base === undefined ? new Map() : new DraftMap(base.#used);
  }

  link(person: Person): PersonLink | undefined {
    return this.#links.get(keyOf(person));
  }

  putLink(link: PersonLink): void {
    this.#links.set(keyOf(link), link);
  }

  /** The people whom an issuer names. */
  linksBy(namespace: string, issuer: string): PersonLink[] {
    return [...this.#links.values()].filter((link) => link.issuer === issuer && link.namespace === namespace);
  }

  /** The people who are an account. */
  linksOf(namespace: string, account: string): PersonLink[] {
    return [...this.#links.values()].filter((link) => link.account === account && link.namespace === namespace);
  }

  /** The scopes that accounts have by the groups of their people only, by the account's name. */
  scopesOfGroups(namespace: string): Map<string, Set<string>> {
    const given = new Map<string, Set<string>>();
    for (const { namespace: own, account, scopes } of this.#links.values()) {
      if (own === namespace) given.set(account, new Set([...(given.get(account) ?? []), ...scopes]));
    }
    return given;
  }

  /** After an account got these scopes: what was taken away, and is given later, is its own. */
  keepScopes(namespace: string, account: string, kept: readonly string[]): void {
    for (const link of this.linksOf(namespace, account)) {
      const scopes = link.scopes.filter((scope) => kept.includes(scope));
      if (scopes.length < link.scopes.length) this.putLink({ ...link, scopes });
    }
  }

  removeLink(person: Person): void {
    this.#links.delete(keyOf(person));
  }

  isUsed(sha256: Buffer): boolean {
    return this.#used.get(hex(sha256)) !== undefined;
  }

  use(attempt: UsedAttempt): void {
    this.#used.set(hex(attempt.sha256), attempt);
  }

  /** Removes the links of a deleted account. */
  removeLinksOf(namespace: string, account: string): void {
    for (const link of this.linksOf(namespace, account)) this.removeLink(link);
  }

  /** Removes attempts that have expired. Reads all. */
  forget(now: number): void {
    for (const { sha256, expires } of [...this.#used.values()]) {
      if (timestampMs(expires) <= now) this.#used.delete(hex(sha256));
    }
  }

  freeze(): FrozenPeople {
    return { personLinks: [...this.#links.values()], usedAttempts: [...this.#used.values()] };
  }

  merge({ personLinks, usedAttempts }: FrozenPeople): void {
    for (const link of personLinks) this.putLink(link);
    for (const attempt of usedAttempts) this.use(attempt);
  }
}

/** A name has no space. A subject may have some, so it is the last. */
function keyOf({ namespace, issuer, subject }: Person): string {
  return `${namespace} ${issuer} ${subject}`;
}
