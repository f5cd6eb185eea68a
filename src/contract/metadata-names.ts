/**
 * Names of metadata that the gateway may pass between the headers of clients and the metadata of
 * services.
 */

/**
 * Names, and prefixes of names, that never pass:
 *  - names by which a client could imitate the gateway;
 *  - headers of one connection (RFC 9110 §7.6.1);
 *  - names by which a response affects the gateway's origin, or a proxy in front of it;
 *  - names by which a response could be stored in a cache, which would then send it to other
 *    callers without a decision.
 */
const NEVER = new Set([
  ...["accept-ch", "age", "alt-svc", "authentication-info", "authorization", "cache-control", "clear-site-data"],
  ...[
    "connection",
    "cookie",
    "critical-ch",
    "date",
    "document-policy",
    "expect-ct",
    "expires",
    "feature-policy",
    "host",
    "http2-settings",
  ],
  ...[
    "integrity-policy",
    "keep-alive",
    "link",
    "location",
    "nel",
    "origin-agent-cluster",
    "permissions-policy",
    "pragma",
  ],
  ...["public-key-pins", "referrer-policy", "refresh", "report-to", "reporting-endpoints", "service-worker-allowed"],
  ...["set-cookie", "set-login", "sourcemap", "speculation-rules", "strict-transport-security", "te"],
  ...["timing-allow-origin", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent"],
  ...["via", "www-authenticate", "x-content-type-options", "x-dns-prefetch-control", "x-frame-options"],
  ...["x-lighttpd-send-file", "x-permitted-cross-domain-policies", "x-request-id", "x-sendfile", "x-sourcemap"],
  ...["x-user-agent", "x-xss-protection"],
]);
const NEVER_BEFORE = [
  ...["access-control-", "connect-", "content-", "cross-origin-", "grpc-", "grpcgateway-", "mcp-", "platform-"],
  ...["portico-", "proxy-", "sec-", "trailer-", "x-accel-", "x-grpc-web", "x-portico-"],
];

/** Names of HTTP headers that pass only if a service names them. */
const HTTP = new Set([
  ...["accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "allow"],
  ...["etag", "expect", "forwarded", "from", "if-match", "if-modified-since"],
  ...["if-none-match", "if-range", "if-unmodified-since", "last-event-id", "last-modified", "max-forwards", "origin"],
  ...["priority", "range", "referer", "retry-after", "server", "vary", "x-forwarded-for"],
  ...["x-forwarded-host", "x-forwarded-proto", "x-real-ip"],
]);

/** A name of metadata (PROTOCOL-HTTP2.md, "Custom-Metadata"), in lower case. */
const NAME = /^[0-9a-z_.-]{1,128}$/;
/** Maximum number of names of a service. */
const MAX_NAMES = 64;

/** Whether a service may list this name, so that metadata with it passes the gateway. */
export function mayPass(name: string): boolean {
  return NAME.test(name) && !NEVER.has(name) && !NEVER_BEFORE.some((start) => name.startsWith(start));
}

/**
 * Whether metadata with the name passes for a service with these names. `*` means all names except
 * the names that HTTP uses.
 */
export function passes(names: ReadonlySet<string>, name: string): boolean {
  return names.has(name) || (names.has("*") && mayPass(name) && !HTTP.has(name));
}

/** The requirements for a service's names, for their author. */
export const METADATA_NAMES =
  'metadata must be a list of at most 64 names in lower case, such as ["x-tenant"], none of which belongs to Portico, gRPC, a connection or a browser';

export function isMetadataNames(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length > MAX_NAMES) return false;
  return value.every((name) => typeof name === "string" && (name === "*" || mayPass(name)));
}
