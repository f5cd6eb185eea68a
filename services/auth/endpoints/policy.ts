/**
 * Policy: sends guards the rules, the limits of calls and every change to them, grants leases, and
 * resolves tokens to callers.
 *
 * Unsent changes for a guard wait in its Watcher, combined into one message, until the stream
 * accepts it. A guard that is too slow gets a snapshot instead. A revision without changes for
 * guards is sent with the next pong, or when a change waits for the guard.
 */

import { setMaxListeners } from "node:events";
import { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { LIMITS } from "../../../src/access/decide/restrictions.js";
import { GATEWAY } from "../../../src/contract/names.js";
import { coversService } from "../../../src/contract/resource.js";
import { Code, failedPrecondition, invalidArgument, StatusError } from "../../../src/errors.js";
import {
  type BatchResolveRequest,
  type BatchResolveResponse,
  BatchResolveResponse_Result,
  Change,
  type ListNamespaceIdsResponse,
  PolicyService,
  type WatchRequest,
  type WatchResponse,
  type WatchResponse_Pong,
  type WatchResponse_Snapshot,
} from "../../../src/gen/portico/auth/v1/policy.js";
import { type BuiltInContext, part, type ServicePart } from "../../../src/rpc/service.js";
import { toTimestamp } from "../../../src/time.js";
import type { Jwts } from "../jwt/jwts.js";
import { apart, coalesced } from "../log/changelog/coalesced.js";
import type { Journal, StateListener } from "../log/changelog/journal.js";
import type { StoreWatch } from "../log/changelog/store-watch.js";
import type { Holder, Leases, Owner } from "../log/leases/leases.js";
import { resolved } from "../log/state/ended-keys.js";
import type { KeyUses } from "./keys.js";
import { snapshotOf } from "./policy-snapshot.js";

/** Maximum number of unsent changes for a guard. Above it, a snapshot is less work for both. */
const MAX_UNSENT = 10_000;
/** Maximum bytes of unsent changes: they are sent in one message. */
const MAX_UNSENT_BYTES = 512 * 1024;
const MAX_UNSENT_PONGS = 100;
/** Maximum readings of the store for pongs, per lease. A pong may wait for the next reading. */
const READINGS_A_LEASE = 100;
/** Maximum tokens in one request, and maximum bytes of their callers: they are one message. */
const MAX_BATCH = 1_000;
const MAX_BATCH_BYTES = 1024 ** 2;

interface Options {
  readonly journal: Journal;
  readonly leases: Leases;
  readonly storeWatch: StoreWatch;
  readonly keyUses: KeyUses;
  readonly jwts: Jwts;
  /** Aborted when the authority is about to stop. */
  readonly stopping: AbortSignal;
}

interface WatchOptions extends Options {
  /**
   * Ensures this authority's lease record, then reads the log to its end. Pings share a reading.
   * @throws {StatusError} UNAVAILABLE when the store fails
   */
  readonly read: () => Promise<void>;
}

/** The gRPC service portico.auth.v1.Policy. */
export function policy(options: Options): ServicePart {
  const { journal, leases, storeWatch } = options;
  setMaxListeners(0, options.stopping); // Each guard adds a listener.
  const renewAndSync = async (): Promise<void> => {
    await leases.prepare();
    await journal.sync();
  };
  const read = coalesced(() => storeWatch.run(renewAndSync), apart(leases.leaseMs / READINGS_A_LEASE));
  return part(PolicyService, {
    watch: (requests, context) => watch({ ...options, read }, requests, context),
    batchResolve: (request) => batchResolve(options.journal, request),
    acceptJwt: async ({ jwt }) => ({ accepted: await options.jwts.accept(jwt) }),
    listNamespaceIds: () => listNamespaceIds(options.journal),
  });
}

async function* watch(
  options: WatchOptions,
  requests: AsyncIterable<WatchRequest>,
  context: BuiltInContext,
): AsyncGenerator<WatchResponse> {
  const { journal, leases, stopping } = options;
  if (stopping.aborted && !context.system) throw new StatusError(Code.UNAVAILABLE, "the authority is about to stop");
  const watcher = new Watcher(journal, enrolmentOf(context));
  const holder = leases.join(ownerOf(context), () => watcher.notify());
  const stop = (): void => watcher.end();
  context.signal.addEventListener("abort", stop);
  const sendAway = (): void => watcher.pong(unaskedPong(journal));
  stopping.addEventListener("abort", sendAway);
  let closed = false;
  const listening = listen(options, requests, holder, watcher).then(
    () => {
      closed = !context.signal.aborted;
      watcher.end();
    },
    (error) => watcher.end(error),
  );
  try {
    yield* watcher.messages();
    await listening;
  } finally {
    context.signal.removeEventListener("abort", stop);
    stopping.removeEventListener("abort", sendAway);
    watcher.end();
    leases.leave(holder, closed);
  }
}

function ownerOf({ caller, system }: BuiltInContext): Owner {
  if (system || !(caller instanceof KnownCaller)) return "own process";
  return { enrolment: caller.enrolment, sha256: caller.sha256 };
}

/** Reads the guard's messages until it closes its side. */
async function listen(
  options: WatchOptions,
  requests: AsyncIterable<WatchRequest>,
  holder: Holder,
  watcher: Watcher,
): Promise<void> {
  const { journal, leases, keyUses } = options;
  /** The newest ping without a pong. */
  let unanswered: bigint | undefined;
  let responding = false;
  // Not awaited: an `applied` message must count at once, even while the store is read for a ping.
  const respond = (): void => {
    if (responding || unanswered === undefined || !leases.mayGrant(holder)) return;
    const sequence = unanswered;
    unanswered = undefined;
    responding = true;
    pong(options, holder, watcher, sequence).then(
      () => {
        responding = false;
        respond();
      },
      (error) => watcher.end(error),
    );
  };
  for await (const { message } of requests) {
    if ((message?.$case === "start") === watcher.started) {
      throw invalidArgument("message: `start` comes first, and once");
    }
    switch (message?.$case) {
      case "start":
        await journal.sync();
        leases.understands(holder, message.value.restrictions);
        checkUnderstands(leases, holder);
        watcher.start(message.value.service, message.value.restrictions.includes(LIMITS));
        break;
      case "ping":
        for (const sha256 of message.value.usedKeys) keyUses.record(sha256);
        unanswered = message.value.sequence;
        respond();
        break;
      case "applied":
        leases.applied(holder, Math.min(Number(message.value.revision), journal.state.revision));
        respond();
        break;
    }
  }
}

/**
 * The enrolment that decides which assertion keys a guard gets. The guard of this process gets a
 * gateway's keys.
 */
function enrolmentOf({ caller, system }: BuiltInContext): string {
  return system ? GATEWAY : (caller?.enrolment ?? "");
}

/** Responds to a ping with a pong, which grants the guard a lease. */
async function pong(
  { journal, leases, stopping, read }: WatchOptions,
  holder: Holder,
  watcher: Watcher,
  sequence: bigint,
): Promise<void> {
  await read();
  if (watcher.ended) return;
  checkUnderstands(leases, holder);
  // Nothing may be awaited before the grant: a change made meanwhile would not wait for this lease.
  const { revision } = journal.state;
  watcher.pong({
    sequence,
    revision: BigInt(revision),
    leaseMs: BigInt(leases.leaseMs),
    time: toTimestamp(journal.now),
    stopping: stopping.aborted,
  });
  leases.grant(holder, revision);
}

/** @throws {StatusError} FAILED_PRECONDITION if the guard does not know a restriction in force. */
function checkUnderstands(leases: Leases, holder: Holder): void {
  const lacked = leases.lackedBy(holder);
  if (lacked.length === 0) return;
  throw failedPrecondition(
    `this guard gets no lease: restrictions are in force that its version does not understand (${lacked.join(", ")}); ` +
      "upgrade it, or delete them",
  );
}

/** Says that the authority is about to stop, and grants nothing. */
function unaskedPong(journal: Journal): WatchResponse_Pong {
  return { sequence: 0n, revision: 0n, leaseMs: 0n, time: toTimestamp(journal.now), stopping: true };
}

class Watcher implements StateListener {
  readonly #journal: Journal;
  readonly #enrolment: string;
  /** The service whose rules are sent; empty for all rules. */
  #service = "";
  /** Whether the guard knows limits of calls. It would break off at a change of an unknown kind. */
  #knowsLimits = false;
  #unfollow: (() => void) | undefined;
  #snapshot = false;
  /** The unsent parts of a snapshot. */
  #parts: WatchResponse_Snapshot[] = [];
  #revision = 0;
  #changes: Change[] = [];
  #bytes = 0;
  #news = false;
  #pongs: WatchResponse_Pong[] = [];
  #ended = false;
  #error: unknown;
  #wake: () => void = () => undefined;

  constructor(journal: Journal, enrolment: string) {
    this.#journal = journal;
    this.#enrolment = enrolment;
  }

  get started(): boolean {
    return this.#unfollow !== undefined;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Begins with a snapshot: the guard's revision may be from before a backup was restored. */
  start(service: string, knowsLimits: boolean): void {
    this.#service = service;
    this.#knowsLimits = knowsLimits;
    this.#unfollow = this.#journal.follow(this);
    this.replaced();
  }

  changed(revision: number, made: readonly Change[]): void {
    this.#revision = revision;
    this.#news = true;
    const changes = made.filter((change) => this.#maySee(change));
    for (const change of changes) this.#bytes += bytesOf(change);
    if (this.#changes.length + changes.length > MAX_UNSENT || this.#bytes > MAX_UNSENT_BYTES) this.#snapshot = true;
    if (!this.#snapshot) this.#changes.push(...changes);
    // Without changes for guards, the revision waits for the next pong: sending each to a thousand
    // guards is slow.
    if (made.length > 0) this.#wake();
  }

  /** Sends what waits. */
  notify(): void {
    this.#wake();
  }

  #maySee({ change }: Change): boolean {
    switch (change?.$case) {
      case "contextKey":
        return [GATEWAY, change.value.name].includes(this.#enrolment);
      case "ruleCreated":
        return this.#service === "" || coversService(change.value.rule?.resource ?? "", this.#service);
      case "ruleDeleted":
        return this.#service === "" || coversService(change.value.resource, this.#service);
      // All of them: a limit that is set may have covered the service before.
      case "limitSet":
      case "limitDeleted":
      case "lenders":
        return this.#knowsLimits;
      default:
        return true;
    }
  }

  replaced(): void {
    this.#snapshot = true;
    this.#wake();
  }

  pong(pong: WatchResponse_Pong): void {
    if (this.#pongs.length >= MAX_UNSENT_PONGS) this.#pongs.shift();
    this.#pongs.push(pong);
    this.#wake();
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#unfollow?.();
    this.#wake();
  }

  async *messages(): AsyncGenerator<WatchResponse> {
    while (!this.#ended) {
      const message = this.#next();
      if (message) yield { message };
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
    if (this.#error !== undefined) throw this.#error;
  }

  #next(): WatchResponse["message"] {
    if (this.#snapshot && this.#parts.length === 0) {
      this.#snapshot = false;
      this.#takeChanges();
      this.#parts = snapshotOf(this.#journal.state, this.#enrolment, this.#service);
    }
    const part = this.#parts.shift();
    if (part !== undefined) return { $case: "snapshot", value: part };
    if (this.#news) {
      const changes = this.#takeChanges();
      return { $case: "changes", value: { revision: BigInt(this.#revision), changes } };
    }
    const pong = this.#pongs.shift();
    return pong && { $case: "pong", value: pong };
  }

  #takeChanges(): Change[] {
    const changes = this.#changes;
    this.#news = false;
    this.#changes = [];
    this.#bytes = 0;
    return changes;
  }
}

/** Cached by change, because each change goes to many guards. */
const sizes = new WeakMap<Change, number>();

function bytesOf(change: Change): number {
  let bytes = sizes.get(change);
  if (bytes === undefined) {
    bytes = Change.encode(change).finish().length;
    sizes.set(change, bytes);
  }
  return bytes;
}

async function listNamespaceIds(journal: Journal): Promise<ListNamespaceIdsResponse> {
  await journal.sync();
  const { namespaces, installationId } = journal.state;
  return { namespaces: [...namespaces.values()].map(({ name, id = "" }) => ({ name, id })), installationId };
}

/** The callers of many tokens, with one reading of the log. */
async function batchResolve(journal: Journal, { sha256 }: BatchResolveRequest): Promise<BatchResolveResponse> {
  if (sha256.length > MAX_BATCH) throw invalidArgument(`sha256: must have at most ${MAX_BATCH} entries`);
  if (sha256.some(({ length }) => length !== 32)) throw invalidArgument("sha256: each must have 32 bytes");
  await journal.sync();
  const { state, now } = journal;
  const results: BatchResolveResponse["results"] = [];
  let bytes = 0;
  for (const hash of sha256) {
    const result = resolved(state, hash, now);
    bytes += BatchResolveResponse_Result.encode(result).finish().length;
    // The guard requests the rest again.
    if (bytes > MAX_BATCH_BYTES && results.length > 0) break;
    results.push(result);
  }
  return { revision: BigInt(state.revision), results };
}
