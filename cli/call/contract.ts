/**
 * What a service's endpoints take, read from the OpenAPI document that the gateway serves to this
 * caller.
 */
import type { GatewayClient } from "../http/client.js";

export interface CommandEndpoint {
  /** `Orders.Get` */
  readonly name: string;
  /** The endpoint's path below the service: `Orders/Get`. */
  readonly path: string;
  /** The endpoint on the command line: `orders get`. */
  readonly words: string;
  readonly comment: string;
  readonly deprecated: boolean;
  /** Whether the endpoint takes a stream of messages. Such an endpoint has no fields. */
  readonly takesStream: boolean;
  /**
   * Whether fields can be given as flags. They cannot if the endpoint accepts only POST, or takes
   * raw bytes.
   */
  readonly takesFlags: boolean;
  /**
   * The fields that can be given as flags. If fields cannot be flags: the members of the JSON
   * object.
   */
  readonly fields: readonly CommandField[];
  /** An example of the request, as JSON. */
  readonly example: string | undefined;
}

export interface CommandField {
  /** `rule.id`; `labels[key]` for a map. */
  readonly name: string;
  /** `string`, `int64`, `GRANTED|DENIED`, … */
  readonly type: string;
  /** Whether the field may be given several times. */
  readonly repeated: boolean;
  readonly required: boolean;
  readonly comment: string;
  readonly example: string | undefined;
}

/** The parts of an OpenAPI document that are read here. */
interface Document {
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface PathItem {
  readonly get?: Operation;
  readonly post?: Operation;
  /** Whether the path comes from a google.api.http annotation. */
  readonly "x-binding"?: boolean;
  readonly "x-websocket"?: { readonly sends: Schema };
}

interface Operation {
  readonly "x-resource": string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema; example?: unknown }>> };
}

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly properties?: Readonly<Record<string, Schema & { readonly description?: string }>>;
  readonly description?: string;
}

/**
 * The endpoints of a service that this caller may call.
 * @throws {CommandError} when there is no such service, or no response.
 */
export async function readContract(client: GatewayClient, service: string): Promise<readonly CommandEndpoint[]> {
  const document: Document = JSON.parse(await client.openApi(service));
  const found = new Map<string, CommandEndpoint>();
  for (const [path, item] of Object.entries(document.paths)) {
    const endpoint = endpointOf(path, item, document);
    // An endpoint `Call` also has a short path, which comes later in the document.
    if (endpoint !== undefined && !found.has(endpoint.name)) found.set(endpoint.name, endpoint);
  }
  return [...found.values()];
}

/**
 * The endpoint with the name `get`, `orders/get` or `Orders.Get`. Undefined if none matches, or
 * several do.
 */
export function findEndpoint(
  endpoints: readonly CommandEndpoint[],
  given: string | undefined,
): CommandEndpoint | undefined {
  const wanted = (given ?? "call").replaceAll("/", ".").toLowerCase();
  const exact = endpoints.find(({ name, words }) => [name.toLowerCase(), words.replace(" ", ".")].includes(wanted));
  const [one, other] = endpoints.filter(({ name }) => name.toLowerCase().endsWith(`.${wanted}`));
  return exact ?? (other === undefined ? one : undefined);
}

function endpointOf(path: string, item: PathItem, document: Document): CommandEndpoint | undefined {
  const operation = item.get ?? item.post;
  if (operation === undefined || path.startsWith("/v1/") || item["x-binding"]) return undefined;
  const sends = item["x-websocket"]?.sends;
  const body = item.post?.requestBody?.content["application/json"];
  const parameters = item.get?.parameters?.filter((parameter) => parameter.in === "query") ?? [];
  const takesStream = sends !== undefined && item.post === undefined;
  const takesFlags = item.get !== undefined && !takesStream;
  const example = body?.example;
  const below = path.split("/").slice(2).join("/") || "Call";
  // The summaries of other operations name their methods and paths too.
  const main = document.paths[`/v1${path}`];
  return {
    name: operation["x-resource"].slice(operation["x-resource"].lastIndexOf(":") + 1),
    path: below,
    words: below.replace("/", " ").toLowerCase(),
    comment: commentOf(main?.post ?? main?.get ?? operation),
    deprecated: operation.deprecated === true,
    takesStream,
    takesFlags,
    fields: takesFlags
      ? parameters.map((parameter) => flagOf(parameter, example, document))
      : membersOf(body?.schema ?? sends ?? {}, document),
    example: example === undefined ? undefined : JSON.stringify(example),
  };
}

/**
 * Summary and description in one text. The summary is the first sentence. The description repeats
 * it only if it has more sentences.
 */
function commentOf({ summary = "", description = "" }: Operation): string {
  if (description.startsWith(summary)) return description;
  return [`${summary}.`, description].filter((text) => text !== "").join("\n\n");
}

function flagOf(parameter: Parameter, request: unknown, document: Document): CommandField {
  const { name = "", description = "", required = false, schema = {} } = parameter;
  const example = parameter.example ?? memberAt(request, name);
  const type = typeOf(schema, document);
  return {
    name: type.isMap ? `${name}[key]` : name,
    ...type,
    required,
    comment: description,
    example: ["string", "number", "boolean"].includes(typeof example) ? `${example}` : undefined,
  };
}

/** The value at a path such as `rule.id` in an example. */
function memberAt(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], value);
}

function membersOf(schema: Schema, document: Document): CommandField[] {
  return Object.entries(resolve(schema, document).properties ?? {}).map(([name, member]) => ({
    name,
    ...typeOf(member, document),
    required: false,
    comment: member.description ?? "",
    example: undefined,
  }));
}

/** Readable names for the schemas of protobuf's well-known types. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  "google.protobuf.Duration-input": "duration",
  "google.protobuf.Timestamp-input": "time",
  "google.protobuf.FieldMask-input": "field mask",
  "bytes-base64": "base64",
};

interface Type {
  readonly type: string;
  readonly repeated: boolean;
  readonly isMap: boolean;
}

function typeOf(schema: Schema, document: Document): Type {
  const resolved = resolve(schema, document);
  const { items, additionalProperties, properties } = resolved;
  if (items !== undefined) return { ...typeOf(items, document), repeated: true };
  if (typeof additionalProperties === "object" && properties === undefined) {
    return { ...typeOf(additionalProperties, document), repeated: true, isMap: true };
  }
  return { type: TYPE_NAMES[nameOf(schema)] ?? wordFor(resolved), repeated: false, isMap: false };
}

function wordFor(schema: Schema): string {
  const { enum: values, format, type } = [schema, ...(schema.anyOf ?? [])].find((one) => one.enum ?? one.type) ?? {};
  if (values !== undefined) return values.filter((value) => !value.endsWith("_UNSPECIFIED")).join("|");
  return format ?? [type].flat().find((one) => one !== "null") ?? "value";
}

function resolve(schema: Schema, document: Document): Schema {
  const seen = schema.$ref === undefined ? schema : document.components.schemas[nameOf(schema)];
  const [only, ...others] = (seen?.anyOf ?? []).filter((one) => one.type !== "null");
  // Every field may be `null` in JSON. So a schema that is only a reference or null means the
  // reference.
  return only?.$ref !== undefined && others.length === 0 ? resolve(only, document) : (seen ?? {});
}

/** The last segment of a `$ref`, or an empty text for a schema without one. */
function nameOf({ $ref = "" }: Schema): string {
  return $ref.slice($ref.lastIndexOf("/") + 1);
}
