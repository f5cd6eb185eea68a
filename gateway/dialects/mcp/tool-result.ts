/**
 * The result of a tool call: the response as structured content, and again as text or as an image
 * for clients that do not support structured content. An error of the endpoint is also a result,
 * because it helps the model to correct the call.
 */
import type { EndpointTarget } from "../../catalog/target.js";
import { decodeHttpBody } from "../json/bodies/http-body.js";
import { isHttpBody, writeJson } from "../json/message.js";
import { isObjectInJson, VALUE } from "./tool-schema.js";

/** The text of the first members of a result: a JSON object without its braces. */
export type Members = string;

/** A response of an endpoint as JSON, always an object. @throws {HttpError} 502 like `writeJson` */
export function responseJson(target: EndpointTarget, message: Uint8Array): string {
  const json = writeJson(target, message);
  return isObjectInJson(target.output) ? json : `{${JSON.stringify(VALUE)}:${json}}`;
}

/** The text of the result of a unary call. @throws {HttpError} 502 like `responseJson` */
export function unaryResult(target: EndpointTarget, message: Uint8Array, members: Members): string {
  const json = responseJson(target, message);
  const raw = isHttpBody(target.output) ? rawContent(target, message) : undefined;
  return resultOf(raw ?? textContent(json), json, members);
}

/** The text of the result of a call whose response is a stream. */
export function streamResult(messages: readonly string[], truncated: boolean, members: Members): string {
  const json = `{"messages":[${messages.join(",")}],"truncated":${truncated}}`;
  return resultOf(textContent(json), json, members);
}

/**
 * The text of a result that does not come from an endpoint. @param json the text of a JSON object
 */
export function objectResult(json: string, members: Members): string {
  return resultOf(textContent(json), json, members);
}

/** The text of the result of a call that failed. @param error the error object as JSON */
export function failedResult(error: string, members: Members): string {
  return `{${members}"content":[${textContent(error)}],"isError":true}`;
}

function resultOf(content: string, structured: string, members: Members): string {
  return `{${members}"content":[${content}],"structuredContent":${structured}}`;
}

function textContent(text: string): string {
  return JSON.stringify({ type: "text", text });
}

/** Raw bytes as the kind of content that their type names; undefined if MCP has no such kind. */
function rawContent({ endpoint }: EndpointTarget, message: Uint8Array): string | undefined {
  const { contentType, data } = decodeHttpBody(endpoint.service, message);
  const [mimeType = "", kind] = /^(\w+)\/[^;\s]+/.exec(contentType) ?? [];
  if (kind === "text") return textContent(Buffer.from(data).toString("utf8"));
  if (kind !== "image" && kind !== "audio") return undefined;
  return JSON.stringify({ type: kind, data: Buffer.from(data).toString("base64"), mimeType });
}
