/**
 * The tools of a caller: the endpoints that it may call. A tool is named `service.Endpoint`, or
 * `service.Service.Endpoint` if the gRPC service must be named. Endpoints of the authority and the
 * registry are left out, because passwords and secrets do not belong in a model's context.
 * Endpoints that take a stream are left out, too.
 *
 * A long list fills a model's context. So a caller with more than 40 tools gets a list of three
 * tools instead, which search, describe and call endpoints. It may still call each endpoint by its
 * own name.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Admission, Guard } from "../../../src/call/admission.js";
import { commentOf, summaryOf } from "../../../src/contract/comments.js";
import { type Endpoint, grpcServiceOf } from "../../../src/contract/endpoint.js";
import { SELF_GOVERNED } from "../../../src/contract/names.js";
import { mapPaced } from "../../../src/overload/pace.js";
import type { Routes } from "../../catalog/routes.js";
import type { EndpointTarget } from "../../catalog/target.js";
import { isPlain } from "../json/message.js";
import { messageSchema, streamSchema } from "./tool-schema.js";

/** Maximum tools that are listed one by one. */
export const MAX_LISTED = 40;
/**
 * Maximum fields and enum values in a schema. This is enough for handwritten contracts, and takes
 * some milliseconds.
 */
const MAX_SCHEMA_PARTS = 500;
/** Maximum endpoints that a search returns. */
const MAX_FOUND = 20;

/** A caller that asks for tools, and the namespace whose rules decide. */
export type ToolViewer = Pick<Admission, "caller" | "namespace">;

export interface ToolsOptions {
  readonly catalog: { readonly routes: Routes };
  readonly guard: Pick<Guard, "allows">;
}

/** The name of the tool for an endpoint. */
export function toolName(endpoint: Endpoint): string {
  const { service, methodName, shortPath } = endpoint;
  return shortPath ? `${service}.${methodName}` : fullName(endpoint);
}

function fullName(endpoint: Endpoint): string {
  return `${endpoint.service}.${grpcServiceOf(endpoint)}.${endpoint.methodName}`;
}

/** The endpoints that are tools for a caller, with the services in the order of their names. */
export function toolsOf(viewer: ToolViewer, { catalog: { routes }, guard }: ToolsOptions): EndpointTarget[] {
  const tools: EndpointTarget[] = [];
  for (const service of [...routes.services].sort()) {
    if (SELF_GOVERNED.has(service)) continue;
    const callable = (routes.targetsOf(service) ?? []).filter(
      ({ endpoint }) => isTool(endpoint) && guard.allows(viewer.caller, viewer.namespace, endpoint, true),
    );
    tools.push(...callable);
  }
  return tools;
}

function isTool(endpoint: Endpoint): boolean {
  return isPlain(endpoint) && !SELF_GOVERNED.has(endpoint.service);
}

/**
 * The endpoint of a tool name, without a check whether anyone may call it; undefined for an unknown
 * name. Names are case-sensitive.
 */
export function findTool(
  name: string,
  { catalog: { routes } }: Pick<ToolsOptions, "catalog">,
): EndpointTarget | undefined {
  const targets = routes.targetsOf(name.slice(0, Math.max(0, name.indexOf(".")))) ?? [];
  return targets.find(
    ({ endpoint }) => isTool(endpoint) && (toolName(endpoint) === name || fullName(endpoint) === name),
  );
}

/**
 * The text of the JSON array with the tools that the caller may call at present. It is made in
 * steps, so that other calls do not wait.
 */
export async function listedTools(viewer: ToolViewer, options: ToolsOptions): Promise<string> {
  const tools = toolsOf(viewer, options);
  if (tools.length > MAX_LISTED) return JSON.stringify(FINDERS);
  return `[${(await mapPaced(tools, describedTool)).join(",")}]`;
}

/** The key is the target, because a service that changes has new targets. */
const described = new WeakMap<EndpointTarget, string>();

/** The text of the JSON object that describes a tool. */
export function describedTool(target: EndpointTarget): string {
  let text = described.get(target);
  if (text === undefined) {
    const { endpoint, types, style } = target;
    const { method, shape } = endpoint;
    const options = { types, style, maxParts: MAX_SCHEMA_PARTS };
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

/**
 * Hints about a tool, from the contract. If the contract promises nothing there are none, and
 * clients then expect side effects.
 */
function hintsOf({ method: { idempotency } }: Endpoint): object {
  if (idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return { readOnlyHint: true };
  return idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT ? { idempotentHint: true } : {};
}

/** The tools that replace the list when there are too many endpoints. */
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
 * The names and summaries of endpoints that a search finds, the best first. It works in steps,
 * because the search parses the types of services that have not been called yet.
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

/**
 * The score is highest for a whole word of the name, lower for a part of the name, and lowest for a
 * word of the comments.
 */
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
