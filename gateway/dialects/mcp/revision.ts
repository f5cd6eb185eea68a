/**
 * Finds which revision of the Model Context Protocol a request uses, and checks that its headers
 * agree with its body.
 *
 * Since 2026-07-28 each request names its revision, in the header MCP-Protocol-Version and in
 * `params._meta`, and repeats its method and the name of its tool in headers. In earlier revisions,
 * a session began with `initialize`, and later requests had only the header MCP-Protocol-Version,
 * or no header.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */

import { valuesOf } from "../../http/headers.js";
import type { GatewayRequestHead } from "../../http/message.js";
import { isObject, type Params, RpcCode, RpcError, type RpcMessage } from "./message.js";

/** The revision without sessions. */
export const STATELESS = "2026-07-28";
/** Revisions that begin with `initialize`, newest first. */
const WITH_INITIALIZE: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
export const REVISIONS: readonly string[] = [STATELESS, ...WITH_INITIALIZE];

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** The members of `params._meta`; empty if there are none. */
export function metaOf({ params }: RpcMessage): Params {
  return isObject(params._meta) ? params._meta : {};
}

/**
 * Whether a message uses the revision without sessions. If it does, its headers are checked by the
 * rules of that revision.
 * @throws {RpcError} 400 for an unknown revision, missing metadata, or headers that contradict the
 * body
 */
export function isStateless(message: RpcMessage, { rawHeaders }: GatewayRequestHead): boolean {
  const header = single(rawHeaders, "mcp-protocol-version");
  const meta = metaOf(message);
  const inBody = meta[VERSION];
  const requested = inBody ?? header;
  if (message.method === "initialize" && inBody === undefined) return false;
  if (inBody !== undefined && inBody !== header) throw mismatch("MCP-Protocol-Version", header, inBody);
  if (requested === undefined || WITH_INITIALIZE.includes(requested as string)) return false;
  if (requested !== STATELESS) {
    const data = { supported: REVISIONS, requested };
    throw new RpcError(400, RpcCode.UNSUPPORTED_VERSION, "Unsupported protocol version", data);
  }
  if (message.id !== undefined) {
    if (inBody === undefined) throw lacks(VERSION);
    if (!isObject(meta[CAPABILITIES])) throw lacks(CAPABILITIES);
  }
  checkHeaders(message, rawHeaders);
  return true;
}

/**
 * The revision in the response to `initialize`: the requested one if the gateway supports it,
 * otherwise the newest.
 */
export function negotiated({ params: { protocolVersion } }: RpcMessage): string {
  return WITH_INITIALIZE.find((one) => one === protocolVersion) ?? (WITH_INITIALIZE[0] as string);
}

function lacks(key: string): RpcError {
  return new RpcError(400, RpcCode.INVALID_PARAMS, `params._meta lacks ${key}`);
}

function checkHeaders({ id, method, params }: RpcMessage, rawHeaders: readonly string[]): void {
  // The revision defines no headers for notifications.
  if (id === undefined) return;
  const methodHeader = single(rawHeaders, "mcp-method");
  if (methodHeader !== method) throw mismatch("Mcp-Method", methodHeader, method);
  if (method !== "tools/call") return;
  const nameHeader = single(rawHeaders, "mcp-name");
  if (nameHeader === undefined || decoded(nameHeader) !== params.name)
    throw mismatch("Mcp-Name", nameHeader, params.name);
}

const BASE64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** A header's value. A value that is marked as base64 is decoded to UTF-8. */
function decoded(value: string): string {
  const encoded = BASE64.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, "base64").toString("utf8");
}

/** The single value of a header; undefined if the header is missing or was sent twice. */
export function single(rawHeaders: readonly string[], name: string): string | undefined {
  const values = valuesOf(rawHeaders, name);
  return values.length === 1 ? values[0] : undefined;
}

function mismatch(name: string, header: string | undefined, body: unknown): RpcError {
  const found = header === undefined ? "is missing, or was sent twice" : `is ${shown(header)}`;
  return new RpcError(400, RpcCode.HEADER_MISMATCH, `The header ${name} ${found}, and the body says ${shown(body)}`);
}

const MAX_SHOWN = 64;

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, MAX_SHOWN);
}
