/**
 * A snapshot in parts: messages `Snapshot` that hold a piece of the state each, of bounded size. They are made one by
 * one of a copy that does not change, so that a large snapshot is written while the authority works on.
 */

import type { Timestamp } from "../../../../src/gen/google/protobuf/timestamp.js";
import {
  type Account,
  type Enrolment,
  type Key,
  type Login,
  type Namespace,
  Snapshot,
  type Token,
} from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Rule } from "../../../../src/gen/portico/auth/v1/rules.js";
import { timestampMs } from "../../../../src/time.js";
import type { FrozenTable, RecordType } from "../records/record-table.js";
import type { FrozenGrpcNames } from "./grpc-names.js";

/** Bytes of a part, unless a single record is larger. */
const MAX_PART = 256 * 1024;

/** A copy of the state as it was at one revision. */
export interface FrozenState {
  readonly revision: number;
  readonly namespaces: readonly FrozenNamespace[];
  readonly enrolments: readonly Enrolment[];
  readonly contextSecret: Buffer;
  readonly installationId: string;
  readonly keyGenerations: readonly (readonly [name: string, generation: number])[];
  readonly grpcNames: FrozenGrpcNames;
  readonly auditShares: readonly (readonly [name: string, count: number])[];
  readonly keys: FrozenTable;
  readonly logins: FrozenTable;
  /** Must be called when the copy is not read any more: until then, the memory of what is removed is not freed. */
  release(): void;
}

/** An account, and the numbers of its records. */
export interface FrozenAccount extends Account {
  /** Its logins, the one that was used longest ago first, and its keys, oldest first. */
  readonly logins: readonly number[];
  readonly keys: readonly number[];
}

interface FrozenNamespace {
  readonly name: string;
  readonly created: Timestamp | undefined;
  readonly id: string | undefined;
  readonly accounts: readonly FrozenAccount[];
  readonly rules: readonly Rule[];
}

const EMPTY = Snapshot.fromPartial({});
const EMPTY_NAMESPACE = { created: undefined, accounts: [], rules: [] };

/** Keys, as the pieces of a snapshot; those that are limited to resources are marked. */
export const KEYS: RecordType<Key> = {
  encode: (key) => encode({ keys: [key] }),
  decode: (bytes) => Snapshot.decode(bytes).keys[0]!,
  namesOf: ({ sha256, prefix }) => [sha256, ...(prefix === "" ? [] : [Buffer.from(prefix)])],
  dueOf: ({ expires }) => timestampMs(expires),
  isMarked: ({ resources }) => resources.length > 0,
};

/** Logins, as the pieces of a snapshot; found by their name, and by each of their tokens. */
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

/** The parts in order; merged one after the other, they give the state again. At least one. */
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

/** Messages of which each holds one thing. Protobuf messages joined end to end are one message with the fields of all. */
function* chunksOf(state: FrozenState): Generator<Buffer> {
  const { revision, contextSecret, installationId, keyGenerations, grpcNames } = state;
  const grpcNamesRevision = BigInt(grpcNames.revision);
  const generations = keyGenerations.map(([name, generation]) => ({ name, generation: BigInt(generation) }));
  const numbers = { revision: BigInt(revision), keyGenerations: generations, grpcNamesRevision };
  yield encode({ ...numbers, contextSecret, installationId });
  for (const { name, created, id, accounts, rules } of state.namespaces) {
    const inNamespace = (some: Partial<Namespace>) => encode({ namespaces: [{ ...EMPTY_NAMESPACE, name, ...some }] });
    yield inNamespace({ created, id });
    for (const account of accounts) {
      yield inNamespace({ accounts: [account] });
      for (const login of account.logins) yield state.logins.read(login);
      for (const key of account.keys) yield state.keys.read(key);
    }
    for (const rule of rules) yield inNamespace({ rules: [rule] });
  }
  for (const enrolment of state.enrolments) yield encode({ enrolments: [enrolment] });
  for (const owner of grpcNames.services) yield encode({ grpcNames: [owner] });
  for (const [name, count] of state.auditShares) yield encode({ auditShares: [{ name, count: BigInt(count) }] });
}

function encode(some: Partial<Snapshot>): Buffer {
  return Snapshot.encode({ ...EMPTY, ...some }).finish();
}

function tokensOf({ access, refresh, spent }: Login): Token[] {
  return [...access, ...spent, ...(refresh ? [refresh] : [])];
}
