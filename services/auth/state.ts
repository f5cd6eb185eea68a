/**
 * What the log adds up to: namespaces with their accounts, rules and audit trail, logins, keys and enrolments, and every
 * token by its hash. Only fold.ts changes it.
 */

import type { Timestamp } from "../../src/gen/google/protobuf/timestamp.js";
import type { Account, Enrolment, Key, Login, Snapshot, Token } from "../../src/gen/portico/auth/log/v1/log.js";
import type { AuditRecord } from "../../src/gen/portico/auth/v1/audit.js";
import type { Rule } from "../../src/gen/portico/auth/v1/rules.js";

export interface AccountState extends Account {
  /** Its logins, oldest first, and its keys, by the hex of their SHA-256. */
  readonly logins: Set<string>;
  readonly keys: Set<string>;
}

export interface NamespaceState {
  readonly name: string;
  readonly created: Timestamp | undefined;
  readonly accounts: Map<string, AccountState>;
  readonly rules: Map<string, Rule>;
  /** Oldest first. */
  readonly audit: AuditRecord[];
}

/** What a token stands for. `spent` is a refresh token that was traded. */
export type TokenState =
  | { readonly kind: "access" | "refresh" | "spent"; readonly login: Login; readonly token: Token }
  | { readonly kind: "key"; readonly key: Key }
  | { readonly kind: "enrolment"; readonly enrolment: Enrolment };

export class State {
  /** The newest revision that is folded in. */
  revision = 0;
  readonly namespaces = new Map<string, NamespaceState>();
  /** By the hex of their names. */
  readonly logins = new Map<string, Login>();
  readonly enrolments = new Map<string, Enrolment>();
  /** By the hex of their SHA-256. */
  readonly tokens = new Map<string, TokenState>();

  account(namespace: string, name: string): AccountState | undefined {
    return this.namespaces.get(namespace)?.accounts.get(name);
  }

  /** The keys of an account, or of all accounts of the namespace. */
  keys(namespace: string, account?: string): Key[] {
    const accounts = [...(this.namespaces.get(namespace)?.accounts.values() ?? [])];
    return accounts
      .filter(({ name }) => account === undefined || name === account)
      .flatMap(({ keys }) => [...keys].map((hash) => this.tokens.get(hash)))
      .flatMap((token) => (token?.kind === "key" ? [token.key] : []));
  }

  toSnapshot(): Snapshot {
    return {
      revision: BigInt(this.revision),
      namespaces: [...this.namespaces.values()].map(({ name, created, accounts, rules, audit }) => ({
        name,
        created,
        accounts: [...accounts.values()].map(({ name, scopes, created, password }) => ({
          name,
          scopes,
          created,
          password,
        })),
        rules: [...rules.values()],
        audit: [...audit],
      })),
      logins: [...this.logins.values()],
      keys: [...this.tokens.values()].flatMap((token) => (token.kind === "key" ? [token.key] : [])),
      enrolments: [...this.enrolments.values()],
    };
  }

  static fromSnapshot(snapshot: Snapshot): State {
    const state = new State();
    state.revision = Number(snapshot.revision);
    for (const { name, created, accounts, rules, audit } of snapshot.namespaces) {
      state.namespaces.set(name, {
        name,
        created,
        accounts: new Map(
          accounts.map((account) => [account.name, { ...account, logins: new Set(), keys: new Set() }]),
        ),
        rules: new Map(rules.map((rule) => [rule.id, rule])),
        audit: [...audit],
      });
    }
    for (const login of snapshot.logins) state.addLogin(login);
    for (const key of snapshot.keys) state.addKey(key);
    for (const enrolment of snapshot.enrolments) state.addEnrolment(enrolment);
    return state;
  }

  addLogin(login: Login): void {
    const name = hex(login.login);
    this.logins.set(name, login);
    this.account(login.namespace, login.account)?.logins.add(name);
    for (const token of login.access) this.tokens.set(hex(token.sha256), { kind: "access", login, token });
    for (const token of login.spent) this.tokens.set(hex(token.sha256), { kind: "spent", login, token });
    if (login.refresh) this.tokens.set(hex(login.refresh.sha256), { kind: "refresh", login, token: login.refresh });
  }

  /** Gives back the hashes of the tokens that were good for calls. */
  removeLogin(login: Login): Buffer[] {
    const name = hex(login.login);
    this.logins.delete(name);
    this.account(login.namespace, login.account)?.logins.delete(name);
    for (const token of [...login.access, ...login.spent]) this.tokens.delete(hex(token.sha256));
    if (login.refresh) this.tokens.delete(hex(login.refresh.sha256));
    return login.access.map(({ sha256 }) => sha256);
  }

  addKey(key: Key): void {
    this.tokens.set(hex(key.sha256), { kind: "key", key });
    this.account(key.namespace, key.account)?.keys.add(hex(key.sha256));
  }

  removeKey(key: Key): void {
    this.tokens.delete(hex(key.sha256));
    this.account(key.namespace, key.account)?.keys.delete(hex(key.sha256));
  }

  addEnrolment(enrolment: Enrolment): void {
    this.enrolments.set(enrolment.name, enrolment);
    this.tokens.set(hex(enrolment.sha256), { kind: "enrolment", enrolment });
  }

  removeEnrolment(enrolment: Enrolment): void {
    this.enrolments.delete(enrolment.name);
    this.tokens.delete(hex(enrolment.sha256));
  }
}

/** How hashes are written as keys of maps. */
export function hex(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("hex");
}
