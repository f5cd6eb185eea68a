/** The path items of an endpoint: the operations at each of its paths. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { scopesInWords } from "../../src/contract/admin-parts.js";
import { commentOf, summaryOf } from "../../src/contract/comments.js";
import { Callers, type Endpoint, grpcServiceOf, pathOf } from "../../src/contract/endpoint.js";
import { deprecation, described, type Schemas } from "../../src/json/schema/messages.js";
import type { JsonSchema } from "../../src/json/schema/scalars.js";
import { hasOwnForm } from "../../src/json/types.js";
import { takesForms } from "../dialects/json/bodies/form.js";
import { isHttpBody, isPlain } from "../dialects/json/message.js";
import { COMMON_HEADERS, ERROR, ERROR_RESPONSES, NAMESPACE_HEADER, STREAM_HEADER } from "./components.js";
import { exampleOf } from "./examples.js";
import { formSchema, queryParameters } from "./parameters.js";

/** Every path of an endpoint, with its path item. */
export function pathItems(endpoint: Endpoint, schemas: Schemas): [path: string, item: JsonSchema][] {
  const path = pathOf(endpoint);
  const unversioned: [path: string, id: string][] = [[path, ""]];
  // The endpoint `Call` also has a shorter path, which is only the service's name.
  if (path.toLowerCase() === `/${endpoint.service}/call`) unversioned.push([`/${endpoint.service}`, "-short"]);
  const describe = isPlain(endpoint) ? plainItem : socketItem;
  const shared = sharedOf(endpoint, schemas);
  return [
    [`/v1${path}`, describe(endpoint, shared, { versioned: true, path: `/v1${path}`, id: "" })],
    ...unversioned.map(([path, id]): [string, JsonSchema] => [
      path,
      describe(endpoint, shared, { versioned: false, path, id }),
    ]),
  ];
}

/**
 * The tag of the operations at paths without `/v1`, which repeat others. Its name has a space,
 * which no tag of a gRPC service has.
 */
export const UNVERSIONED_TAG = "Unversioned paths";
/** The tag of the operations at paths of annotations. */
export const REST_TAG = "REST paths";

export interface PathForm {
  /**
   * Whether the path begins with `/v1`. Such a path always needs a valid token. If it is not a path
   * of an annotation, it accepts only POST.
   */
  readonly versioned: boolean;
  /** Whether the path comes from a `google.api.http` annotation. Such a path opens no WebSocket. */
  readonly bound?: true;
  readonly path: string;
  /** Suffix that makes the operation IDs of the endpoint's paths distinct. */
  readonly id: string;
  /**
   * The HTTP method of an operation that repeats another operation of the endpoint. Viewers list
   * operations by their summaries, so its summary names the method and the path too.
   */
  readonly repeats?: string;
}

/** What the operations at all paths have in common. */
interface Shared {
  readonly body: { readonly requestBody: JsonSchema };
  readonly result: { readonly responses: JsonSchema };
  /**
   * Undefined if the endpoint has no GET. A GET without parameters sends `{}`, which is not valid
   * for every type.
   */
  readonly query: readonly JsonSchema[] | undefined;
  readonly socket: JsonSchema;
}

function sharedOf(endpoint: Endpoint, schemas: Schemas): Shared {
  const { input } = endpoint.method;
  return {
    body: { requestBody: requestBody(endpoint, schemas) },
    result: { responses: responses(endpoint, schemas) },
    query: takesObject(input) ? queryParameters(input, schemas) : undefined,
    socket: endpoint.shape === "unary" ? {} : webSocket(endpoint, schemas),
  };
}

function plainItem(endpoint: Endpoint, { body, result, query, socket }: Shared, form: PathForm): JsonSchema {
  const { versioned, id } = form;
  const post = { ...body, ...result };
  if (versioned) return { ...socket, post: operation(endpoint, form, post) };
  const get = { ...form, id: `${id}-get`, repeats: "GET" };
  return {
    ...socket,
    ...(query && !endpoint.postOnly && { get: operation(endpoint, get, result, query) }),
    post: operation(endpoint, { ...form, id: `${id}-post`, repeats: "POST" }, post),
  };
}

function socketItem(endpoint: Endpoint, { body, result, socket }: Shared, form: PathForm): JsonSchema {
  const { versioned, id } = form;
  const opened = {
    101: { description: "The WebSocket is open." },
    ...ERROR_RESPONSES,
    426: { $ref: "#/components/responses/UpgradeRequired" },
  };
  const takesBytes = endpoint.shape === "client_streaming" && isHttpBody(endpoint.method.input);
  const post = { ...body, ...result };
  const repeats = versioned && !takesBytes ? {} : { repeats: "GET" };
  const get = { ...form, id: versioned ? "-socket" : `${id}-get`, ...repeats };
  const postForm = versioned ? form : { ...form, id: `${id}-post`, repeats: "POST" };
  return {
    ...socket,
    get: operation(endpoint, get, { responses: opened }),
    ...(takesBytes && { post: operation(endpoint, postForm, post) }),
  };
}

/** The name without the service, such as `Helloworld.Call`. */
function localName({ service, name }: Endpoint): string {
  return name.slice(service.length + 1);
}

/**
 * The messages of a WebSocket in both directions, one per text frame. It is an extension, because
 * OpenAPI cannot describe WebSockets.
 */
function webSocket({ method: { input, output } }: Endpoint, schemas: Schemas): JsonSchema {
  return {
    "x-websocket": { sends: schemas.message(input, "input"), receives: schemas.message(output, "output") },
  };
}

/** @param query the parameters of the path and the query */
export function operation(
  endpoint: Endpoint,
  { versioned, bound, path, id, repeats }: PathForm,
  rest: JsonSchema,
  query: readonly JsonSchema[] = [],
): JsonSchema {
  const { name, resource, method, callers, shape } = endpoint;
  const { idempotency: level } = method;
  const comment = commentOf(method, method.parent.file);
  const summary = firstSentence(comment);
  const parameters = [
    ...query,
    ...(versioned ? [] : [NAMESPACE_HEADER]),
    ...COMMON_HEADERS,
    ...(shape === "server_streaming" && !isHttpBody(method.output) ? [STREAM_HEADER] : []),
  ];
  const tokenNeeded = versioned || (callers !== undefined && callers !== Callers.PUBLIC);
  return {
    // Endpoint names have no hyphen, so the suffixes keep the IDs unique.
    operationId: `${localName(endpoint)}${id}`,
    tags: [bound ? REST_TAG : versioned ? grpcServiceOf(endpoint) : UNVERSIONED_TAG],
    summary: repeats === undefined ? summary || name : `${summary || name} (${repeats} ${path})`,
    ...described(
      comment === `${summary}.` ? "" : comment,
      callersInWords(endpoint),
      (bound ? BOUND_STREAM_WORDS : STREAM_WORDS)[shape],
      oneofWords(endpoint, query),
    ),
    ...deprecation(endpoint),
    "x-resource": resource,
    ...(versioned && !bound && { "x-grpc-path": endpoint.path }),
    ...(endpoint.destructive && { "x-destructive": true }),
    // What the contract promises about a second call with the same request.
    ...(level !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN && {
      "x-idempotency-level": MethodOptions_IdempotencyLevel[level],
    }),
    security: tokenNeeded ? [{ bearer: [] }] : [{}, { bearer: [] }],
    parameters,
    ...rest,
  };
}

function firstSentence(comment: string): string {
  const summary = summaryOf(comment);
  return /^(.*?)\.(?=\s|$)/s.exec(summary)?.[1] ?? summary;
}

/**
 * Who may call an endpoint of the authority or the registry. The contracts of these two declare it
 * themselves.
 */
function callersInWords({ callers, adminPart, someResources }: Endpoint): string {
  if (callers === undefined) return "";
  if (callers === Callers.PUBLIC) return "Everyone may call it.";
  if (callers === Callers.ACCOUNT) return "Any logged-in caller may call it.";
  const some = someResources ? ", or for some resources by such as admin:on:service:orders:*" : "";
  return `Only administrators may call it, by the scope ${scopesInWords(adminPart)}${some}.`;
}

const STREAM_WORDS: Readonly<Record<Endpoint["shape"], string>> = {
  unary: "",
  server_streaming:
    "Answers with a stream: a JSON object a line, or server-sent events where the header Accept asks for `text/event-stream`. A WebSocket may be opened at the same path instead.",
  client_streaming: "Takes a stream: open a WebSocket, send a JSON message a text frame, and an empty one at the end.",
  bidi_streaming: "Takes and answers streams: open a WebSocket, and send a JSON message a text frame.",
};

const BOUND_STREAM_WORDS: Readonly<Record<Endpoint["shape"], string>> = {
  unary: "",
  server_streaming:
    "Answers with a stream: a JSON value a line, or server-sent events where the header Accept asks for `text/event-stream`.",
  client_streaming: "Takes a body of any length, which is sent on to the service as it arrives.",
  bidi_streaming: "",
};

/** A text, because OpenAPI cannot express that parameters exclude each other. */
function oneofWords({ method: { input } }: Endpoint, query: readonly JsonSchema[]): string {
  const excludes = input.oneofs.some(({ fields }) => fields.length > 1);
  return excludes && query.length > 0 ? "Of parameters of which at most one may be given, more are refused." : "";
}

function requestBody({ method: { input } }: Endpoint, schemas: Schemas): JsonSchema {
  if (isHttpBody(input))
    return { description: "Any bytes, of the content type they are sent with.", content: ANY_BYTES };
  const form = takesForms(input) ? { "multipart/form-data": { schema: formSchema(input, schemas) } } : {};
  return {
    // A request without a body means `{}`.
    ...(!takesObject(input) && { required: true }),
    content: { "application/json": jsonContent(input, schemas, "input"), ...form },
  };
}

/**
 * Whether `{}` is a message of the type. Only some of the types with a JSON form of their own
 * accept an object.
 */
function takesObject(type: DescMessage): boolean {
  return !hasOwnForm(type) || TAKES_OBJECT.has(type.typeName);
}

const TAKES_OBJECT: ReadonlySet<string> = new Set(["Struct", "Value", "Any"].map((name) => `google.protobuf.${name}`));
export const ANY_BYTES = { "*/*": { schema: {} } };

export function jsonContent(type: DescMessage, schemas: Schemas, direction: "input" | "output"): JsonSchema {
  const example = exampleOf(type, direction, schemas.style);
  return { schema: schemas.message(type, direction), ...(example !== undefined && { example }) };
}

/** @param field the field of the response that is sent; default: the whole response */
export function responses(endpoint: Endpoint, schemas: Schemas, field?: DescField): JsonSchema {
  const { method, shape } = endpoint;
  const output = field === undefined ? method.output : field.message;
  const after = shape === "server_streaming" && !(output !== undefined && isHttpBody(output));
  return {
    200: response(endpoint, schemas, field),
    ...(after && { 204: { $ref: "#/components/responses/Complete" } }),
    ...ERROR_RESPONSES,
  };
}

function response({ method: { output }, shape }: Endpoint, schemas: Schemas, field: DescField | undefined): JsonSchema {
  const headers = { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } };
  const raw = field === undefined ? output : field.message;
  if (raw !== undefined && isHttpBody(raw)) {
    return { description: "Bytes, of the content type that the service chose.", headers, content: ANY_BYTES };
  }
  const message = field === undefined ? schemas.message(output, "output") : schemas.field(field, "output");
  const example = field === undefined ? exampleOf(output, "output", schemas.style) : undefined;
  if (shape === "server_streaming") {
    return { description: "The stream.", headers, content: streams(message, example ?? {}) };
  }
  if (field !== undefined) {
    return { description: "The answer.", headers, content: { "application/json": { schema: message } } };
  }
  const content = { "application/json": jsonContent(output, schemas, "output") };
  return { description: "The answer.", headers, content };
}

/**
 * The content of a stream. An extension describes its messages, because JSON Schema can describe a
 * line, but not a body of lines.
 */
function streams(message: JsonSchema, sample: unknown): JsonSchema {
  const failure = { $ref: `#/components/schemas/${ERROR}` };
  const example = JSON.stringify(sample);
  const line = { type: "object", properties: { error: failure }, required: ["error"], additionalProperties: false };
  return {
    "application/x-ndjson": {
      schema: {
        type: "string",
        description: "A message a line. An empty line says nothing. A line with the one member `error` is the last.",
      },
      "x-item-schema": { anyOf: [message, line] },
      example: `${example}\n${example}\n`,
    },
    "text/event-stream": {
      schema: { type: "string", description: "A message an event. An event `complete` or `error` is the last." },
      "x-item-schema": { anyOf: [message, failure] },
      example: `id: 1\ndata: ${example}\n\nevent: complete\nid: complete\ndata: {}\n\n`,
    },
  };
}
