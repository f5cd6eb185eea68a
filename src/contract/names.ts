/** The syntax of each kind of name, and the names with a special meaning. */

/**
 * A namespace, service or enrolment: a label of a host name (RFC 1123 §2.1) in lower case, which
 * may also end in `-`.
 */
export const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** Maximum number of characters of such a name. */
export const MAX_NAME = 63;

/** An account. */
export const ACCOUNT_NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/;
/** Maximum number of characters of an account's name. */
export const MAX_ACCOUNT_NAME = 128;

/** The prefix of the paths that a service has by `google.api.http` annotations, such as `/api`. */
export const BINDING_PREFIX = /^(?=.{1,128}$)(?:\/[A-Za-z0-9._~-]+)+$/;

/** The ID of a rule. */
export const RULE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The namespace of calls that name none, and of the installation's administrators. */
export const DEFAULT_NAMESPACE = "default";

/** The client of `portico login`. It is public, and every installation has it. */
export const CLI_CLIENT = "portico-cli";

/** Maximum number of characters of the name that a client gives itself. */
export const MAX_CLIENT_NAME = 100;

/** The ID of a client or an issuer: its name, after its namespace unless that is `default`. */
export function qualifiedName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return namespace === DEFAULT_NAMESPACE ? name : `${namespace}.${name}`;
}

/** The enrolment of gateways. */
export const GATEWAY = "gateway";

/** The scope of a namespace's administrators. */
export const ADMIN_SCOPE = "admin";

/**
 * Services whose endpoints declare their callers; rules do not govern them. No other service may
 * have these names.
 */
export const SELF_GOVERNED: ReadonlySet<string> = new Set(["auth", "registry"]);

/**
 * The first segments of the built-in routes. Each part of the gateway declares which of them it
 * serves; it can declare only roots of this list. The list is here and not in the gateway because
 * the registry needs it, and imports no gateway.
 */
export const BUILT_IN_ROOTS = [
  ...(["/", "/.well-known", "/connect", "/console", "/device", "/explore", "/favicon.ico", "/gateway"] as const),
  ...(["/livez", "/mcp", "/metrics", "/oauth", "/openapi", "/readyz", "/session", "/v1"] as const),
] as const;
export type BuiltInRoot = (typeof BUILT_IN_ROOTS)[number];

/** No service may have these names, because built-in routes begin with them. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(
  BUILT_IN_ROOTS.map((root) => root.slice(1)).filter((name) => NAME.test(name)),
);

/**
 * Prefixes of full gRPC names that only Portico may serve: its own packages, and gRPC's
 * infrastructure. Other names below `grpc.` are allowed, because published services have them
 * (`grpc.testing`, `grpc.gateway.examples`).
 */
export const RESERVED_PACKAGES = /^(?:portico|grpc\.(?:health|reflection|channelz))\./i;

/** Whether a service may not have this full gRPC name, such as `grpc.health.v1.Health`. */
export function isReservedGrpcName(grpcService: string, service: string): boolean {
  return RESERVED_PACKAGES.test(grpcService) && !SELF_GOVERNED.has(service);
}
