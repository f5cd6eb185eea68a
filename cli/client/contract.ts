/**
 * The contract of a service for the client generators, read from the OpenAPI document that the
 * gateway serves to the caller. Anyone may have written the document: its names and comments are
 * arbitrary text, so generators must quote them.
 */
import { CommandError } from "../terminal/exit.js";
import type { Content, Document, DocumentSchema, Operation, PathItem } from "./document.js";
import { type FieldType, fieldTypeOf, type ValueType, valueTypeOf } from "./value-type.js";

export interface ServiceContract {
  /** `helloworld` */
  readonly name: string;
  readonly comment: string;
  /** The gRPC service whose name is omitted in paths comes first, if there is one. */
  readonly groups: readonly GroupContract[];
  readonly messages: readonly MessageContract[];
  readonly enums: readonly EnumContract[];
}

/** The endpoints of a gRPC service. */
export interface GroupContract {
  /** `Rules` of `/auth/Rules/List`, or undefined when paths have no such segment. */
  readonly name: string | undefined;
  readonly comment: string;
  readonly endpoints: readonly EndpointContract[];
}

export interface EndpointContract {
  /** `Call` */
  readonly name: string;
  /** The path without a version: `/helloworld/Call`. */
  readonly path: string;
  readonly comment: string;
  readonly deprecated: boolean;
  /**
   * Which sides stream. A stream of raw bytes from the client is one body, so it does not count as
   * a stream here.
   */
  readonly shape: "unary" | "server" | "client" | "bidi";
  readonly idempotent: boolean;
  /** `bytes` means a body of any content. */
  readonly request: ValueType;
  readonly response: ValueType;
  readonly takesBytes: boolean;
  readonly returnsBytes: boolean;
}

export interface MessageContract {
  /** The name with its package: `helloworld.CallRequest`. */
  readonly name: string;
  readonly comment: string;
  readonly deprecated: boolean;
  /** The fields in requests, or undefined for a message that is only in responses. */
  readonly sent: readonly FieldContract[] | undefined;
  /** The fields in responses, or undefined for a message that is only in requests. */
  readonly received: readonly FieldContract[] | undefined;
}

export interface FieldContract {
  /** The field's name in JSON. */
  readonly name: string;
  readonly type: FieldType;
  /** Whether absent and zero differ for the field. They do for messages and `optional` fields. */
  readonly optional: boolean;
  /**
   * Whether the schema marks the field as required: every response has it, or every request needs
   * it.
   */
  readonly required: boolean;
  readonly comment: string;
  readonly deprecated: boolean;
}

export interface EnumContract {
  readonly name: string;
  readonly comment: string;
  readonly deprecated: boolean;
  readonly values: readonly string[];
}

/**
 * The names and paths that a gateway can have. Anything else is rejected, because names become file
 * names, and paths are called with a token.
 */
const NAME = /^[a-z0-9][a-z0-9-]*$/;
const SEGMENTS = /^(?:\/[A-Za-z_][A-Za-z0-9_.]*){0,2}$/;

/** @throws {CommandError} when the text is not the document of a Portico service */
export function readContract(service: string, text: string): ServiceContract {
  if (!NAME.test(service)) throw new CommandError(`There is no service ${JSON.stringify(service)}`);
  const document = JSON.parse(text.toWellFormed()) as Document;
  const groups = new Map<string, EndpointContract[]>();
  const tags = new Map<string, string>();
  for (const [path, item] of Object.entries(document.paths)) {
    // A path of a google.api.http annotation is skipped: clients call endpoints by their names.
    if (path.startsWith("/v1/") || item["x-binding"]) continue;
    const isOwn = path.startsWith(`/${service}`) && SEGMENTS.test(path.slice(service.length + 1));
    if (!isOwn) throw new CommandError(`The document of ${service} has a path that is none of Portico's`);
    const segments = path.split("/").length - 1;
    if (segments === 1) continue; // The short path of an endpoint `Call`.
    const group = segments === 2 ? "" : (path.split("/")[2] ?? "");
    const operation = item.post ?? item.get;
    if (operation === undefined) continue;
    // Below `/v1` the tag is the gRPC service, and the summary is only the comment.
    const versioned = document.paths[`/v1${path}`];
    const main = versioned?.post ?? versioned?.get ?? operation;
    tags.set(group, main.tags?.[0] ?? "");
    const endpoint = endpointOf(path, item, { ...operation, summary: main.summary ?? "" }, document);
    groups.set(group, [...(groups.get(group) ?? []), endpoint]);
  }
  const describedAs = (group: string) => document.tags?.find(({ name }) => name === tags.get(group))?.description ?? "";
  return {
    name: service,
    comment: firstParagraphs(
      document.info.description ?? "",
      /^Fields are named (?:in lowerCamelCase|as in the \.proto file)\./,
    ),
    groups: [...groups].map(([name, endpoints]) => ({
      name: name || undefined,
      comment: describedAs(name),
      endpoints,
    })),
    ...typesOf(document),
  };
}

/** The content of a success. Its status is 200, unless an option of the service sets another. */
function contentOf({ responses = {} }: Operation): Content {
  const success = responses["200"] ?? Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1];
  return success?.content ?? {};
}

function endpointOf(path: string, item: PathItem, operation: Operation, document: Document): EndpointContract {
  const socket = item["x-websocket"];
  const body = operation.requestBody?.content ?? {};
  const content = contentOf(operation);
  const isSocket = item.post === undefined;
  const takesBytes = !isSocket && "*/*" in body;
  const returnsBytes = !isSocket && "*/*" in content;
  const streams = "application/x-ndjson" in content;
  const received =
    content["application/json"]?.schema ?? content["application/x-ndjson"]?.["x-item-schema"]?.anyOf?.[0];
  return {
    name: path.slice(path.lastIndexOf("/") + 1),
    path,
    comment: commentOf(operation),
    deprecated: operation.deprecated === true,
    shape: isSocket
      ? socketShape(operation)
      : streams || (returnsBytes && socket !== undefined && !takesBytes)
        ? "server"
        : "unary",
    idempotent: operation["x-idempotency-level"] !== undefined,
    request: valueTypeOf(
      socket !== undefined && !takesBytes ? socket.sends : body["application/json"]?.schema,
      document,
    ),
    response: valueTypeOf(isSocket ? socket?.receives : received, document),
    takesBytes,
    returnsBytes,
  };
}

/** Which sides of a WebSocket endpoint stream. Only the text of the description says so. */
function socketShape({ description = "" }: Operation): "client" | "bidi" {
  return /^Takes and answers streams: /m.test(description) ? "bidi" : "client";
}

/** The gateway's sentences about HTTP, which callers of a client do not need to know. */
const ABOUT_HTTP = /^(?:Answers with a stream: |Takes a stream: |Takes and answers streams: |Of parameters of which )/;

/**
 * Summary and description in one text. The summary is the first sentence. The description repeats
 * it only if it has more sentences.
 */
function commentOf({ summary = "", description = "" }: Operation): string {
  const comment = description.startsWith(summary) ? description : `${summary}.\n\n${description}`;
  return firstParagraphs(comment, ABOUT_HTTP);
}

function firstParagraphs(text: string, except: RegExp): string {
  const paragraphs = text.split("\n\n").filter((paragraph) => paragraph !== "" && !except.test(paragraph));
  return paragraphs.join("\n\n");
}

/**
 * The end of the schema names of messages and enums, such as `helloworld.CallRequest-input`. Such a
 * name has no other hyphen. The schema names of scalars have more hyphens.
 */
const DIRECTION = /(?<=^[^-]+)-(?:input|output)$/;

function typesOf(document: Document): Pick<ServiceContract, "messages" | "enums"> {
  const { schemas } = document.components;
  const keys = Object.keys(schemas).filter((key) => DIRECTION.test(key));
  const messages: MessageContract[] = [];
  const enums: EnumContract[] = [];
  for (const name of new Set(keys.map((key) => key.replace(DIRECTION, "")))) {
    const [sent, received] = [schemas[`${name}-input`], schemas[`${name}-output`]];
    const { description = "", deprecated = false, ...any } = received ?? sent ?? {};
    const words = { name, comment: description, deprecated };
    const { kind } = valueTypeOf({ $ref: received === undefined ? `${name}-input` : `${name}-output` }, document);
    if (kind === "enum") enums.push({ ...words, values: valuesOf(any) });
    if (kind !== "message") continue;
    const fields = (schema: DocumentSchema | undefined) => schema && fieldsOf(schema, document);
    messages.push({ ...words, sent: fields(sent), received: fields(received) });
  }
  return { messages, enums };
}

function fieldsOf({ properties = {}, required = [] }: DocumentSchema, document: Document): FieldContract[] {
  return Object.entries(properties).map(([name, schema]) => {
    const type = fieldTypeOf(schema, document);
    return {
      name,
      type,
      optional: schema["x-explicit-presence"] === true || (type.many === undefined && IS_MESSAGE.has(type.value.kind)),
      required: required.includes(name),
      comment: schema.description ?? "",
      deprecated: schema.deprecated === true,
    };
  });
}

/** Kinds of values that are messages in the contract. Fields of these kinds have presence. */
const IS_MESSAGE: ReadonlySet<ValueType["kind"]> = new Set<ValueType["kind"]>([
  ...(["message", "timestamp", "duration", "mask", "struct", "list", "value", "any"] as const),
]);

function valuesOf(schema: DocumentSchema): string[] {
  const values = schema.enum ?? schema.anyOf?.find((one) => one.enum !== undefined)?.enum ?? [];
  return values.filter((value): value is string => typeof value === "string");
}
