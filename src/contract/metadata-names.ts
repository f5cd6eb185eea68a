/** Names of metadata that may pass the gateway, between the headers of its clients and services. */

/**
 * Names that pass never, and beginnings of names: those by which a client could speak in the gateway's name, of one connection
 * (RFC 9110 §7.6.1), those by which a response does something to the gateway's origin or to a proxy before it, and those by
 * which a response could be stored, and then be given to others without a decision.
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
  ...["access-control-", "connect-", "content-", "cross-origin-", "grpc-", "mcp-", "platform-", "portico-", "proxy-"],
  ...["sec-", "trailer-", "x-accel-", "x-grpc-web", "x-portico-"],
];

/** Names of HTTP that pass only where they are named. */
const HTTP = new Set([
  ...["accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "allow"],
  ...["etag", "expect", "forwarded", "from", "if-match", "if-modified-since"],
  ...["if-none-match", "if-range", "if-unmodified-since", "last-event-id", "last-modified", "max-forwards", "origin"],
  ...["priority", "range", "referer", "retry-after", "server", "vary", "x-forwarded-for"],
  ...["x-forwarded-host", "x-forwarded-proto", "x-real-ip"],
]);

/** A name of metadata (PROTOCOL-HTTP2.md, "Custom-Metadata"), in lower case. */
const NAME = /^[0-9a-z_.-]{1,128}$/;
/** Most names that a service may have. */
const MAX_NAMES = 64;

/** Whether a service may name it as metadata that passes the gateway. */
export function mayPass(name: string): boolean {
  return NAME.test(name) && !NEVER.has(name) && !NEVER_BEFORE.some((start) => name.startsWith(start));
}

/** Whether metadata of the name passes for a service with these names. `*` stands for all names but those of HTTP. */
export function passes(names: ReadonlySet<string>, name: string): boolean {
  return names.has(name) || (names.has("*") && mayPass(name) && !HTTP.has(name));
}

/** What the names of a service must be, for who has written them. */
export const METADATA_NAMES =
  'metadata must be a list of at most 64 names in lower case, such as ["x-tenant"], none of which belongs to Portico, gRPC, a connection or a browser';

export function isMetadataNames(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length > MAX_NAMES) return false;
  return value.every((name) => typeof name === "string" && (name === "*" || mayPass(name)));
}
