/**
 * A client of `POST /mcp` that calls the handler as a function, and messages of the revisions with
 * and without sessions.
 */
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { ask } from "../../deployment.js";

export const STATELESS = "2026-07-28";

const META = {
  "io.modelcontextprotocol/protocolVersion": STATELESS,
  "io.modelcontextprotocol/clientCapabilities": {},
};

export interface Sent {
  /** Name, value, name, value … These replace the headers that the message needs. */
  readonly headers?: readonly string[];
  readonly token?: string;
  /** Replaces the message as JSON. */
  readonly text?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects.
  readonly body: any;
}

/** Sends a message of the revision without sessions, with its headers. */
export function send(handler: RequestHandler, method: string, params: object = {}, sent: Sent = {}): Promise<Answered> {
  const { name } = params as { name?: unknown };
  const headers = [
    ...["MCP-Protocol-Version", STATELESS, "Mcp-Method", method],
    ...(method === "tools/call" ? ["Mcp-Name", String(name)] : []),
  ];
  return post(handler, { jsonrpc: "2.0", id: 1, method, params: { _meta: META, ...params } }, { headers, ...sent });
}

/** Sends a message of an earlier revision, which has no headers of its own. */
export function sendOld(
  handler: RequestHandler,
  method: string,
  params: object = {},
  sent: Sent = {},
): Promise<Answered> {
  return post(handler, { jsonrpc: "2.0", id: 1, method, params }, sent);
}

export async function post(handler: RequestHandler, message: unknown, sent: Sent = {}): Promise<Answered> {
  const { headers = [], token, text = JSON.stringify(message) } = sent;
  const common = ["Content-Type", "application/json", "Accept", "application/json, text/event-stream"];
  const authorization = token === undefined ? [] : ["Authorization", `Bearer ${token}`];
  const response = await ask(handler, {
    method: "POST",
    target: "/mcp",
    headers: [...common, ...authorization, ...headers],
    body: text,
  });
  return { ...response, body: response.body === "" ? undefined : JSON.parse(response.body) };
}
