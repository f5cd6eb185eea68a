/**
 * The dialect of `google.api.http` annotations: a service's endpoints as a REST API, with the paths
 * and methods that its .proto files declare. Messages, streams and errors look as in the JSON
 * dialect. docs/rest.md describes it.
 */
import { pathOf as endpointPathOf } from "../../../src/contract/endpoint.js";
import type { Binding } from "../../../src/contract/http-rule.js";
import { decodePart, valuesOf } from "../../../src/contract/path-template.js";
import type { BindingTable, BoundTarget } from "../../catalog/bindings.js";
import type { PathMatch } from "../../catalog/path-trie.js";
import type { Routes } from "../../catalog/routes.js";
import type { Route, Target } from "../../catalog/target.js";
import { HttpError } from "../../http/errors.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import { pathOf } from "../../http/target.js";
import { allowing, type Dialect } from "../../stages/dialect.js";
import type { StreamCallOptions } from "../../stages/stream-call.js";
import { json, openResponse } from "../json/json.js";
import { isPlain } from "../json/message.js";
import { upload } from "../json/streams/upload.js";
import { succeeded } from "../metadata.js";
import {
  type BoundRoute,
  bindingFor,
  checkBody,
  chunkWriter,
  readMessage,
  responseEncoderOf,
  takesChunks,
  writeResponse,
} from "./message.js";

/**
 * The binding of a route that `findRoute` returned, in the contract of the target. @throws
 * {HttpError} 503 like `bindingFor`
 */
function bindingOf(target: Target, route: Route): Binding {
  return bindingFor(target, route as BoundRoute);
}

export const httpRule: Dialect = {
  ...json,
  name: "http-rule",
  roots: [],
  findRoute,
  methods: ({ method }) => allowing(method),
  checkBody: (request, target, route) => checkBody(request, bindingOf(target, route), target),
  takesChunks: (_request, target, route) => takesChunks(bindingOf(target, route), target),
  readMessage: (request, target, chunks, route) =>
    readMessage(request, target, chunks, bindingOf(target, route), (route as BoundRoute).values),
  writeMessage: (_request, target, message, response, route) =>
    succeeded(writeResponse(target, message, bindingOf(target, route)), response),
  openStream,

  writeError(request, failure, about) {
    const explainsWhy = about.route?.versioned === true && failure.message.startsWith(UNAUTHORIZED);
    const message = explainsWhy ? `${failure.message}; ${TOKEN_NEEDED}` : failure.message;
    return json.writeError(request, { ...failure, message }, about);
  },
};

/** A refusal of the guard begins with these words. At a path below /v1/ a hint is added to it. */
const UNAUTHORIZED = "Unauthorized call made to ";
const TOKEN_NEEDED = "below /v1/ a valid token is needed, besides a rule that grants";

function findRoute(request: GatewayRequestHead, { bindings }: Routes): BoundRoute | BareResponse | undefined {
  if (bindings.isEmpty) return undefined;
  const path = pathOf(request.target);
  const match = matchOf(request, path, bindings);
  if (match === undefined) return withoutMethod(request, path, bindings);
  const { entry, parts } = match;
  const { target, binding } = entry;
  if (request.upgrade) {
    throw new HttpError(400, `No WebSocket is opened at this path; one is at ${endpointPathOf(target.endpoint)}`);
  }
  const values = valuesOf(binding.template, parts);
  if (values === undefined) throw new HttpError(400, "The path has a percent-encoding that is not of UTF-8");
  const versioned = decodePart(parts[0] ?? "")?.toLowerCase() === "v1";
  return { target, versioned, binding, values };
}

/** A HEAD request uses the binding for GET, unless the path has a binding for HEAD. */
function matchOf(
  { method }: GatewayRequestHead,
  path: string,
  bindings: BindingTable,
): PathMatch<BoundTarget> | undefined {
  if (method === "OPTIONS") return undefined;
  return bindings.find(method, path) ?? (method === "HEAD" ? bindings.find("GET", path) : undefined);
}

/** @throws {HttpError} 405 if the path has bindings for other methods */
function withoutMethod({ method }: GatewayRequestHead, path: string, bindings: BindingTable): BareResponse | undefined {
  const bound = bindings.methodsOf(path);
  if (bound.size === 0) return undefined;
  const all = bound.has("*") ? ["GET", "POST", "PUT", "PATCH", "DELETE", ...bound] : [...bound];
  const methods = new Set([...all.filter((one) => one !== "*"), ...(all.includes("GET") ? ["HEAD"] : []), "OPTIONS"]);
  const { header } = allowing(...[...methods].sort());
  if (method === "OPTIONS") return { status: 204, headers: header, body: "" };
  throw new HttpError(405, `The method must be one of ${header[1]}, not ${method}`, { headers: header });
}

/** Calls a streaming endpoint: with a stream as the response's body, or by an upload. */
function openStream(
  request: GatewayRequest,
  chunks: readonly Uint8Array[],
  options: StreamCallOptions,
): Promise<BareResponse | Uint8Array> {
  const { target } = options;
  const { values } = options.route as BoundRoute;
  const binding = bindingOf(target, options.route);
  if (takesChunks(binding, target)) {
    return upload(request, options, chunkWriter(request, target, binding, values));
  }
  if (!isPlain(target.endpoint)) {
    const path = endpointPathOf(target.endpoint);
    throw new HttpError(426, `${target.endpoint.name} takes a stream of messages: open a WebSocket at ${path}`);
  }
  const message = readMessage(request, target, chunks, binding, values);
  return openResponse(request, message, options, responseEncoderOf(target, binding));
}
