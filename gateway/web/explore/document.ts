/**
 * Reads a service's OpenAPI document (gateway/openapi): the fields of each request and response,
 * and the kind of each field. A message may contain itself, so the fields of an inner message are
 * read when they are shown.
 */

/** The part of JSON Schema (draft 2020-12) that these documents use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly writeOnly?: boolean;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly not?: { readonly anyOf?: readonly { readonly required?: readonly string[] }[] };
  readonly required?: readonly string[];
  readonly contentEncoding?: string;
}

type Referred<Part> = { readonly $ref: string } | Part;

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface Body {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Operation {
  readonly deprecated?: boolean;
  readonly "x-destructive"?: boolean;
  readonly "x-grpc-path"?: string;
  readonly requestBody?: Referred<Body>;
  readonly responses?: Readonly<Record<string, Referred<Body>>>;
}

interface PathItem {
  readonly post?: Operation;
  readonly get?: Operation;
  /** Whether the path comes from a google.api.http annotation. */
  readonly "x-binding"?: boolean;
  /** Only for endpoints that take or return a stream. */
  readonly "x-websocket"?: { readonly sends: Schema; readonly receives: Schema };
}

export interface OpenApi {
  readonly info: { readonly description?: string };
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly requestBodies?: Readonly<Record<string, Body>>;
    readonly responses?: Readonly<Record<string, Body>>;
  };
}

export interface EndpointDocument {
  readonly deprecated: boolean;
  /** Whether a call removes or replaces something, so that the page asks first. */
  readonly destructive: boolean;
  /** Such as `/helloworld.Helloworld/Call`; undefined if gRPC clients cannot call it. */
  readonly grpcPath: string | undefined;
  readonly request: Message | undefined;
  readonly response: Message | undefined;
  /** Whether a POST takes any bytes (google.api.HttpBody). */
  readonly takesBytes: boolean;
  /** Whether the response is bytes of a type that the service chooses. */
  readonly returnsBytes: boolean;
  readonly example: unknown;
  /** An example of the response; undefined for none. */
  readonly responseExample: unknown;
  /** The responses to calls that fail. */
  readonly errors: readonly ErrorDescription[];
}

export interface ErrorDescription {
  /** An HTTP status, or `default` for all others. */
  readonly status: string;
  readonly description: string;
}

export interface Message {
  /** Without its package. */
  readonly name: string;
  readonly description: string;
  readonly fields: readonly Field[];
  /** Groups of field names. At most one field of each group may be given. */
  readonly choices: readonly (readonly string[])[];
}

/** The kind of one value. */
export type Kind = "string" | "number" | "boolean" | "enum" | "bytes" | "timestamp" | "duration" | "message" | "json";

export interface Field {
  readonly name: string;
  readonly description: string;
  readonly deprecated: boolean;
  readonly required: boolean;
  readonly kind: Kind;
  readonly cardinality: "one" | "list" | "map";
  /** The type of one value, such as `int64` or `Item`. */
  readonly type: string;
  /** Whether the text is hidden while it is typed, such as a password. */
  readonly secret: boolean;
  /** The example in its description; empty for none. */
  readonly example: string;
  readonly values: readonly string[];
  /** For an enum: what its values mean. */
  readonly meaning: string;
  readonly message: (() => Message) | undefined;
}

/**
 * The endpoint at a path such as `/v1/helloworld/Call`; undefined if the document does not have it.
 */
export function endpointDocument({ paths, components = {} }: OpenApi, path: string): EndpointDocument | undefined {
  const item = Object.hasOwn(paths, path) ? paths[path] : undefined;
  const operation = item?.post ?? item?.get;
  if (item === undefined || operation === undefined) return undefined;
  const reader = new Reader(components.schemas ?? {});
  const socket = item["x-websocket"];
  const request = mediaOf(operation.requestBody, components.requestBodies);
  const raw = mediaOf(operation.requestBody, components.requestBodies, "*/*");
  const success = successOf(operation.responses);
  const response = mediaOf(success, components.responses);
  return {
    deprecated: operation.deprecated === true,
    destructive: operation["x-destructive"] === true,
    grpcPath: operation["x-grpc-path"],
    request: reader.body(socket?.sends ?? request?.schema),
    response: reader.body(socket?.receives ?? response?.schema),
    takesBytes: raw !== undefined,
    returnsBytes: mediaOf(success, components.responses, "*/*") !== undefined,
    example: request?.example ?? (socket && reader.example(socket.sends)),
    responseExample: response?.example,
    errors: errorsOf(operation.responses, components.responses),
  };
}

/** The response to a call that succeeded. Its status is 200, unless the service has another. */
export function successOf<T>(responses: Readonly<Record<string, T>> = {}): T | undefined {
  return responses["200"] ?? Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1];
}

function errorsOf(
  responses: Operation["responses"] = {},
  named: Readonly<Record<string, Body>> = {},
): readonly ErrorDescription[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const description = referred(response, named)?.description;
    return /^(?:[45]\d\d|default)$/.test(status) && description !== undefined ? [{ status, description }] : [];
  });
}

function referred(body: Referred<Body>, named: Readonly<Record<string, Body>> = {}): Body | undefined {
  return "$ref" in body ? named[body.$ref.slice(body.$ref.lastIndexOf("/") + 1)] : body;
}

/** The schema of a body in a media type; undefined if the body does not have this media type. */
function mediaOf(
  body: Referred<Body> | undefined,
  named: Readonly<Record<string, Body>> | undefined,
  type = "application/json",
): Media | undefined {
  return body && referred(body, named)?.content?.[type];
}

class Reader {
  readonly #schemas: Readonly<Record<string, Schema>>;

  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
  }

  /** The message in a body; undefined if the body is not a message, such as bytes. */
  body(schema: Schema | undefined): Message | undefined {
    const { name, schema: found } = this.#resolve(schema ?? {});
    return isMessage(found) ? this.#message(name, found) : undefined;
  }

  /** An example made from the examples in the comments, which say "such as `tea`". */
  example(schema: Schema): unknown {
    const fields = this.body(schema)?.fields ?? [];
    const given = fields.map(({ name, example, kind, cardinality }) =>
      kind === "string" && cardinality === "one" && example !== "" ? [[name, example]] : [],
    );
    return Object.fromEntries(given.flat());
  }

  #message(name: string, { description = "", properties = {}, required = [], not }: Schema): Message {
    const pairs = (not?.anyOf ?? []).map((one) => one.required ?? []);
    return {
      name: shortName(name),
      description,
      // In a response, `required` names the fields that are always there.
      fields: Object.entries(properties).map(([field, schema]) =>
        this.#field(field, schema, name.endsWith("-input") && required.includes(field)),
      ),
      choices: groups(pairs),
    };
  }

  #field(name: string, sent: Schema, required: boolean): Field {
    const schema = withoutNull(sent);
    const { items, additionalProperties, properties } = this.#inline(schema);
    const isMap = typeof additionalProperties === "object" && properties === undefined;
    const cardinality = items !== undefined && schema.$ref === undefined ? "list" : isMap ? "map" : "one";
    const single = cardinality === "list" ? items! : isMap ? (additionalProperties as Schema) : schema;
    return {
      name,
      description: sent.description ?? "",
      deprecated: sent.deprecated === true,
      required,
      secret: sent.writeOnly === true,
      example: /\bsuch as `([^`]+)`/.exec(sent.description ?? "")?.[1] ?? "",
      cardinality,
      ...this.#single(single),
    };
  }

  /**
   * The schema, or an empty one if it is a `$ref`. This finds lists and maps, which are never
   * behind a `$ref`.
   */
  #inline(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : {};
  }

  #single(given: Schema): Pick<Field, "kind" | "type" | "values" | "meaning" | "message"> {
    const { name, schema } = this.#resolve(withoutNull(given));
    const plain = { values: [], meaning: "", message: undefined };
    if (isMessage(schema)) {
      const message = () => this.#message(name, schema);
      return { ...plain, kind: "message", type: shortName(name), message };
    }
    const forms = schema.anyOf ?? [schema];
    const names = forms.find((form) => form.type === "string" && form.enum !== undefined)?.enum as string[] | undefined;
    const first = forms.find((form) => form.type !== "null") ?? schema;
    // A number may also be one of the strings NaN and Infinity. This does not make it an enum.
    if (names !== undefined && first.type !== "number") {
      return { ...plain, kind: "enum", type: shortName(name), values: names, meaning: schema.description ?? "" };
    }
    return { ...plain, ...scalarOf(first, name) };
  }

  #resolve(schema: Schema): { readonly name: string; readonly schema: Schema } {
    const name = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? "")?.[1] ?? "";
    return { name, schema: Object.hasOwn(this.#schemas, name) ? this.#schemas[name]! : schema };
  }
}

function isMessage({ properties }: Schema): boolean {
  return properties !== undefined && !Object.hasOwn(properties, "@type");
}

/** Removes the alternative null from a schema. Null means that the field was not given. */
function withoutNull(schema: Schema): Schema {
  const { type, anyOf } = schema;
  if (Array.isArray(type)) return { ...schema, type: type.find((one) => one !== "null") };
  const others = anyOf?.filter((form) => form.type !== "null");
  return others?.length === 1 && anyOf?.length === 2 ? others[0]! : schema;
}

function scalarOf({ type, format, contentEncoding }: Schema, name: string): Pick<Field, "kind" | "type"> {
  if (contentEncoding !== undefined) return { kind: "bytes", type: "bytes" };
  if (format === "date-time") return { kind: "timestamp", type: "timestamp" };
  if (/^google\.protobuf\.Duration-(?:in|out)put$/.test(name)) {
    return { kind: "duration", type: "duration" };
  }
  if (type === "integer" || type === "number") return { kind: "number", type: format ?? type };
  if (type === "string" && format !== undefined && /^u?int64$/.test(format)) return { kind: "number", type: format };
  if (type === "boolean") return { kind: "boolean", type: "bool" };
  if (type === "string") return { kind: "string", type: "string" };
  return { kind: "json", type: name === "" ? "any JSON" : shortName(name) };
}

/** `CallRequest` for `helloworld.CallRequest-input`. */
function shortName(name: string): string {
  return name.replace(/-(?:in|out)put$/, "").replace(/^.*\./, "");
}

/** The groups (oneofs) from which pairs of exclusive names come. */
function groups(pairs: readonly (readonly string[])[]): string[][] {
  const found: string[][] = [];
  for (const pair of pairs) {
    const group = found.find((names) => pair.some((name) => names.includes(name)));
    if (group === undefined) found.push([...pair]);
    else group.push(...pair.filter((name) => !group.includes(name)));
  }
  return found;
}
