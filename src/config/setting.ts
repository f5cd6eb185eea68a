/** What a row of the table of settings says (config.ts): how a setting is named and read, and the roles that have it. */
import type { Parse, Values } from "./setting-values.js";

/** `portico server` is all others in one process. */
export type RoleName = "server" | "gateway" | "authority" | "service";

const EVERY_ROLE: readonly RoleName[] = ["server", "gateway", "authority", "service"];
/** Roles with an HTTP port for callers. */
export const HTTP_PORT: readonly RoleName[] = ["server", "gateway"];
/** Roles with a gRPC port. */
export const GRPC_PORT: readonly RoleName[] = ["server", "authority", "service"];
/** Roles with the store. */
export const STORE: readonly RoleName[] = ["server", "authority"];
/** Roles with services that keep something. */
export const SERVICE_STORE: readonly RoleName[] = ["server", "service"];
/** Roles that follow the authority of another process. */
export const JOINING: readonly RoleName[] = ["gateway", "service"];

export interface Setting<T> {
  readonly variable: string;
  /** What a person would write; undefined where the default is worked out. */
  readonly default: string | undefined;
  readonly meaning: string;
  /** Secrets have no flag, so that they never stand in a process list. */
  readonly secret?: true;
  /** The name of its flag, where that is not its own. */
  readonly flag?: string;
  /** The roles in which it has an effect. */
  readonly roles: readonly RoleName[];
  readonly parse: Parse<T>;
  /** What a shell completes it with: some words, or the names of files or folders. */
  readonly values: Values | undefined;
}

export const setting = <T>(
  variable: string,
  fallback: string | undefined,
  meaning: string,
  parse: Parse<T>,
  roles: readonly RoleName[] = EVERY_ROLE,
): Setting<T> => ({ variable, default: fallback, meaning, parse, roles, values: parse.values });

export const secret = (variable: string, meaning: string): Setting<string> => ({
  ...setting(variable, undefined, meaning, (text) => text),
  secret: true,
});
