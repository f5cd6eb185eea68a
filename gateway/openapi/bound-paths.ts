/**
 * The paths that a service has by `google.api.http` annotations, with their operations. OpenAPI
 * paths have no wildcards, so each wildcard becomes a parameter, as in Google's discovery documents
 * (`flatPath`): `/v1/{name=shelves/*}` becomes `/v1/shelves/{shelvesId}`.
 */
import type { DescField } from "@bufbuild/protobuf";
import { commentOf } from "../../src/contract/comments.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import type { Binding } from "../../src/contract/http-rule.js";
import { type PathTemplate, REST, type Variable } from "../../src/contract/path-template.js";
import { described, type Schemas } from "../../src/json/schema/messages.js";
import type { JsonSchema } from "../../src/json/schema/scalars.js";
import { isHttpBody } from "../dialects/json/message.js";
import { ANY_BYTES, jsonContent, operation, responses } from "./operations.js";
import { queryParameters } from "./parameters.js";

/** The methods for which OpenAPI can describe an operation. */
const METHODS: ReadonlySet<string> = new Set(["GET", "PUT", "POST", "DELETE", "HEAD", "PATCH"]);

export class BoundPaths {
  readonly #schemas: Schemas;
  readonly #items = new Map<string, Record<string, unknown>>();
  /**
   * Keyed by the path without the names of its parameters, because two paths of a document must not
   * differ only in these names.
   */
  readonly #paths = new Map<string, { readonly path: string; readonly names: readonly string[] }>();
  readonly #counts = new Map<string, number>();

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  /** Adds the operation of a binding, unless its path has an operation for the method. */
  add(endpoint: Endpoint, binding: Binding): void {
    const { httpMethod, body, template } = binding;
    const method = httpMethod === "*" ? (body === undefined ? "GET" : "POST") : httpMethod;
    if (!METHODS.has(method) || !isCallable(endpoint, binding)) return;
    const wildcards = wildcardsOf(binding);
    const shape = pathWith(template, wildcards, () => "{}");
    const known = this.#paths.get(shape);
    const names = known?.names ?? distinct(wildcards.map(({ name }) => name));
    const path = known?.path ?? pathWith(template, wildcards, (index) => `{${names[index]}}`);
    this.#paths.set(shape, { path, names });
    const item = this.#items.get(path) ?? { "x-binding": true };
    this.#items.set(path, item);
    if (Object.hasOwn(item, method.toLowerCase())) return;
    const count = (this.#counts.get(endpoint.name) ?? 0) + 1;
    this.#counts.set(endpoint.name, count);
    const parameters = wildcards.map((wildcard, index) => parameterOf(names[index] as string, wildcard, this.#schemas));
    const query = queryOf(endpoint, binding, this.#schemas);
    const versioned = template.segments[0] === "v1";
    const rest = {
      "x-path-template": template.text,
      ...(body !== undefined && { "x-body": body === "*" ? body : this.#schemas.nameOf(body) }),
      ...(body !== undefined && { requestBody: requestBody(endpoint, body, this.#schemas) }),
      responses: responses(endpoint, this.#schemas, binding.responseBody),
    };
    const form = { versioned, bound: true, path, id: `-rest${count}`, repeats: method } as const;
    item[method.toLowerCase()] = operation(endpoint, form, rest, [...parameters, ...query]);
  }

  items(): Iterable<[path: string, item: JsonSchema]> {
    return this.#items as Map<string, JsonSchema>;
  }
}

/** HTTP can carry a stream of requests only as the raw bytes of a body. */
function isCallable({ shape, method: { input } }: Endpoint, { body }: Binding): boolean {
  if (shape === "unary" || shape === "server_streaming") return true;
  const message = body === "*" ? input : body?.message;
  return shape === "client_streaming" && message !== undefined && isHttpBody(message);
}

/** A wildcard of a template, which becomes a parameter of the path. */
interface Wildcard {
  /** Its index among the template's segments. */
  readonly index: number;
  readonly name: string;
  /** The variable that contains the wildcard, and the field that the variable sets. */
  readonly variable: Variable | undefined;
  readonly field: DescField | undefined;
  readonly isRest: boolean;
}

function wildcardsOf({ template, variables }: Binding): Wildcard[] {
  const { segments } = template;
  return segments.flatMap((segment, index) => {
    if (typeof segment === "string") return [];
    const at = template.variables.findIndex(({ start, end }) => start <= index && index < end);
    const variable = template.variables[at];
    const isAll = variable !== undefined && variable.end === variable.start + 1;
    const before = segments[index - 1];
    const name = isAll ? variable.fieldPath.join(".") : typeof before === "string" ? `${before}Id` : "segment";
    return [{ index, name, variable, field: variables[at]?.at(-1), isRest: segment === REST }];
  });
}

/** Appends a number to each name that occurred before. */
function distinct(names: readonly string[]): string[] {
  return names.map((name, index) => {
    const before = names.slice(0, index).filter((other) => other === name).length;
    return before === 0 ? name : `${name}${before + 1}`;
  });
}

function pathWith(
  { segments, verb }: PathTemplate,
  wildcards: readonly Wildcard[],
  write: (index: number) => string,
): string {
  const written = segments.map((segment, at) => {
    if (typeof segment === "string") return encodeURIComponent(segment);
    return write(wildcards.findIndex(({ index }) => index === at));
  });
  return `/${written.join("/")}${verb === "" ? "" : `:${encodeURIComponent(verb)}`}`;
}

function parameterOf(name: string, { variable, field, isRest }: Wildcard, schemas: Schemas): JsonSchema {
  const isAll = variable !== undefined && variable.end === variable.start + 1;
  const comment = field === undefined ? "" : commentOf(field, field.parent.file);
  const part = variable === undefined || isAll ? "" : `A part of \`${variable.fieldPath.join(".")}\`.`;
  const slashes = isRest ? "It may have slashes." : "";
  const schema = isAll && field !== undefined && !isRest ? schemas.field(field, "input") : { type: "string" };
  return { name, in: "path", required: true, ...described(part, comment, slashes), schema };
}

/** The fields that come from the query, because neither the path nor the body sets them. */
function queryOf({ method: { input } }: Endpoint, { body, variables }: Binding, schemas: Schemas): JsonSchema[] {
  if (body === "*") return [];
  const bound = new Set(variables.map((fields) => fields.map((field) => schemas.nameOf(field)).join(".")));
  return queryParameters(input, schemas).filter(({ name }) => {
    const [first] = String(name).split(".");
    return !bound.has(String(name)) && (body === undefined || first !== schemas.nameOf(body));
  });
}

function requestBody({ method: { input } }: Endpoint, body: DescField | "*", schemas: Schemas): JsonSchema {
  const message = body === "*" ? input : body.fieldKind === "message" ? body.message : undefined;
  if (message !== undefined && isHttpBody(message)) {
    return { description: "Any bytes, of the content type they are sent with.", content: ANY_BYTES };
  }
  const content = body === "*" ? jsonContent(input, schemas, "input") : { schema: schemas.field(body, "input") };
  return { content: { "application/json": content } };
}
