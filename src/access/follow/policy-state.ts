/**
 * The rules, the limits of calls and the keys of caller assertions as of one revision. The messages
 * of one stream change them: first a snapshot, in one or more parts, and then changes, each with
 * its revision.
 */
import { DEFAULT_NAMESPACE } from "../../contract/names.js";
import { Per } from "../../gen/portico/auth/v1/limits.js";
import type {
  Change,
  Change_LimitSet,
  Lenders,
  WatchResponse,
  WatchResponse_Changes,
  WatchResponse_Snapshot,
} from "../../gen/portico/auth/v1/policy.js";
import { LimitSet } from "../../limits/limit-set.js";
import { AssertionKeys } from "../assertions/assertion-keys.js";
import { ChangedCallers } from "../callers/caller-changes.js";
import { RuleSet } from "../decide/rules.js";

/** What an applied message has changed. */
export type Applied =
  /** Everything. */
  | "snapshot"
  /** Rules and keys; `changed` has the callers that may have changed, undefined means none. */
  | { readonly changed: ChangedCallers | undefined }
  /** Nothing: the authority wrote changes that do not concern a guard. */
  | "nothing";

const NO_RULES = new RuleSet();
const NO_LENDERS: Lenders = { ids: [], revision: 0n };
const NEWER = "is it newer than this guard?";

/** The rules, the limits, the keys and their revision. Only `apply` changes them. */
export class PolicyState {
  /** The keys of caller assertions that the authority lets this guard have. */
  readonly keys = new AssertionKeys();
  #rules = new Map<string, RuleSet>();
  /** Only namespaces that have limits. */
  #limits = new Map<string, LimitSet>();
  #tenantLimits: LimitSet | undefined;
  #lenders = NO_LENDERS;
  #revision: bigint | undefined;
  /** The parts of a snapshot that have arrived so far. */
  #parts: WatchResponse_Snapshot[] = [];

  /**
   * The applied revision; undefined until a snapshot has arrived, and after an error until the next
   * snapshot has.
   */
  get revision(): bigint | undefined {
    return this.#revision;
  }

  rulesOf(namespace: string): RuleSet {
    return this.#rules.get(namespace) ?? NO_RULES;
  }

  /** The limits of a namespace; undefined if it has none. */
  limitsOf(namespace: string): LimitSet | undefined {
    return this.#limits.get(namespace);
  }

  /**
   * The limits of the namespace `default` that each namespace has apart. They count the calls of
   * all other namespaces too. Undefined if there are none.
   */
  get tenantLimits(): LimitSet | undefined {
    return this.#tenantLimits;
  }

  /** The authorities that lend what limits allow, and the revision that last changed them. */
  get lenders(): Lenders {
    return this.#lenders;
  }

  /**
   * Applies a message of the authority's stream. A message with an older revision than the applied
   * one is refused, and changes nothing.
   * @returns undefined if more parts of the snapshot are to come
   * @throws {Error} if the message is not understood or does not fit. A part of it may have been
   * applied, so there is no revision until the next snapshot.
   */
  apply(message: WatchResponse["message"]): Applied | undefined {
    const isState = message?.$case === "snapshot" || message?.$case === "changes";
    if (isState && message.value.revision < (this.#revision ?? 0n)) {
      throw new Error(`the authority went back to revision ${message.value.revision} from ${this.#revision}`);
    }
    try {
      if (message?.$case === "snapshot") {
        this.#parts.push(message.value);
        return message.value.last ? this.#applySnapshot(this.#parts.splice(0)) : undefined;
      }
      if (this.#parts.length > 0) throw new Error("the authority broke off a snapshot");
      if (message?.$case === "changes") return this.#applyChanges(message.value);
      throw new Error(`the authority sent a message of a kind that is not known here; ${NEWER}`);
    } catch (error) {
      this.#revision = undefined;
      throw error;
    }
  }

  #applySnapshot(parts: readonly WatchResponse_Snapshot[]): Applied {
    const snapshot = new Map<string, RuleSet>();
    const limitSets = new Map<string, LimitSet>();
    for (const { namespace, namespaceId, rules, limits } of parts.flatMap((part) => part.namespaces)) {
      const set = snapshot.get(namespace) ?? new RuleSet(namespaceId);
      for (const rule of rules) set.add(rule);
      snapshot.set(namespace, set);
      for (const limit of limits) addLimit(limitSets, { namespace, namespaceId, limit });
    }
    const revision = parts.at(-1)?.revision ?? 0n;
    if (parts.some((part) => part.revision !== revision)) throw new Error("the authority mixed two snapshots");
    this.#rules = snapshot;
    this.#limits = limitSets;
    this.#tenantLimits = tenantLimitsIn(limitSets);
    this.#lenders = parts.at(-1)?.lenders ?? NO_LENDERS;
    this.keys.clear();
    for (const key of parts.flatMap((part) => part.contextKeys)) this.keys.set(key);
    this.#revision = revision;
    return "snapshot";
  }

  #applyChanges({ revision, changes }: WatchResponse_Changes): Applied {
    if (this.#revision === undefined) throw new Error("the authority sent changes without a snapshot before them");
    const changed = new ChangedCallers();
    for (const { change } of changes) this.#applyChange(change, changed);
    if (changes.some(changesLimits)) this.#tenantLimits = tenantLimitsIn(this.#limits);
    this.#revision = revision;
    if (changes.length === 0) return "nothing";
    return { changed: changed.some ? changed : undefined };
  }

  #applyChange(change: Change["change"], changed: ChangedCallers): void {
    switch (change?.$case) {
      case "ruleCreated": {
        const { namespace, namespaceId, rule } = change.value;
        if (rule === undefined) throw new Error(`a rule created in ${namespace} is missing from its change`);
        const rules = this.#rules.get(namespace) ?? new RuleSet(namespaceId);
        rules.add(rule);
        this.#rules.set(namespace, rules);
        return;
      }
      case "ruleDeleted": {
        const { namespace, id } = change.value;
        if (!this.rulesOf(namespace).delete(id)) throw new Error(`rule "${id}" of ${namespace} is deleted but unknown`);
        return;
      }
      case "accountChanged":
        changed.addAccount(change.value.namespace, change.value.account);
        return;
      case "tokensRevoked":
        for (const sha256 of change.value.sha256) changed.tokens.add(sha256.toString("latin1"));
        return;
      case "namespaceDeleted":
        this.#rules.delete(change.value.namespace);
        this.#limits.delete(change.value.namespace);
        changed.namespaces.add(change.value.namespace);
        return;
      case "contextKey":
        this.keys.set(change.value);
        return;
      case "limitSet":
        addLimit(this.#limits, change.value);
        return;
      case "limitDeleted": {
        const { namespace, id } = change.value;
        const limits = this.#limits.get(namespace);
        if (limits?.delete(id) !== true) throw new Error(`limit "${id}" of ${namespace} is deleted but unknown`);
        if (limits.size === 0) this.#limits.delete(namespace);
        return;
      }
      case "lenders":
        this.#lenders = change.value;
        return;
      default:
        throw new Error(`the authority sent a change of a kind that is not known here; ${NEWER}`);
    }
  }
}

function addLimit(sets: Map<string, LimitSet>, { namespace, namespaceId, limit: sent }: Change_LimitSet): void {
  if (sent?.limit === undefined) throw new Error(`a limit set in ${namespace} is missing from its change`);
  const set = sets.get(namespace) ?? new LimitSet(namespaceId);
  set.set({ limit: sent.limit, revision: sent.revision });
  sets.set(namespace, set);
}

function changesLimits({ change }: Change): boolean {
  return change?.$case === "limitSet" || change?.$case === "limitDeleted";
}

function tenantLimitsIn(sets: ReadonlyMap<string, LimitSet>): LimitSet | undefined {
  const own = sets.get(DEFAULT_NAMESPACE);
  const shared = [...(own ?? [])].filter(({ limit }) => limit.per === Per.NAMESPACE);
  if (own === undefined || shared.length === 0) return undefined;
  const set = new LimitSet(own.namespaceId);
  for (const limit of shared) set.set(limit);
  return set;
}
