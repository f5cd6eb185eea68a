/**
 * JSON-RPC 2.0 messages (https://www.jsonrpc.org/specification). The Model Context Protocol sends
 * one message per request.
 */
import type { BareResponse } from "../../http/message.js";

/**
 * Error codes of JSON-RPC, and the codes that the protocol adds (revision 2026-07-28, "Error
 * Codes").
 */
export const RpcCode = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  HEADER_MISMATCH: -32020,
  UNSUPPORTED_VERSION: -32022,
} as const;

/**
 * An error of the protocol. Its code is one of `RpcCode` or an HTTP status, which is outside
 * JSON-RPC's reserved range.
 */
export class RpcError extends Error {
  override readonly name = "RpcError";

  constructor(
    readonly status: number,
    readonly code: number,
    message: string,
    readonly data?: object,
    /** Headers of the response: name, value, name, value … */
    readonly headers: readonly string[] = [],
  ) {
    super(message);
  }
}

export type Params = Readonly<Record<string, unknown>>;

/** A request; without an ID, a notification. */
export interface RpcMessage {
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: Params;
  /** The text of `params` as sent. In the text, numbers have all their digits. */
  readonly paramsText: string;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The part of an error message of JSON.parse that quotes nothing from the body, because the body
 * may contain a secret.
 */
const PLACE = /\bat position \d+/;

/** @throws {RpcError} 400 for a body that is not a single request or notification */
export function parseMessage(body: readonly Uint8Array[]): RpcMessage {
  let text: string;
  let value: unknown;
  try {
    text = UTF8.decode(Buffer.concat(body));
    value = JSON.parse(text);
  } catch (error) {
    const where = PLACE.exec((error as Error).message)?.[0];
    const message = `The body must be JSON in UTF-8${where === undefined ? "" : `: it is not ${where}`}`;
    throw new RpcError(400, RpcCode.PARSE_ERROR, message);
  }
  if (Array.isArray(value)) throw invalid("A batch is not accepted: send each message as a request of its own");
  if (!isObject(value) || value.jsonrpc !== "2.0") throw invalid('The message must be an object with "jsonrpc": "2.0"');
  const { id, method, params = {} } = value;
  if (typeof method !== "string") throw invalid("The message must have a method: no response is expected here");
  const validId = id === undefined || typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
  if (!validId) throw invalid("The id must be a string or an integer");
  if (!isObject(params)) {
    throw new RpcError(400, RpcCode.INVALID_PARAMS, "params must be an object");
  }
  return { id: id as string | number | undefined, method, params, paramsText: memberText(text, "params") ?? "{}" };
}

function invalid(reason: string): RpcError {
  return new RpcError(400, RpcCode.INVALID_REQUEST, reason);
}

export function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Finds the text of a member's value in the text of a JSON object, which must be valid. Returns
 * undefined if there is no such member. If several members have the name, the last one counts, as
 * for JSON.parse.
 */
export function memberText(object: string, name: string): string | undefined {
  let found: string | undefined;
  let at = next(object, next(object, 0) + 1);
  while (object[at] === '"') {
    const keyEnd = endOfValue(object, at);
    const key = JSON.parse(object.slice(at, keyEnd));
    const start = next(object, next(object, keyEnd) + 1);
    const end = endOfValue(object, start);
    if (key === name) found = object.slice(start, end);
    at = next(object, end);
    if (object[at] === ",") at = next(object, at + 1);
  }
  return found;
}

const SPACE = " \t\r\n";

/** The index of the next character that is not white space. */
function next(text: string, at: number): number {
  let found = at;
  while (found < text.length && SPACE.includes(text[found] as string)) found++;
  return found;
}

/** The index after the value that begins at `start`. */
function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  let at = start;
  if (first !== "{" && first !== "[") {
    while (at < text.length && !",}] \t\r\n".includes(text[at] as string)) at++;
    return at;
  }
  let depth = 0;
  do {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    at++;
  } while (depth > 0);
  return at;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** @param result the text of a JSON object */
export function resultText(id: string | number, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

/** @param id the request's ID; undefined if it could not be read */
export function errorReply(id: string | number | undefined, error: RpcError): BareResponse {
  const { status, code, message, data, headers } = error;
  const body = { jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message, ...(data && { data }) } };
  return { status, body: JSON.stringify(body), headers };
}
