/**
 * One row of the table of settings (config.ts): its name, its parser, and the roles in which it has
 * an effect.
 */
import type { Parse, Values } from "./setting-values.js";

/** The role `server` is all other roles in one process. */
export type RoleName = "server" | "gateway" | "authority" | "service";

const EVERY_ROLE: readonly RoleName[] = ["server", "gateway", "authority", "service"];
/** Roles with an HTTP port for callers. */
export const HTTP_PORT: readonly RoleName[] = ["server", "gateway"];
/** Roles with a gRPC port. */
export const GRPC_PORT: readonly RoleName[] = ["server", "authority", "service"];
/** Roles with the store. */
export const STORE: readonly RoleName[] = ["server", "authority"];
/** Roles with services that store data. */
export const SERVICE_STORE: readonly RoleName[] = ["server", "service"];
/** Roles that connect to services which join by configuration. */
export const EXTERNAL: readonly RoleName[] = ["server", "gateway", "authority"];
/** Roles that follow the authority of another process. */
export const JOINING: readonly RoleName[] = ["gateway", "service"];

/** A setting that cannot be used. The message has its name, its origin, and what is accepted. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export interface Setting<T> {
  readonly variable: string;
  /** As a person would write it; undefined if the default is computed or there is none. */
  readonly default: string | undefined;
  readonly meaning: string;
  /** A secret has no flag, so that it never appears in a list of processes. */
  readonly secret?: true;
  /** The name of its flag, if it differs from the name of the setting. */
  readonly flag?: string;
  /** The roles in which it has an effect. */
  readonly roles: readonly RoleName[];
  readonly parse: Parse<T>;
  /** The values that a shell completes for it: words, or the names of files or folders. */
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
