/**
 * Messages of the http-rule dialect. The fields of a request come from three places: the variables
 * of the template from the path, the field `body` from the body, and all others from the query.
 * Only the path can set a field of the path.
 */

import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Binding } from "../../../src/contract/http-rule.js";
import { beginning } from "../../../src/json/read/errors.js";
import { parameterParts } from "../../../src/json/read/query.js";
import { bindingsFor } from "../../catalog/bindings.js";
import type { EndpointTarget, Route } from "../../catalog/target.js";
import { HttpError } from "../../http/errors.js";
import { announcesBody } from "../../http/headers.js";
import type { BareResponse, GatewayRequestHead } from "../../http/message.js";
import { parseQuery, queryOf } from "../../http/target.js";
import { decodeHttpBody, encodeHttpBody, type HttpBody, RAW_HEADERS } from "../json/bodies/http-body.js";
import type { ResponseEncoder } from "../json/json.js";
import {
  checkCoding,
  EMPTY_OBJECT,
  isHttpBody,
  isJson,
  joined,
  notJson,
  toResponseError,
  writeJson,
  writeMessage,
} from "../json/message.js";
import { type PathFields, pathFieldsOf, withPathFields } from "./overlay.js";

/** The route to a binding, with the values that the path has for its variables. */
export interface BoundRoute extends Route {
  readonly binding: Binding;
  readonly values: readonly string[];
}

/**
 * The same binding in the contract of the target: its fields are fields of that contract.
 * @throws {HttpError} 503 if the target's instance has another contract, without the binding
 */
export function bindingFor(target: EndpointTarget, { binding }: BoundRoute): Binding {
  const { prefix, httpMethod, template } = binding;
  const isSame = (one: Binding) =>
    one === binding || (one.httpMethod === httpMethod && one.template.text === template.text);
  const found = bindingsFor(target, prefix).bindings.find(isSame);
  if (found !== undefined) return found;
  throw new HttpError(503, `${target.endpoint.name} is being updated, and not all of its instances have this path yet`);
}

/**
 * The message type of the body: the whole request or one of its fields. Undefined if the body is
 * not a message.
 */
export function bodyTypeOf({ body }: Binding, target: EndpointTarget): DescMessage | undefined {
  return body === "*" ? target.input : body?.message;
}

/** Whether the body is raw bytes with a content type, instead of JSON. */
function takesRaw(binding: Binding, target: EndpointTarget): boolean {
  const type = bodyTypeOf(binding, target);
  return type !== undefined && isHttpBody(type);
}

/**
 * Whether a body is passed on in chunks: raw bytes, for an endpoint that takes a stream of them.
 */
export function takesChunks(binding: Binding, target: EndpointTarget): boolean {
  return target.endpoint.shape === "client_streaming" && takesRaw(binding, target);
}

/**
 * Rejects, by its headers, a body that the binding does not accept. @throws {HttpError} 400, 415
 */
export function checkBody({ headers, method }: GatewayRequestHead, binding: Binding, target: EndpointTarget): void {
  if (!announcesBody(headers)) return;
  if (binding.body === undefined) {
    throw new HttpError(400, `${method} reads no body at this path; its fields are in the path and the query`);
  }
  if (!isJson(headers.contentType) && !takesRaw(binding, target)) throw notJson();
  checkCoding(headers, takesChunks(binding, target));
}

/** The request message in wire bytes. @throws {JsonError} 400 @throws {HttpError} 400 */
export function readMessage(
  request: GatewayRequestHead,
  target: EndpointTarget,
  chunks: readonly Uint8Array[],
  binding: Binding,
  values: readonly string[],
): Uint8Array {
  const query = queryParameters(request, target, binding);
  const path = pathParameters(binding, values);
  if (binding.body === undefined) return target.request.readQuery([...path, ...query]);
  const data = joined(chunks);
  const rest = query.length === 0 ? NOTHING : target.request.readQuery(query);
  const content = takesRaw(binding, target)
    ? wrapped(encodeHttpBody({ contentType: request.headers.contentType ?? "", data }), binding)
    : readJson(data, target, binding);
  const message = rest.length === 0 ? content : Buffer.concat([rest, content]);
  return path.length === 0 ? message : withPath(message, target.request.readQuery(path), binding);
}

/** The message with the values of the path. @param path the fields of the path in wire bytes */
export function withPath(message: Uint8Array, path: Uint8Array, binding: Binding): Uint8Array {
  return withPathFields(message, path, pathFieldsFor(binding));
}

const NOTHING = new Uint8Array(0);

function readJson(data: Uint8Array, target: EndpointTarget, { body }: Binding): Uint8Array {
  if (body === "*") return target.request.read(data.length === 0 ? EMPTY_OBJECT : data);
  return data.length === 0 ? NOTHING : target.field(body as DescField).read(data);
}

/** Puts a message into the field of the request that the body fills. */
function wrapped(message: Uint8Array, { body }: Binding): Uint8Array {
  if (body === "*") return message;
  return new BinaryWriter()
    .tag((body as DescField).number, WireType.LengthDelimited)
    .bytes(message)
    .finish();
}

/**
 * Returns a function that makes the messages of an upload. Each message has a chunk of the body,
 * and the fields of the path and the query.
 */
export function chunkWriter(
  request: GatewayRequestHead,
  target: EndpointTarget,
  binding: Binding,
  values: readonly string[],
): (chunk: HttpBody) => Uint8Array {
  const query = target.request.readQuery(queryParameters(request, target, binding));
  const path = target.request.readQuery(pathParameters(binding, values));
  return (chunk) => {
    const message = Buffer.concat([query, wrapped(encodeHttpBody(chunk), binding)]);
    return values.length === 0 ? message : withPath(message, path, binding);
  };
}

function pathFieldsFor(binding: Binding): PathFields {
  const known = pathFields.get(binding) ?? pathFieldsOf(binding.variables);
  pathFields.set(binding, known);
  return known;
}

const pathFields = new WeakMap<Binding, PathFields>();

type Parameter = [name: string, value: string];

export function pathParameters({ variables }: Binding, values: readonly string[]): Parameter[] {
  return variables.map((fields, index) => [fields.map(({ jsonName }) => jsonName).join("."), values[index] ?? ""]);
}

const MAX_ECHO = 40;

/**
 * System parameters of clients that Google generates. They say nothing about the message, so they
 * are passed over.
 */
const SYSTEM_PARAMETERS: ReadonlySet<string> = new Set("$alt alt $fields fields key prettyPrint $.xgafv".split(" "));

/**
 * The parameters of the query, without those that the path sets, and without system parameters.
 * @throws {HttpError} 400 if the query sets a field of the body, or if all fields are in the body
 */
function queryParameters(
  { target }: GatewayRequestHead,
  { input, style }: EndpointTarget,
  binding: Binding,
): Parameter[] {
  const query = queryOf(target);
  if (query === "") return [];
  const { body, variables } = binding;
  const given = parseQuery(query).filter(([name]) => !isSystemParameter(name, input));
  if (body === "*") {
    if (given.length === 0 || style.ignoreUnknown) return [];
    throw new HttpError(400, "No query is read at this path: all fields are in the path and the body");
  }
  return given.filter(([name]) => {
    const parts = parameterParts(name);
    if (body !== undefined && isNamed(body, parts[0])) {
      if (style.ignoreUnknown) return false;
      const shown = beginning(name, MAX_ECHO);
      throw new HttpError(400, `${shown}: this field is the body, so it is not read from the query`);
    }
    return !variables.some((fields) => isPathOf(fields, parts));
  });
}

/** A field of the message with that name has precedence. */
export function isSystemParameter(name: string, { fields }: DescMessage): boolean {
  return SYSTEM_PARAMETERS.has(name) && !fields.some((field) => isNamed(field, name));
}

function isPathOf(fields: readonly DescField[], names: readonly string[]): boolean {
  return fields.length === names.length && fields.every((field, index) => isNamed(field, names[index]));
}

function isNamed(field: DescField, name: string | undefined): boolean {
  return field.jsonName === name || field.name === name;
}

/**
 * The response to a unary call or an upload. @throws {HttpError} 502 like `writeMessage` of the
 * JSON dialect
 */
export function writeResponse(
  target: EndpointTarget,
  message: Uint8Array,
  { responseBody: field }: Binding,
): BareResponse {
  if (field === undefined) return writeMessage(target, message);
  if (isRawField(field)) {
    const { contentType, data } = decodeField(target, field, message);
    return { status: 200, contentType, body: data, headers: RAW_HEADERS };
  }
  try {
    return { status: 200, body: target.field(field).writeBody(message) };
  } catch (cause) {
    throw toResponseError(target, cause);
  }
}

/** How the messages of a response stream are written. */
export function responseEncoderOf(target: EndpointTarget, { responseBody: field }: Binding): ResponseEncoder {
  const { service, method } = target.endpoint;
  if (field === undefined) {
    if (isHttpBody(method.output)) return { toRaw: (message) => decodeHttpBody(service, message) };
    return { toJson: (message) => writeJson(target, message) };
  }
  if (isRawField(field)) return { toRaw: (message) => decodeField(target, field, message) };
  return {
    toJson(message) {
      try {
        return target.field(field).write(message);
      } catch (cause) {
        throw toResponseError(target, cause);
      }
    },
  };
}

function isRawField({ fieldKind, message }: DescField): boolean {
  return fieldKind === "message" && message !== undefined && isHttpBody(message);
}

/** The google.api.HttpBody in a field of a response. */
function decodeField(target: EndpointTarget, { number }: DescField, message: Uint8Array): HttpBody {
  const parts: Uint8Array[] = [];
  try {
    const reader = new BinaryReader(message);
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (field === number && wireType === WireType.LengthDelimited) parts.push(reader.bytes());
      else reader.skip(wireType, field);
    }
  } catch (cause) {
    throw toResponseError(target, cause);
  }
  return decodeHttpBody(target.endpoint.service, Buffer.concat(parts));
}
