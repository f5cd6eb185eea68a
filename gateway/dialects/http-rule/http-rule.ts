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
import type { EndpointTarget, Route } from "../../catalog/target.js";
import { type Failure, HttpError } from "../../http/errors.js";
import { valuesOf as valuesOfHeader } from "../../http/headers.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import { pathOf } from "../../http/target.js";
import { allowing, type Dialect, type FailedRequest } from "../../stages/dialect.js";
import type { StreamCallOptions } from "../../stages/stream-call.js";
import { json, openResponse } from "../json/json.js";
import { checkCoding, isPlain } from "../json/message.js";
import { upload } from "../json/streams/upload.js";
import { succeeded } from "../metadata.js";
import {
  openStream as openGatewayStream,
  prefixedMetadataOf,
  readMessage as readGatewayMessage,
  takesValues,
} from "./grpc-gateway/grpc-gateway.js";
import { isUrlEncodedForm } from "./grpc-gateway/parameters.js";
import { errorReply, withPrefixedMetadata } from "./grpc-gateway/responses.js";
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
function bindingOf(target: EndpointTarget, route: Route): Binding {
  return bindingFor(target, route as BoundRoute);
}

/** A refusal of the guard begins with these words. At a path below /v1/ a hint is added to it. */
const UNAUTHORIZED = "Unauthorized call made to ";
const TOKEN_NEEDED = "below /v1/ a valid token is needed, besides a rule that grants";

/** @param maxMessage maximum size of a message in a stream, in bytes */
export function httpRule(maxMessage: number): Dialect {
  return {
    ...json,
    name: "http-rule",
    roots: [],
    findRoute,
    methods: ({ method }) => allowing(method),

    checkBody(request, target, route) {
      if (target.isGrpcGateway) checkCoding(request.headers, takesValues(target));
      else checkBody(request, bindingOf(target, route), target);
    },

    takesChunks: (_request, target, route) =>
      target.isGrpcGateway ? takesValues(target) : takesChunks(bindingOf(target, route), target),

    readMessage(request, target, chunks, route) {
      const read = target.isGrpcGateway ? readGatewayMessage : readMessage;
      return read(request, target, chunks, bindingOf(target, route), (route as BoundRoute).values);
    },

    writeMessage(request, target, message, response, route) {
      const reply = writeResponse(target, message, bindingOf(target, route));
      if (!target.isGrpcGateway) return succeeded(reply, response);
      return withPrefixedMetadata(request, { ...reply, status: response.status ?? reply.status }, response);
    },

    openStream: (request, chunks, options) => openStream(request, chunks, options, maxMessage),
    writeError,
  };
}

/** The reply to a request that failed. Clients of grpc-gateway get its errors from the route on. */
function writeError(request: GatewayRequestHead, failure: Failure, about: FailedRequest): BareResponse {
  const { target, route, response } = about;
  const explainsWhy = route?.versioned === true && failure.message.startsWith(UNAUTHORIZED);
  const hint = explainsWhy ? `; ${TOKEN_NEEDED}` : "";
  const explained = { ...failure, message: failure.message + hint, original: failure.original + hint };
  if (target === undefined || route === undefined || !target.isGrpcGateway) {
    return json.writeError(request, explained, about);
  }
  return withPrefixedMetadata(request, errorReply(explained, target), response);
}

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
  const route = { target, versioned, binding, values, template: binding.template.text };
  return target.isGrpcGateway ? { ...route, metadata: prefixedMetadataOf(target) } : route;
}

/** A HEAD request uses the binding for GET, unless the path has a binding for HEAD. */
function matchOf(
  request: GatewayRequestHead,
  path: string,
  bindings: BindingTable,
): PathMatch<BoundTarget> | undefined {
  const { method } = request;
  if (method === "OPTIONS") return undefined;
  if (method === "POST" && isUrlEncodedForm(request)) return matchOfForm(request, path, bindings);
  return bindings.find(method, path) ?? (method === "HEAD" ? bindings.find("GET", path) : undefined);
}

/**
 * The binding for a form. At the paths of clients of grpc-gateway, it uses the method that the
 * header X-HTTP-Method-Override names. Without this header it uses the binding for POST, or for GET
 * if there is none.
 */
function matchOfForm(
  { rawHeaders }: GatewayRequestHead,
  path: string,
  bindings: BindingTable,
): PathMatch<BoundTarget> | undefined {
  const [override] = valuesOfHeader(rawHeaders, "x-http-method-override");
  const posted = override ? undefined : bindings.find("POST", path);
  if (posted !== undefined) return posted;
  const other = bindings.find(override?.toUpperCase() || "GET", path);
  return other?.entry.target.isGrpcGateway ? other : bindings.find("POST", path);
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
  maxMessage: number,
): Promise<BareResponse | Uint8Array> {
  const { target } = options;
  const { values } = options.route as BoundRoute;
  const binding = bindingOf(target, options.route);
  if (target.isGrpcGateway) {
    const ofService = target.maxMessage(false, maxMessage);
    const { maxRequest = ofService } = target.endpoint;
    return openGatewayStream(request, chunks, options, { binding, maxMessage: Math.min(maxRequest, ofService) });
  }
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
