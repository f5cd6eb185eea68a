/**
 * The tools of a caller: the endpoints that it may call, as `service.Endpoint`, or where the gRPC service must be named, as
 * `service.Service.Endpoint`. Left out are the authority and the registry, since passwords and secrets do not belong in a
 * model's context, and endpoints that take a stream.
 *
 * A long list crowds a model's context. So a caller with more than 40 tools is listed three instead, to search, describe and
 * call endpoints; it may still call each of the others by its own name.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Admission, Guard } from "../../../src/call/admission.js";
import { commentOf, summaryOf } from "../../../src/contract/comments.js";
import { type Endpoint, grpcServiceOf } from "../../../src/contract/endpoint.js";
import { SELF_GOVERNED } from "../../../src/contract/names.js";
import { mapPaced } from "../../../src/overload/pace.js";
import type { Routes } from "../../catalog/routes.js";
import type { Target } from "../../catalog/target.js";
import { isPlain } from "../json/message.js";
import { messageSchema, streamSchema } from "./tool-schema.js";

/** Most tools that are listed one by one. */
export const MAX_LISTED = 40;
/** Most fields and values of enums in a schema: enough for people's contracts, and made in some milliseconds. */
const MAX_SCHEMA_PARTS = 500;
/** Most endpoints that a search finds. */
const MAX_FOUND = 20;

/** Who asks: a caller, and the namespace whose rules decide. */
export type ToolViewer = Pick<Admission, "caller" | "namespace">;

export interface ToolsOptions {
  readonly catalog: { readonly routes: Routes };
  readonly guard: Pick<Guard, "allows">;
  readonly config: { readonly omitZeros?: boolean | undefined };
}

/** What the tool of an endpoint is called. */
export function toolName(endpoint: Endpoint): string {
  const { service, methodName, shortPath } = endpoint;
  return shortPath ? `${service}.${methodName}` : fullName(endpoint);
}

function fullName(endpoint: Endpoint): string {
  return `${endpoint.service}.${grpcServiceOf(endpoint)}.${endpoint.methodName}`;
}

/** The endpoints that are tools for a caller, in the order of their names. */
export function toolsOf(viewer: ToolViewer, { catalog: { routes }, guard }: ToolsOptions): Target[] {
  const tools: Target[] = [];
  for (const service of [...routes.services].sort()) {
    if (SELF_GOVERNED.has(service)) continue;
    const callable = (routes.targetsOf(service) ?? []).filter(
      ({ endpoint }) => isTool(endpoint) && guard.allows(viewer.caller, viewer.namespace, endpoint),
    );
    tools.push(...callable);
  }
  return tools;
}

function isTool(endpoint: Endpoint): boolean {
  return isPlain(endpoint) && !SELF_GOVERNED.has(endpoint.service);
}

/** The endpoint that a tool's name stands for, whoever may call it; undefined for none. Names are case-sensitive. */
export function findTool(name: string, { catalog: { routes } }: Pick<ToolsOptions, "catalog">): Target | undefined {
  const targets = routes.targetsOf(name.slice(0, Math.max(0, name.indexOf(".")))) ?? [];
  return targets.find(
    ({ endpoint }) => isTool(endpoint) && (toolName(endpoint) === name || fullName(endpoint) === name),
  );
}

/** The text of the JSON array of tools that a caller is listed, as it is now; made in turns. */
export async function listedTools(viewer: ToolViewer, options: ToolsOptions): Promise<string> {
  const tools = toolsOf(viewer, options);
  if (tools.length > MAX_LISTED) return JSON.stringify(FINDERS);
  return `[${(await mapPaced(tools, (target) => describedTool(target, options))).join(",")}]`;
}

/** By target: a service that changes has new ones. */
const described = new WeakMap<Target, string>();

/** The text of the JSON object that describes a tool. */
export function describedTool(target: Target, { config: { omitZeros } }: Pick<ToolsOptions, "config">): string {
  let text = described.get(target);
  if (text === undefined) {
    const { endpoint, types } = target;
    const { method, shape } = endpoint;
    const options = { types, omitZeros, maxParts: MAX_SCHEMA_PARTS };
    const schema = shape === "unary" ? messageSchema(method.output, "output", options) : undefined;
    text = JSON.stringify({
      name: toolName(endpoint),
      description: descriptionOf(endpoint),
      inputSchema: messageSchema(method.input, "input", options),
      outputSchema: schema ?? streamSchema(method.output, options),
      annotations: hintsOf(endpoint),
    });
    described.set(target, text);
  }
  return text;
}

function descriptionOf({ method, deprecated, shape }: Endpoint): string {
  const comment = commentOf(method, method.parent.file) || `${method.name} of ${method.parent.typeName}`;
  const paragraphs = [
    comment,
    ...(shape === "server_streaming" ? ["Answers with a stream, whose first messages are returned."] : []),
    ...(deprecated ? ["Deprecated."] : []),
  ];
  return paragraphs.join("\n\n");
}

/** Hints about a tool; of a contract that promises nothing, none: a client then expects the worst. */
function hintsOf({ method: { idempotency } }: Endpoint): object {
  if (idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return { readOnlyHint: true };
  return idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT ? { idempotentHint: true } : {};
}

/** The tools that stand for all endpoints where there are too many to list. */
export const SEARCH = "search_endpoints";
export const DESCRIBE = "describe_endpoint";
export const CALL = "call_endpoint";

const text = (description: string): object => ({ type: "string", description });
const NAME = text("The endpoint's name, as search_endpoints gives it, such as `helloworld.Call`.");

function finder(
  name: string,
  description: string,
  properties: object,
  required: string[],
  annotations: object,
): object {
  return {
    name,
    description,
    inputSchema: { type: "object", properties, required, additionalProperties: false },
    annotations,
  };
}

const FINDERS: readonly object[] = [
  finder(
    SEARCH,
    `Finds endpoints by words of their names and descriptions: at most ${MAX_FOUND}, the best first. There are too many endpoints to list each as a tool.`,
    { query: text("Words to look for; empty for any endpoints.") },
    ["query"],
    { readOnlyHint: true },
  ),
  finder(
    DESCRIBE,
    "Describes an endpoint: what it does, and the JSON Schemas of its arguments and its answer.",
    { name: NAME },
    ["name"],
    {
      readOnlyHint: true,
    },
  ),
  finder(
    CALL,
    "Calls an endpoint.",
    { name: NAME, arguments: { type: "object", description: "What the endpoint's inputSchema asks for." } },
    ["name"],
    {},
  ),
];

/**
 * The names and summaries of endpoints that a search finds, the best first. It works in turns, since the types of services that
 * were not called yet are parsed for it.
 */
export async function search(query: string, viewer: ToolViewer, options: ToolsOptions): Promise<object> {
  const words = wordsOf(query);
  const tools = toolsOf(viewer, options);
  const scored = await mapPaced(tools, ({ endpoint }) => ({ endpoint, score: scoreOf(endpoint, words) }));
  const found = scored.filter(({ score }) => words.length === 0 || score > 0).sort((a, b) => b.score - a.score);
  return {
    endpoints: found.slice(0, MAX_FOUND).map(({ endpoint }) => ({
      name: toolName(endpoint),
      description: summaryOf(commentOf(endpoint.method, endpoint.method.parent.file)),
    })),
    truncated: found.length > MAX_FOUND,
  };
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** A word of the name counts more than a part of one, and that more than a word of the comments. */
function scoreOf(endpoint: Endpoint, words: readonly string[]): number {
  const name = fullName(endpoint).toLowerCase();
  const inName = wordsOf(name);
  const { method } = endpoint;
  const comments = [commentOf(method, method.parent.file), commentOf(method.parent, method.parent.file)];
  const text = comments.join(" ").toLowerCase();
  let score = 0;
  for (const word of words) score += inName.includes(word) ? 4 : name.includes(word) ? 3 : text.includes(word) ? 1 : 0;
  return score;
}
