/**
 * A snapshot in parts: `Snapshot` messages of limited size, each with a part of the state. They are
 * made one by one from a copy that does not change. So the authority works on while a large
 * snapshot is written.
 */

import { isAdminScope } from "../../../../src/contract/admin-parts.js";
import type { Timestamp } from "../../../../src/gen/google/protobuf/timestamp.js";
import {
  type Account,
  type Enrolment,
  type Key,
  type Login,
  type Namespace,
  type PageSession,
  Snapshot,
  type Token,
  type TrustRecord,
} from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Lenders, RevisedLimit } from "../../../../src/gen/portico/auth/v1/policy.js";
import type { Rule } from "../../../../src/gen/portico/auth/v1/rules.js";
import type { ConfiguredService } from "../../../../src/gen/portico/registry/v1/services.js";
import { timestampMs } from "../../../../src/time.js";
import type { FrozenTable, RecordType } from "../records/record-table.js";
import type { FrozenGrpcNames } from "./grpc-names.js";
import type { FrozenOAuth } from "./oauth-table.js";
import type { FrozenPeople } from "./people-table.js";

/** Maximum bytes of a part, unless a single record is larger. */
const MAX_PART = 256 * 1024;

/** A copy of the state at one revision. */
export interface FrozenState {
  readonly revision: number;
  readonly namespaces: readonly FrozenNamespace[];
  readonly enrolments: readonly Enrolment[];
  readonly contextSecret: Buffer;
  readonly installationId: string;
  readonly keyGenerations: readonly (readonly [name: string, generation: number])[];
  readonly grpcNames: FrozenGrpcNames;
  readonly services: readonly ConfiguredService[];
  readonly lenders: Lenders;
  /** Whether a key is for clients at some addresses. */
  readonly hasKeysFrom: boolean;
  readonly oauth: FrozenOAuth;
  readonly trusts: readonly TrustRecord[];
  readonly people: FrozenPeople;
  readonly sessions: readonly PageSession[];
  readonly auditShares: readonly (readonly [name: string, count: number])[];
  readonly keys: FrozenTable;
  readonly logins: FrozenTable;
  /**
   * Must be called after the last reading: until then, the memory of removed records stays in use.
   */
  release(): void;
}

/** An account, and the numbers of its records. */
export interface FrozenAccount extends Account {
  /** Its logins, least recently used first, and its keys, oldest first. */
  readonly logins: readonly number[];
  readonly keys: readonly number[];
}

export interface FrozenNamespace {
  readonly name: string;
  readonly created: Timestamp | undefined;
  readonly id: string | undefined;
  readonly accounts: readonly FrozenAccount[];
  readonly rules: readonly Rule[];
  readonly limits: readonly RevisedLimit[];
}

const EMPTY = Snapshot.fromPartial({});
const EMPTY_NAMESPACE = { created: undefined, accounts: [], rules: [], disabledRules: [], limits: [] };

/** Keys, encoded as chunks of a snapshot. Keys that are limited to resources are marked. */
export const KEYS: RecordType<Key> = {
  encode: (key) => encode({ keys: [key] }),
  decode: (bytes) => Snapshot.decode(bytes).keys[0]!,
  namesOf: ({ sha256, prefix }) => [sha256, ...(prefix === "" ? [] : [Buffer.from(prefix)])],
  dueOf: ({ expires }) => timestampMs(expires),
  isMarked: ({ resources }) => resources.length > 0,
};

/** Logins, encoded as chunks of a snapshot. Found by their name, and by each of their tokens. */
export const LOGINS: RecordType<Login> = {
  encode: (login) => encode({ logins: [login] }),
  decode: (bytes) => Snapshot.decode(bytes).logins[0]!,
  namesOf: (login) => {
    const tokens = tokensOf(login).map(({ sha256 }) => sha256);
    return [login.login, ...tokens.filter((sha256) => !sha256.equals(login.login))];
  },
  dueOf: (login) => Math.min(...tokensOf(login).map(({ expires }) => timestampMs(expires))),
  isMarked: () => false,
};

/**
 * The format of a snapshot (snapshots.ts): the lowest that keeps all of the state. A version that
 * knows only lower ones would lose a part of it. Format 2 has limits of calls. Format 3 has what
 * is disabled, keys that may do less than their accounts, clients, grants and device codes of
 * OAuth, issuers and trusts, and sessions of the pages.
 */
export function formatOf(state: FrozenState): 1 | 2 | 3 {
  const { oauthClients, grants, deviceCodes } = state.oauth;
  if (state.hasKeysFrom || oauthClients.length + grants.length + deviceCodes.length > 0) return 3;
  if (state.trusts.length + state.sessions.length > 0) return 3;
  const accounts = state.namespaces.flatMap(({ accounts }) => accounts);
  if (accounts.some((account) => account.disabled || hasCallsOnly(account, state))) return 3;
  return state.namespaces.some(({ limits }) => limits.length > 0) ? 2 : 1;
}

/** Whether an administrator has a key that administers nothing. Only few accounts are ones. */
function hasCallsOnly({ scopes, keys }: FrozenAccount, state: FrozenState): boolean {
  return scopes.some(isAdminScope) && keys.some((key) => KEYS.decode(state.keys.read(key)).callsOnly === true);
}

/** The parts in order, at least one. Merging them in this order restores the state. */
export function* partsOf(state: FrozenState): Generator<Buffer> {
  let chunks: Buffer[] = [];
  let size = 0;
  for (const chunk of chunksOf(state)) {
    if (size > 0 && size + chunk.length > MAX_PART) {
      yield Buffer.concat(chunks);
      chunks = [];
      size = 0;
    }
    chunks.push(chunk);
    size += chunk.length;
  }
  yield Buffer.concat(chunks);
}

/**
 * Messages with one item each. Concatenated protobuf messages decode as one message with all items.
 */
function* chunksOf(state: FrozenState): Generator<Buffer> {
  const { revision, contextSecret, installationId, keyGenerations, grpcNames } = state;
  const grpcNamesRevision = BigInt(grpcNames.revision);
  const generations = keyGenerations.map(([name, generation]) => ({ name, generation: BigInt(generation) }));
  const numbers = { revision: BigInt(revision), keyGenerations: generations, grpcNamesRevision };
  yield encode({ ...numbers, contextSecret, installationId });
  for (const { name, created, id, accounts, rules, limits } of state.namespaces) {
    const inNamespace = (some: Partial<Namespace>) => encode({ namespaces: [{ ...EMPTY_NAMESPACE, name, ...some }] });
    yield inNamespace({ created, id });
    for (const account of accounts) {
      yield inNamespace({ accounts: [account] });
      for (const login of account.logins) yield state.logins.read(login);
      for (const key of account.keys) yield state.keys.read(key);
    }
    for (const rule of rules) yield inNamespace(rule.disabled ? { disabledRules: [rule] } : { rules: [rule] });
    for (const limit of limits) yield inNamespace({ limits: [limit] });
  }
  for (const enrolment of state.enrolments) yield encode({ enrolments: [enrolment] });
  for (const owner of grpcNames.services) yield encode({ grpcNames: [owner] });
  for (const service of state.services) yield encode({ services: [service] });
  if (state.lenders.revision > 0n) yield encode({ lenders: state.lenders });
  for (const client of state.oauth.oauthClients) yield encode({ oauthClients: [client] });
  for (const grant of state.oauth.grants) yield encode({ grants: [grant] });
  for (const code of state.oauth.deviceCodes) yield encode({ deviceCodes: [code] });
  for (const record of state.trusts) yield encode({ trustRecords: [record] });
  for (const link of state.people.personLinks) yield encode({ personLinks: [link] });
  for (const attempt of state.people.usedAttempts) yield encode({ usedAttempts: [attempt] });
  for (const session of state.sessions) yield encode({ pageSessions: [session] });
  for (const [name, count] of state.auditShares) yield encode({ auditShares: [{ name, count: BigInt(count) }] });
}

function encode(some: Partial<Snapshot>): Buffer {
  return Snapshot.encode({ ...EMPTY, ...some }).finish();
}

function tokensOf({ access, refresh, spent }: Login): Token[] {
  return [...access, ...spent, ...(refresh ? [refresh] : [])];
}
