/** What the MCP server reports about itself, and the members that all its results have. */
import packageJson from "../../../package.json" with { type: "json" };
import type { RpcMessage } from "./message.js";
import { negotiated, REVISIONS } from "./revision.js";
import type { Members } from "./tool-result.js";

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
const SERVER = { name: "portico", title: "Portico", version: packageJson.version };

const INSTRUCTIONS =
  "Each tool calls an endpoint of a service behind this gateway. Names are service.Endpoint. Where only search_endpoints, describe_endpoint and call_endpoint are listed, search first.";

/**
 * The members of every result. In the revision without sessions these are the result's type and the
 * server's name.
 */
export function membersOf(stateless: boolean): Members {
  if (!stateless) return "";
  return `"resultType":"complete","_meta":{"${SERVER_INFO}":${JSON.stringify(SERVER)}},`;
}

/** The text of the result of `subscriptions/listen`: the gateway has ended it. */
export function subscriptionEnded(id: string | number): string {
  const _meta = { "io.modelcontextprotocol/subscriptionId": id, [SERVER_INFO]: SERVER };
  return JSON.stringify({ resultType: "complete", _meta });
}

/** A time to live above 0 would let clients show tools that no longer exist. */
export const NOT_CACHED: Members = '"ttlMs":0,"cacheScope":"private",';

/** The text of the result of `server/discover`. */
export function discovered(members: Members): string {
  const capabilities = { tools: { listChanged: true } };
  const said = { supportedVersions: REVISIONS, capabilities, serverInfo: SERVER, instructions: INSTRUCTIONS };
  return `{${members}${NOT_CACHED}${JSON.stringify(said).slice(1)}`;
}

/**
 * The text of the result of `initialize`. It promises no notifications of changed lists, because
 * over HTTP these revisions have no way to send them.
 */
export function initialized(message: RpcMessage): string {
  const protocolVersion = negotiated(message);
  return JSON.stringify({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: SERVER,
    instructions: INSTRUCTIONS,
  });
}
