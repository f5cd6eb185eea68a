/**
 * Stage 2, route: finds the endpoint that a path names, and the methods with which it may be called
 * there. From here on the gateway decides, logs and calls by the endpoint, never by the path. A
 * path that belongs to no service may be a built-in route.
 */
import type { Admission, Guard, Guarded } from "../../src/call/admission.js";
import { Code, StatusError } from "../../src/errors.js";
import type { Route } from "../catalog/target.js";
import { decodeContent } from "../http/coded-body.js";
import { HttpError } from "../http/errors.js";
import type { BareResponse, BuiltInRoutes, GatewayRequest, GatewayRequestHead } from "../http/message.js";
import { pathOf, printablePath } from "../http/target.js";
import { crossOriginRefused } from "./cors.js";
import { readCredentials } from "./credentials.js";
import { type Allow, allowing, type BodyRoute, type Dialect } from "./dialect.js";
import type { StageOptions } from "./options.js";
import type { RequestState } from "./record.js";
import { pathsInWords } from "./viewer.js";

/**
 * Ends a request with:
 * - 200 a built-in route
 * - 204 OPTIONS
 * - 302 `/`, which redirects to the pages
 * - 304 a page that the client already has
 * - 400 no URI can have such a path
 * - 403 a link from another origin leads to an endpoint: following a link must not call anything
 * - 404 no endpoint, page or document has the path
 * - 303, 401, 413, 429 a form of the authorization server: see gateway/built-in/oauth
 * - 405 the method is not one of the methods in the header Allow
 * - 415 a gRPC path with a content type that is neither gRPC's nor Connect's
 * - 503 the catalog of services has not arrived yet; `/readyz` says that the gateway is not ready
 * @returns the route, whose target is the endpoint by the contract of the instance whose turn it
 * is; the reply where there is no route
 */
export async function findRoute(
  request: GatewayRequest,
  state: RequestState,
  options: StageOptions,
): Promise<Route | BareResponse> {
  const found = find(request, state, options);
  if (found === undefined) {
    const path = pathOf(request.target);
    return (await replyFromBuiltIn(request, path, options.own)) ?? noRoute(request, path, state, options);
  }
  const route = "sending" in found ? await routeByBody(request, found, state, options) : found;
  return isRoute(route) ? resolveRoute(route, request, state, options) : route;
}

/**
 * Does the same as `findRoute`, where a dialect finds the route by the head of the request alone.
 * @returns undefined where no dialect does
 */
export function findRouteAtOnce(
  request: GatewayRequestHead,
  state: RequestState,
  options: StageOptions,
): Route | BareResponse | undefined {
  const found = find(request, state, options);
  return found !== undefined && "target" in found ? resolveRoute(found, request, state, options) : undefined;
}

export function isRoute(found: Route | BareResponse): found is Route {
  return "target" in found;
}

/**
 * The route that the dialect of the request finds. Where only the path shows the dialect, the first
 * dialect that finds a route becomes the dialect of the request.
 */
function find(
  request: GatewayRequestHead,
  state: RequestState,
  { catalog, dialects: { byPath } }: StageOptions,
): Route | BodyRoute | BareResponse | undefined {
  const { dialect } = state;
  const found = dialect.findRoute(request, catalog.routes);
  if (found !== undefined) return found;
  for (let index = 1; dialect === byPath[0] && index < byPath.length; index++) {
    state.dialect = byPath[index] as Dialect;
    const other = state.dialect.findRoute(request, catalog.routes);
    if (other !== undefined) return other;
  }
  state.dialect = dialect;
  return undefined;
}

/** Receives the body that names the endpoint, once the guard has admitted its sender. */
async function routeByBody(
  request: GatewayRequest,
  { sending, maxBody, findRoute }: BodyRoute,
  { trace }: RequestState,
  { guard }: StageOptions,
): Promise<Route | BareResponse> {
  const admitted = (): Promise<Admission> => admitSender(request, sending, guard);
  const sender = await (trace === undefined ? admitted() : trace.decide(sending, admitted));
  const body = await decodeContent(request, await request.body(maxBody), maxBody);
  return findRoute(body, sender);
}

/**
 * Admits the sender of a body that names the endpoint. An invalid token is rejected even where
 * callers without a token may send such a body. Otherwise the owner of the token would not learn
 * why endpoints are missing.
 * @throws {StatusError} (rejects) as the guard does, and UNAUTHENTICATED
 * @throws {HttpError} (rejects) 400
 */
export async function admitSender(request: GatewayRequestHead, sending: Guarded, guard: Guard): Promise<Admission> {
  const credentials = readCredentials(request, { versioned: false });
  const sender = await guard.admit(credentials, sending);
  if (credentials.token === undefined || sender.caller !== undefined) return sender;
  throw new StatusError(Code.UNAUTHENTICATED, "The token is not valid, or not in this namespace");
}

/** Checks the method, and chooses the contract of the instance whose turn it is. */
function resolveRoute(
  known: Route,
  request: GatewayRequestHead,
  state: RequestState,
  { cors }: StageOptions,
): Route | BareResponse {
  const alternative = known.target.alternatives?.next([]);
  const target = alternative ?? known.target;
  const { endpoint } = target;
  state.target = target;
  state.route = known;
  state.service = endpoint.service;
  if (cors.isCrossOrigin(request.headers)) throw crossOriginRefused(request.headers);
  const allow = state.dialect.methods(request, endpoint, known);
  if (request.method === "OPTIONS") return options(allow);
  checkMethod(request.method, allow);
  return alternative === undefined ? known : { ...known, target };
}

const GET_ONLY = allowing("GET", "HEAD", "OPTIONS");

function checkMethod(method: string, { methods, header }: Allow): void {
  if (methods.includes(method)) return;
  throw new HttpError(405, `The method must be one of ${header[1]}, not ${method}`, { headers: header });
}

function options({ header }: Allow): BareResponse {
  return { status: 204, headers: header, body: "" };
}

function replyFromBuiltIn(
  request: GatewayRequest,
  path: string,
  own: readonly BuiltInRoutes[],
): BareResponse | Promise<BareResponse> | undefined {
  for (const paths of own) {
    if (!paths.roots.some((root) => path === root || path.startsWith(`${root}/`))) continue;
    const posted = request.method === "POST" ? paths.replyToPost?.(path, request) : undefined;
    if (posted !== undefined) return posted;
    const reply = paths.reply(path, request);
    if (reply === undefined) continue;
    if (request.method === "GET" || request.method === "HEAD") return reply;
    // The reply is not sent. But its promise may reject, and an unhandled rejection ends the
    // process.
    Promise.resolve(reply).catch(() => {});
    checkMethod(request.method, GET_ONLY);
    return options(GET_ONLY);
  }
  return undefined;
}

/**
 * Not JSON: clients of Connect and gRPC-Web would take a JSON body for an error of their protocol.
 */
const NOT_RPC: BareResponse = {
  status: 415,
  contentType: "text/plain; charset=utf-8",
  headers: ["Accept-Post", "application/proto, application/grpc, application/grpc-web"],
  body: "This path takes the content types of gRPC, gRPC-Web and Connect.\n",
};

/** At a gRPC path, JSON is a call only with the header Connect-Protocol-Version. */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

async function noRoute(
  request: GatewayRequest,
  path: string,
  state: RequestState,
  { catalog: { routes, ready }, own, guard }: StageOptions,
): Promise<BareResponse> {
  const { contentType } = request.headers;
  if (!ready) throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
  if (contentType !== undefined && !JSON_TYPE.test(contentType) && routes.isRpc(path)) return NOT_RPC;
  const near = routes.near(path);
  state.service = near.service ?? "gateway";
  if (near.service === undefined && !path.startsWith("/v1/")) {
    for (const paths of own) {
      const page = paths.notFoundPage?.(request);
      if (page !== undefined) return page;
    }
  }
  const documents = near.service === undefined ? "/openapi" : `/openapi/${near.service}.json`;
  if (near.service !== undefined && near.path === undefined && /^(?:\/v1)?\/[^/]+\/?$/.test(path)) {
    const paths = await pathsInWords(near.service, request, routes, guard);
    if (paths !== "")
      throw new HttpError(404, `No endpoint at ${printablePath(path)}, but at ${paths}; see ${documents}`);
  }
  const hint = near.path === undefined ? `see ${documents}` : `did you mean ${near.path}?`;
  throw new HttpError(404, `No endpoint at ${printablePath(path)}; ${hint}`);
}
