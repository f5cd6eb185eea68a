/**
 * The paths of an endpoint by `google.api.http` annotations, from its service's OpenAPI document.
 */
import { type Field, type Message, type OpenApi, successOf } from "./document.js";
import { type Envelopes, envelopesOf } from "./envelopes.js";
import { errorOf, parseExact } from "./json-text.js";
import { fieldOf, lowerCamelCase, withoutSecrets } from "./secrets.js";

export interface RestPath {
  /** `GET` */
  readonly method: string;
  /** With the names of parameters in braces: `/shelves/{shelf}/books`. */
  readonly path: string;
  /** The path in the annotation: `/{name=shelves/*}/books`. */
  readonly template: string;
  /**
   * The JSON name of the field that is the body; `*` for all fields that are not in the path;
   * undefined for no body.
   */
  readonly body: string | undefined;
  readonly tokenNeeded: boolean;
  /** The body's content type: `application/json`, any type, or no body. */
  readonly takes: "json" | "bytes" | undefined;
  /** Whether the response is bytes of a type that the service chooses. */
  readonly returnsBytes: boolean;
  /** The forms of grpc-gateway in its responses. */
  readonly envelopes: Envelopes | undefined;
}

interface Content {
  readonly content?: Readonly<Record<string, unknown>>;
}

interface Operation {
  readonly "x-resource"?: string;
  readonly "x-path-template"?: string;
  readonly "x-body"?: string;
  readonly security?: readonly object[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content>>;
}

/** @param endpoint its name in the service, such as `Library.GetBook` */
export function restPathsOf({ paths }: OpenApi, endpoint: string): RestPath[] {
  return Object.entries(paths).flatMap(([path, item]) => {
    if (item["x-binding"] !== true) return [];
    return Object.entries(item as Readonly<Record<string, Operation | true>>).flatMap(([method, operation]) => {
      if (operation === true || operation["x-resource"]?.split(":").slice(2).join(":") !== endpoint) return [];
      return [{ method: method.toUpperCase(), path, ...described(operation) }];
    });
  });
}

function described(operation: Operation): Omit<RestPath, "method" | "path"> {
  const { security = [], requestBody, responses = {} } = operation;
  const content = requestBody?.content ?? {};
  return {
    template: operation["x-path-template"] ?? "",
    body: operation["x-body"],
    tokenNeeded: security.every((way) => Object.keys(way).length > 0),
    takes: "application/json" in content ? "json" : "*/*" in content ? "bytes" : undefined,
    returnsBytes: "*/*" in (successOf(responses)?.content ?? {}),
    envelopes: envelopesOf(responses),
  };
}

/**
 * The call by curl, for a path that the form does not fill in. The names of the parameters are in
 * the places of their values.
 */
export function curlOf({ method, path, tokenNeeded, takes }: RestPath, origin: string): string {
  const parts = [
    `curl -X ${method}`,
    ...(tokenNeeded ? ['-H "Authorization: Bearer $PORTICO_TOKEN"'] : []),
    ...(takes === "json" ? ["-H 'Content-Type: application/json' -d '{}'"] : []),
    ...(takes === "bytes" ? ["-H 'Content-Type: application/octet-stream' -T file.bin"] : []),
    `'${origin}${path.replaceAll(/\{([^{}]*)\}/g, "$1").replaceAll("'", "'\\''")}'`,
  ];
  return parts.join(" ");
}

/** A JSON object. */
type Json = Readonly<Record<string, unknown>>;

/** A call over HTTP. */
export interface RestRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** As JSON; undefined for none. */
  readonly body: unknown;
}

/** The error of a request that cannot be sent to a path, for the visitor who fills in the form. */
class NotBound extends Error {
  /** The path of the field that is the reason. */
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field} ${problem}`);
    this.field = field;
  }
}

/** The key of a path among the paths of its endpoint: `GET /{name=shelves/*}/books`. */
export function restKey({ method, template }: RestPath): string {
  return `${method} ${template}`;
}

/**
 * Whether a form can fill in the whole path: each wildcard is in a variable, and the body is JSON.
 */
export function canFill({ template, takes }: RestPath): boolean {
  return takes !== "bytes" && !template.replaceAll(VARIABLE, "").includes("*");
}

/** `{name=shelves/*}`, or `{name}` for `{name=*}`. */
const VARIABLE = /\{([^{}=]+)(?:=([^{}]*))?\}/g;

/**
 * Writes a request as a path with its variables filled in, a query, and a body.
 * @param message says which fields of the request are maps
 * @throws {NotBound}
 */
function restRequest({ method, template, body }: RestPath, request: Json, message?: Message): RestRequest {
  const rest = structuredClone(request);
  const path = template.replaceAll(VARIABLE, (_, name: string, pattern = "*") =>
    pathValue(name, take(rest, name.split(".")), pattern),
  );
  const isAll = body === "*";
  const sent = body === undefined ? undefined : isAll ? rest : take(rest, [body]);
  const query = new URLSearchParams(isAll ? [] : [...queryOf(rest, "", message)]).toString();
  return { method, path: query === "" ? path : `${path}?${query}`, body: sent };
}

/**
 * The request that is sent to a path for the form's text, or the reason why it cannot be sent.
 * @param text JSON
 * @param hidesSecrets true for a request that is only shown
 */
export function boundCall(
  path: RestPath,
  text: string,
  message: Message | undefined,
  hidesSecrets = false,
): { readonly request?: RestRequest; readonly error?: string; readonly field?: string } {
  const error = errorOf(text);
  if (error !== undefined) return { error };
  try {
    const request = parseExact(text);
    return { request: restRequest(path, (hidesSecrets ? withoutSecrets(message, request) : request) as Json, message) };
  } catch (thrown) {
    if (!(thrown instanceof NotBound)) throw thrown;
    return { error: thrown.message, field: thrown.field };
  }
}

/**
 * Removes a field from a message and returns it. A request may use the names of the .proto file
 * too.
 */
function take(message: Record<string, unknown>, [name = "", ...inner]: readonly string[]): unknown {
  const key = Object.keys(message).find((one) => lowerCamelCase(one) === lowerCamelCase(name)) ?? name;
  const value = message[key];
  if (inner.length > 0) return isObject(value) ? take(value, inner) : undefined;
  delete message[key];
  return value;
}

/** @throws {NotBound} */
function pathValue(name: string, value: unknown, pattern: string): string {
  if (isObject(value) || Array.isArray(value)) throw new NotBound(name, `is a part of the path, so it is one value.`);
  const text = textOf(name, value ?? "");
  if (text === "" && pattern !== "**") throw new NotBound(name, `is a part of the path: fill it in.`);
  if (!regExpOf(pattern).test(text)) throw new NotBound(name, `is a part of the path: it must be like ${pattern}`);
  const segments = pattern === "*" ? [text] : text.split("/");
  // Browsers treat these segments as steps in the path, encoded or not
  // (https://url.spec.whatwg.org/#path-state).
  const step = segments.find((segment) => segment === "." || segment === "..");
  if (step !== undefined) throw new NotBound(name, `is a part of the path, and a browser cannot send ${step} in it.`);
  return segments.map(encodeURIComponent).join("/");
}

function regExpOf(pattern: string): RegExp {
  if (pattern === "*") return /^/;
  const segments = pattern.split("/").map((segment) => {
    if (segment === "**") return ".*";
    return segment === "*" ? "[^/]+" : segment.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${segments.join("/")}$`);
}

type Query = Generator<[name: string, value: string]>;

/** @throws {NotBound} */
function* queryOf(request: Json, prefix: string, message: Message | undefined): Query {
  for (const [key, value] of Object.entries(request)) {
    const name = prefix + key;
    const field = message && fieldOf(message, key);
    if (value === null) continue;
    if (isObject(value) && field?.cardinality === "map") yield* mapQueryOf(value, name, field);
    else if (isObject(value)) yield* queryOf(value, `${name}.`, field?.message?.());
    else if (!Array.isArray(value)) yield [name, textOf(name, value)];
    else if (value.some(isObject)) throw new NotBound(name, `is a list of messages, which a query cannot have.`);
    else for (const one of value) yield [name, textOf(name, one)];
  }
}

/** The entries of a map: `labels[en]=c`, and `byId[7].title=d` for a map of messages. */
function* mapQueryOf(map: Json, name: string, field: Field): Query {
  for (const [key, value] of Object.entries(map)) {
    const entry = `${name}[${key}]`;
    if (isObject(value)) yield* queryOf(value, `${entry}.`, field.message?.());
    else yield [textOf(name, entry), textOf(entry, value)];
  }
}

/** A value as text that can be percent-encoded. @throws {NotBound} */
function textOf(name: string, value: unknown): string {
  const text = String(value);
  if (/\p{Surrogate}/u.test(text)) throw new NotBound(name, `has half of a surrogate pair, which is no character.`);
  return text;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
