/**
 * The authority's state, which the log of changes adds up to: namespaces with their accounts, rules and audit trail,
 * logins, keys and enrolments, and every token by its hash. Only fold.ts changes it.
 */

import { serviceScope } from "../../../src/access/admission.js";
import { keyOf, rootOf } from "../../../src/access/context-keys.js";
import { asBuffer } from "../../../src/buffer.js";
import { DEFAULT_NAMESPACE, GATEWAY } from "../../../src/contract/names.js";
import type { Timestamp } from "../../../src/gen/google/protobuf/timestamp.js";
import type { Account, Enrolment, Key, Login, Snapshot, Token } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { Caller, ContextKey } from "../../../src/gen/portico/auth/v1/policy.js";
import type { Rule } from "../../../src/gen/portico/auth/v1/rules.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import { AuditTrail } from "./audit-trail.js";

/** An account with what belongs to it. */
export interface AccountState extends Account {
  /** Its logins, oldest first, and its keys, by the hex of their SHA-256. */
  readonly logins: Set<string>;
  readonly keys: Set<string>;
}

/** A namespace with what belongs to it. */
export interface NamespaceState {
  readonly name: string;
  readonly created: Timestamp | undefined;
  readonly accounts: Map<string, AccountState>;
  readonly rules: Map<string, Rule>;
  readonly audit: AuditTrail;
}

/** What a token stands for. `spent` is a refresh token that was traded. */
export type TokenState =
  | { readonly kind: "access" | "refresh" | "spent"; readonly login: Login; readonly token: Token }
  | { readonly kind: "key"; readonly key: Key }
  | { readonly kind: "enrolment"; readonly enrolment: Enrolment };

/** 9999-12-31T23:59:59Z, the last moment a timestamp can say. */
const NEVER = 253_402_300_799_000;

const EMPTY_CALLER = { namespace: DEFAULT_NAMESPACE, account: "", resources: [], reportUse: false, enrolment: "" };

/** The state as of one revision. */
export class State {
  revision = 0;
  readonly namespaces = new Map<string, NamespaceState>();
  /** By the hex of their names. */
  readonly logins = new Map<string, Login>();
  /** By the hex of their SHA-256. */
  readonly enrolments = new Map<string, Enrolment>();
  /** What the keys of contexts are derived from; empty in stores of older versions, until the authority makes it. */
  contextSecret = Buffer.alloc(0);
  /** By which revision each name's key was replaced last. */
  readonly keyGenerations = new Map<string, number>();
  /** By the hex of their SHA-256. */
  readonly tokens = new Map<string, TokenState>();

  account(namespace: string, name: string): AccountState | undefined {
    return this.namespaces.get(namespace)?.accounts.get(name);
  }

  accounts(namespace: string): AccountState[] {
    return [...(this.namespaces.get(namespace)?.accounts.values() ?? [])];
  }

  /** The keys of an account, or of all accounts of the namespace. */
  keys(namespace: string, account?: string): Key[] {
    return this.accounts(namespace)
      .filter(({ name }) => account === undefined || name === account)
      .flatMap(({ keys }) => [...keys].map((hash) => this.tokens.get(hash)))
      .flatMap((token) => (token?.kind === "key" ? [token.key] : []));
  }

  enrolmentsOf(name: string): Enrolment[] {
    return [...this.enrolments.values()].filter((enrolment) => enrolment.name === name);
  }

  /**
   * The caller that a token stands for; undefined unless it is good for calls and has not expired.
   * @param sha256 of the token, in hexadecimal
   * @param now in milliseconds since 1970
   */
  callerOf(sha256: string, now: number): Caller | undefined {
    const token = this.tokens.get(sha256);
    switch (token?.kind) {
      case "access":
        return this.#accountCaller(token.login, token.token.expires, now);
      case "key": {
        const { key } = token;
        const caller = this.#accountCaller(key, key.expires, now);
        return caller && { ...caller, resources: key.resources, reportUse: true };
      }
      case "enrolment": {
        const { name } = token.enrolment;
        const scopes = [serviceScope(name)];
        return { ...EMPTY_CALLER, scopes, expires: toTimestamp(NEVER), enrolment: name };
      }
      default:
        return undefined;
    }
  }

  #accountCaller(owner: Pick<Key, "namespace" | "account">, expires: Key["expires"], now: number): Caller | undefined {
    const { namespace, account } = owner;
    const present = this.account(namespace, account);
    if (present === undefined || timestampMs(expires) <= now) return undefined;
    return { ...EMPTY_CALLER, namespace, account, scopes: present.scopes, expires };
  }

  /** The key under which contexts of a service's calls are signed; for `gateway`, the root of all. None without a secret. */
  contextKeys(name: string): ContextKey[] {
    if (this.contextSecret.length === 0) return [];
    const first = this.keyGenerations.get(GATEWAY) ?? 0;
    const root = { generation: first, secret: rootOf(this.contextSecret, first) };
    const key = name === GATEWAY ? root : keyOf(root, name, this.keyGenerations.get(name) ?? 0);
    return [{ name, generation: BigInt(key.generation), key: key.secret }];
  }

  /** What a guard may know: the one of an enrolled service its own, one of gateways all. */
  contextKeysFor(enrolment: string): ContextKey[] {
    const names = enrolment === GATEWAY ? [GATEWAY, ...this.keyGenerations.keys()] : [enrolment];
    return [...new Set(names)].flatMap((name) => this.contextKeys(name));
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
        audit: audit.records,
      })),
      logins: [...this.logins.values()],
      keys: [...this.tokens.values()].flatMap((token) => (token.kind === "key" ? [token.key] : [])),
      enrolments: [...this.enrolments.values()],
      contextSecret: this.contextSecret,
      keyGenerations: [...this.keyGenerations].map(([name, generation]) => ({ name, generation: BigInt(generation) })),
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
        audit: new AuditTrail(audit),
      });
    }
    for (const login of snapshot.logins) state.addLogin(login);
    for (const key of snapshot.keys) state.addKey(key);
    for (const enrolment of snapshot.enrolments) state.addEnrolment(enrolment);
    state.contextSecret = Buffer.from(snapshot.contextSecret);
    for (const { name, generation } of snapshot.keyGenerations) state.keyGenerations.set(name, Number(generation));
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

  /** Removes a login; returns the hashes of its access tokens. */
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
    this.enrolments.set(hex(enrolment.sha256), enrolment);
    this.tokens.set(hex(enrolment.sha256), { kind: "enrolment", enrolment });
  }

  removeEnrolment(enrolment: Enrolment): void {
    this.enrolments.delete(hex(enrolment.sha256));
    this.tokens.delete(hex(enrolment.sha256));
  }
}

/** How hashes are written as keys of maps. */
export function hex(hash: Uint8Array): string {
  return asBuffer(hash).toString("hex");
}
