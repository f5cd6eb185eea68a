/** An instance in the directory, and how it joined. */
import type { StatusError } from "../../src/errors.js";
import type { DataStore, Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { CheckedContract } from "./contract.js";

/** How an instance joins. */
export interface JoinOptions {
  /** Whether it is an instance of this process. */
  readonly local: boolean;
  /**
   * The SHA-256 of the token that it registered with; undefined for an instance of this process or
   * of the configuration.
   */
  readonly token?: string | undefined;
  readonly onDeregistered?: InstanceEntry["onDeregistered"];
  /** The result of `Directory.read`. Without it, the contract is read in one step. */
  readonly contract?: CheckedContract | undefined;
  /** Further problems of the contract, for the operator. */
  readonly problems?: readonly string[];
}

/** An instance that has joined. */
export interface InstanceEntry {
  readonly instance: Instance;
  readonly contract: CheckedContract;
  readonly problems: readonly string[];
  readonly token: string | undefined;
  /** Where it stores the data of callers; undefined if it stores none. */
  readonly store: DataStore | undefined;
  /**
   * Called when the instance was deregistered because another one replaced it or the directory
   * closes.
   */
  readonly onDeregistered: (why: StatusError) => void;
}

/** The approximate size of the instance in a message, in bytes; never less than 256. */
export function sizeOf(instance: Instance | undefined): number {
  if (instance === undefined) return 256;
  const { descriptors, options, addresses, grpcServices } = instance;
  const rules = options?.httpRules ?? "";
  return descriptors.length + 256 + [rules, ...addresses, ...grpcServices].join("....").length;
}
