/**
 * The paths of a service whose clients know grpc-gateway (`--rest=grpc-gateway`). Requests,
 * responses, streams and errors look as grpc-gateway's do, so that no client has to change. The
 * token, the rules and the limits are the same as in every other dialect. docs/real-services.md has
 * the table of what is the same and what differs.
 */
import type { DescField } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Binding } from "../../../../src/contract/http-rule.js";
import { type PassedMetadata, PrefixedMetadata } from "../../../catalog/passed-metadata.js";
import type { EndpointTarget } from "../../../catalog/target.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../../http/message.js";
import { parseQuery, queryOf } from "../../../http/target.js";
import type { StreamCall, StreamCallOptions } from "../../../stages/stream-call.js";
import { RAW_HEADERS } from "../../json/bodies/http-body.js";
import { type ResponseEncoder, UNBUFFERED } from "../../json/json.js";
import { EMPTY_OBJECT, isPlain, joined } from "../../json/message.js";
import { ResponseStream, type StreamFormat } from "../../json/streams/response-stream.js";
import { oneResponse } from "../../json/streams/upload.js";
import {
  type BoundRoute,
  bodyTypeOf,
  isSystemParameter,
  pathParameters,
  responseEncoderOf,
  withPath,
} from "../message.js";
import { maskFieldOf, maskOf } from "./field-mask.js";
import { emptyFieldOf, inJsonForm, isUrlEncodedForm, type Parameter, unbound } from "./parameters.js";
import { addHeaders, failureLine } from "./responses.js";
import { ValueFeed } from "./value-feed.js";

const prefixed = new WeakMap<PassedMetadata, PrefixedMetadata>();

/** The metadata that passes at the paths of clients of grpc-gateway. */
export function prefixedMetadataOf({ metadata }: EndpointTarget): PrefixedMetadata {
  const known = prefixed.get(metadata) ?? new PrefixedMetadata(metadata);
  prefixed.set(metadata, known);
  return known;
}

/** Whether the body is a stream of JSON values, one for each message. */
export function takesValues({ endpoint }: EndpointTarget): boolean {
  return !isPlain(endpoint);
}

/**
 * The request message in wire bytes. A body is JSON, whatever its content type says. Where the
 * binding reads no body, the body is ignored, except a form. Its parameters count as the query's.
 * @throws {JsonError} 400 @throws {HttpError} 400
 */
export function readMessage(
  request: GatewayRequestHead,
  target: EndpointTarget,
  chunks: readonly Uint8Array[],
  binding: Binding,
  values: readonly string[],
): Uint8Array {
  const isForm = binding.body === undefined && isUrlEncodedForm(request);
  const parameters = parametersOf(request, target, binding);
  if (isForm) parameters.push(...formParameters(target, joined(chunks), binding));
  const path = inJsonForm(target.input, pathParameters(binding, values));
  if (binding.body === undefined) return readParameters(target, [...path, ...parameters]);
  const body = trimmed(joined(chunks));
  const rest = parameters.length === 0 ? NOTHING : readParameters(target, parameters);
  const content = readBody(body, target, binding.body);
  const mask = maskFor(rest, body, target, binding);
  const message = rest.length + mask.length === 0 ? content : Buffer.concat([rest, mask, content]);
  return path.length === 0 ? message : withPath(message, target.request.readQuery(path), binding);
}

const NOTHING = new Uint8Array(0);

function parametersOf(
  { target: requested }: GatewayRequestHead,
  { input }: EndpointTarget,
  binding: Binding,
): Parameter[] {
  const query = queryOf(requested);
  if (query === "") return [];
  const given = parseQuery(query).filter(([name]) => !isSystemParameter(name, input));
  return inJsonForm(input, unbound(given, binding));
}

function formParameters({ input }: EndpointTarget, body: Uint8Array, binding: Binding): Parameter[] {
  return inJsonForm(input, unbound(parseQuery(Buffer.from(body).toString("latin1")), binding));
}

/**
 * The parameters in wire bytes. `name=` sets a google.protobuf.Empty, which is no form of proto3
 * JSON.
 */
function readParameters({ input, request }: EndpointTarget, parameters: readonly Parameter[]): Uint8Array {
  const empties = parameters.flatMap((parameter) => emptyFieldOf(input, parameter) ?? []);
  if (empties.length === 0) return request.readQuery(parameters);
  const others = parameters.filter((parameter) => emptyFieldOf(input, parameter) === undefined);
  const writer = new BinaryWriter();
  for (const { number } of empties) writer.tag(number, WireType.LengthDelimited).bytes(NOTHING);
  return Buffer.concat([request.readQuery(others), writer.finish()]);
}

/** The body without white space around it, so that a body of white space counts as empty. */
function trimmed(body: Uint8Array): Uint8Array {
  const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
  let end = body.length;
  while (end > 0 && isSpace(body[end - 1])) end--;
  return end === body.length ? body : body.subarray(0, end);
}

function readBody(body: Uint8Array, target: EndpointTarget, field: DescField | "*"): Uint8Array {
  if (field === "*") return target.request.read(body.length === 0 ? EMPTY_OBJECT : body);
  return body.length === 0 ? NOTHING : target.field(field).read(body);
}

/** The update mask of a PATCH, in wire bytes, where the query has none. */
function maskFor(query: Uint8Array, body: Uint8Array, target: EndpointTarget, binding: Binding): Uint8Array {
  const field = maskFieldOf(binding, target.input);
  const type = bodyTypeOf(binding, target);
  if (field === undefined || type === undefined || body.length === 0 || hasField(query, field)) return NOTHING;
  return maskOf(field, type, body);
}

function hasField(message: Uint8Array, { number }: DescField): boolean {
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [found, wireType] = reader.tag();
    if (found === number) return true;
    reader.skip(wireType, found);
  }
  return false;
}

/**
 * Calls a streaming endpoint. Client streams are JSON values in the body of the request. Server
 * streams are lines of JSON.
 * @param maxMessage maximum size of one message in a body
 */
export function openStream(
  request: GatewayRequest,
  chunks: readonly Uint8Array[],
  options: StreamCallOptions,
  { binding, maxMessage }: { readonly binding: Binding; readonly maxMessage: number },
): Promise<BareResponse | Uint8Array> {
  const { target, route } = options;
  const { values } = route as BoundRoute;
  const feed = (call: StreamCall): ValueFeed =>
    new ValueFeed(call, { request, toMessage: valueReader(target, binding, values), maxMessage });
  if (target.endpoint.shape === "client_streaming") return oneResponse(request, options, feed);
  const source = isPlain(target.endpoint) ? readMessage(request, target, chunks, binding, values) : feed;
  return openResponse(request, options, source, responseEncoderOf(target, binding));
}

/**
 * Returns a function that makes a message of a client stream. Each message has the fields of the
 * path.
 */
function valueReader(
  { request, input }: EndpointTarget,
  binding: Binding,
  values: readonly string[],
): (json: Uint8Array) => Uint8Array {
  if (values.length === 0) return (json) => request.read(json);
  const path = Buffer.from(request.readQuery(inJsonForm(input, pathParameters(binding, values))));
  return (json) => withPath(request.read(json), path, binding);
}

/**
 * Begins the response with the first message. A call that fails before has the error's status, and
 * a body of one line.
 */
async function openResponse(
  request: GatewayRequest,
  options: StreamCallOptions,
  source: ConstructorParameters<typeof ResponseStream>[1],
  encoder: ResponseEncoder,
): Promise<BareResponse> {
  const { target } = options;
  const body = new ResponseStream(options, source, lines(encoder));
  request.onAbort((reason) => body.stop(reason));
  try {
    const contentType = await body.contentType;
    const fixed = encoder.toRaw === undefined ? UNBUFFERED : [...RAW_HEADERS, ...UNBUFFERED];
    return { status: body.status, headers: addHeaders([...fixed], body.metadata), contentType, body };
  } catch (error) {
    const failure = options.toFailure(error as Error);
    const headers = addHeaders([...failure.headers], body.metadata);
    return { status: failure.status, headers, body: failureLine(failure, target) };
  }
}

/** grpc-gateway sends no heartbeat, and the media type of one message. */
function lines(encoder: ResponseEncoder): StreamFormat {
  const common = { failure: failureLine, heartbeat: undefined, end: undefined, dropsTrailers: true } as const;
  const { toRaw } = encoder;
  if (toRaw === undefined) {
    const message = (bytes: Uint8Array) => `{"result":${encoder.toJson(bytes)}}\n`;
    return { ...common, contentType: () => "application/json", message };
  }
  return {
    ...common,
    contentType: (first) => (first === undefined ? "application/json" : toRaw(first).contentType),
    message: (bytes) => Buffer.concat([toRaw(bytes).data, LINE_END]),
  };
}

const LINE_END = Buffer.from("\n");
