/** An instance of the directory, and how it came there. */
import type { StatusError } from "../../src/errors.js";
import type { DataStore, Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { CheckedContract } from "./contract.js";

/** How an instance joins. */
export interface JoinOptions {
  /** It is of this process. */
  readonly local: boolean;
  /** The token that it registered with, by its SHA-256; undefined for one of this process or the configuration. */
  readonly token?: string | undefined;
  readonly onDeregistered?: InstanceEntry["onDeregistered"];
  /** What `read` gave for it; without it the contract is read at once. */
  readonly contract?: CheckedContract | undefined;
}

/** An instance that has joined. */
export interface InstanceEntry {
  readonly instance: Instance;
  readonly contract: CheckedContract;
  readonly token: string | undefined;
  /** Where it keeps what callers give it; undefined where it keeps nothing. */
  readonly store: DataStore | undefined;
  /** Called when the instance has been put out: another took its place, or the directory closes. */
  readonly onDeregistered: (why: StatusError) => void;
}
