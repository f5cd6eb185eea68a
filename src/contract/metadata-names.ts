/** Names of metadata that may pass the gateway, between the headers of its clients and services. */

/** Names that pass never, and beginnings of names. */
const NEVER = new Set([
  ...["authorization", "clear-site-data", "connection", "cookie", "host", "keep-alive", "link", "location", "refresh"],
  ...["set-cookie", "te", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent"],
  ...["x-request-id", "x-user-agent"],
]);
const NEVER_BEFORE = [
  ...["access-control-", "connect-", "content-", "grpc-", "mcp-", "platform-", "portico-", "proxy-", "sec-"],
  ...["trailer-", "x-grpc-web", "x-portico-"],
];

/** Names of HTTP that pass only where they are named. */
const HTTP = new Set([
  ...["accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "age", "allow", "alt-svc"],
  ...["cache-control", "date", "etag", "expect", "expires", "forwarded", "from", "if-match", "if-modified-since"],
  ...["if-none-match", "if-range", "if-unmodified-since", "last-event-id", "last-modified", "max-forwards", "origin"],
  ...["pragma", "priority", "range", "referer", "retry-after", "server", "strict-transport-security", "vary", "via"],
  ...["www-authenticate", "x-accel-buffering", "x-content-type-options", "x-forwarded-for", "x-forwarded-host"],
  ...["x-forwarded-proto", "x-frame-options", "x-real-ip"],
]);

/** A name of metadata (PROTOCOL-HTTP2.md, "Custom-Metadata"), in lower case. */
const NAME = /^[0-9a-z_.-]+$/;
/** Whether a service's configuration may name it as metadata that passes the gateway. */
export function mayPass(name: string): boolean {
  return NAME.test(name) && !NEVER.has(name) && !NEVER_BEFORE.some((start) => name.startsWith(start));
}

/** Whether the name belongs to HTTP, so that it passes only where it is named. */
export function isOfHttp(name: string): boolean {
  return HTTP.has(name);
}

/** What `"metadata"` of a configured service must be, for the operator. */
export const METADATA_NAMES =
  'metadata must be a list of names in lower case, such as ["x-tenant"], none of which belongs to Portico, gRPC or a browser';

export function isMetadataNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && (name === "*" || mayPass(name)));
}
