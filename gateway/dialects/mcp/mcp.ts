/**
 * The Model Context Protocol at `POST /mcp`. Agents find and call endpoints as tools. The stages
 * admit, log and count a tool call like any other call. This folder responds to all other messages
 * itself:
 *
 *     server/discover, initialize, ping   the protocol revisions and features (server-info.ts)
 *     tools/list                          the endpoints that this caller may call (tools.ts)
 *     tools/call                          one of them (tool-result.ts, stream-format.ts)
 *     subscriptions/listen                notifications of changes (subscription-stream.ts)
 *
 * The gateway keeps no sessions: revision 2026-07-28 has none, and in earlier revisions they are
 * optional (revision.ts).
 */
import type { Admission, Guarded, SigningGuard } from "../../../src/call/admission.js";
import type { Config } from "../../../src/config/config.js";
import { Callers } from "../../../src/contract/endpoint.js";
import { Code, StatusError } from "../../../src/errors.js";
import type { EndpointTarget, Route } from "../../catalog/target.js";
import { type Failure, HttpError } from "../../http/errors.js";
import { checkUnambiguous, listOf, type RequestHeaders } from "../../http/headers.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import { METADATA_PATHS, ProtectedResource } from "../../http/protected-resource.js";
import { pathOf, queryOf } from "../../http/target.js";
import { isOfAnotherOrigin } from "../../stages/cors.js";
import {
  type Allow,
  allowing,
  type BodyRoute,
  type Dialect,
  type FailedRequest,
  type ResponseMetadata,
} from "../../stages/dialect.js";
import { admitSender } from "../../stages/route.js";
import type { StreamCallOptions } from "../../stages/stream-call.js";
import { json, UNBUFFERED } from "../json/json.js";
import { ResponseStream } from "../json/streams/response-stream.js";
import {
  errorReply,
  isObject,
  memberText,
  parseMessage,
  RpcCode,
  RpcError,
  type RpcMessage,
  resultText,
} from "./message.js";
import { isStateless, metaOf, single } from "./revision.js";
import { discovered, initialized, membersOf, NOT_CACHED } from "./server-info.js";
import { ToolStreamFormat } from "./stream-format.js";
import { SubscriptionStream } from "./subscription-stream.js";
import { Subscriptions, type SubscriptionsOptions } from "./subscriptions.js";
import { failedResult, type Members, objectResult, unaryResult } from "./tool-result.js";
import { isObjectInJson, VALUE } from "./tool-schema.js";
import { CALL, DESCRIBE, describedTool, findTool, listedTools, SEARCH, search } from "./tools.js";

export const PATH = "/mcp";
/**
 * The endpoint about which the guard decides before a message is received. Anyone may send a
 * message. The guard decides about the endpoint of a tool afterwards.
 */
const MESSAGES: Guarded = {
  service: "gateway",
  name: "gateway:Mcp",
  resource: "service:gateway:Mcp",
  segments: { type: "service", name: "gateway", endpoint: "mcp" },
  callers: Callers.PUBLIC,
};
/** Maximum bytes of a message that calls no tool. */
const MAX_BUILT_IN_BODY = 64 * 1024;
const POST_ONLY = allowing("POST", "OPTIONS");
const GET_ONLY = allowing("GET", "HEAD", "OPTIONS");

export interface McpOptions extends SubscriptionsOptions {
  readonly catalog: SubscriptionsOptions["catalog"] & { readonly ready: boolean };
  readonly guard: SigningGuard;
  readonly config: Pick<Config, "maxBody"> & Partial<Pick<Config, "publicUrl" | "httpTlsCert">>;
}

/** A message that has been received. */
interface Received {
  readonly request: GatewayRequestHead;
  readonly message: RpcMessage;
  readonly id: string | number;
  readonly stateless: boolean;
  readonly members: Members;
  readonly sender: Admission;
}

/** The route to a tool. Its body is the text of the arguments, which is a JSON object. */
interface ToolRoute extends Route, Pick<Received, "message" | "id" | "members" | "stateless"> {
  readonly body: readonly [Uint8Array];
}

/** The dialect, for all requests of a gateway. */
export class Mcp implements Dialect {
  readonly name = "mcp";
  readonly roots: Dialect["roots"] = [PATH, "/.well-known"];
  readonly writesDetails = true;
  readonly usesServiceStatus = false;
  readonly #options: McpOptions;
  readonly #subscriptions: Subscriptions;
  readonly #resource: ProtectedResource;

  constructor(options: McpOptions) {
    this.#options = options;
    this.#subscriptions = new Subscriptions(options);
    this.#resource = new ProtectedResource(options.config);
  }

  findRoute(request: GatewayRequestHead): BodyRoute | BareResponse | undefined {
    const path = pathOf(request.target);
    if (path === PATH) return this.#routeOf(request);
    return METADATA_PATHS.includes(path) ? metadataResponse(this.#resource, path, request) : undefined;
  }

  methods(): Allow {
    return POST_ONLY;
  }

  readTimeout(headers: RequestHeaders): number | undefined {
    return json.readTimeout(headers);
  }

  /** Checks nothing: the body has already been received to find the route. */
  checkBody(): void {}

  takesChunks(): boolean {
    return false;
  }

  maxBody(maxMessage: number): number {
    return maxMessage;
  }

  isEncoded(): boolean {
    return false;
  }

  async decodeBody(...[, , body]: Parameters<Dialect["decodeBody"]>): ReturnType<Dialect["decodeBody"]> {
    return body;
  }

  /** @throws {JsonError} 400 */
  readMessage(_request: GatewayRequestHead, target: EndpointTarget, [text]: readonly Uint8Array[]): Uint8Array {
    const isObject = isObjectInJson(target.input);
    const value = isObject ? text : Buffer.from(memberText(String(text), VALUE) ?? "null");
    return target.request.read(value as Uint8Array);
  }

  writeMessage(
    _request: GatewayRequestHead,
    target: EndpointTarget,
    message: Uint8Array,
    _response: ResponseMetadata,
    route: Route,
  ): BareResponse {
    const { id, members } = route as ToolRoute;
    return { status: 200, body: resultText(id, unaryResult(target, message, members)) };
  }

  async openStream(
    request: GatewayRequest,
    received: readonly Uint8Array[],
    options: StreamCallOptions,
  ): Promise<BareResponse> {
    const { target } = options;
    const { message, id, members, stateless } = options.route as ToolRoute;
    const format = new ToolStreamFormat({ id, target, members, progressToken: metaOf(message).progressToken });
    const body = new ResponseStream(options, this.readMessage(request, target, received), format);
    request.onAbort((reason) => {
      // In the revisions before 2026-07-28, a client that closes the connection does not cancel its
      // call.
      if (stateless || reason.status !== 499) body.stop(reason);
      else body.drop();
    });
    const contentType = await body.contentType;
    return { status: 200, headers: UNBUFFERED, contentType, body };
  }

  /**
   * An error of the endpoint becomes a tool result, so that the model reads it. A refusal becomes
   * an error of HTTP and of JSON-RPC.
   */
  writeError(request: GatewayRequestHead, failure: Failure, about: FailedRequest): BareResponse {
    const route = about.route as ToolRoute | undefined;
    // After the guard has admitted the call, every error is an error of the endpoint.
    if (route !== undefined && about.admission !== undefined) {
      const { body } = json.writeError(request, failure, about);
      return { status: 200, body: resultText(route.id, failedResult(String(body), route.members)) };
    }
    const { status, message } = failure;
    return errorReply(
      route?.id,
      new RpcError(status, status, message, undefined, challenged(this.#resource, request, failure)),
    );
  }

  #routeOf(request: GatewayRequestHead): BodyRoute | BareResponse {
    checkRequest(request);
    if (request.method === "OPTIONS") return { status: 204, body: "", headers: POST_ONLY.header };
    this.#checkReady();
    const findRoute: BodyRoute["findRoute"] = (body, sender) => this.#response(request, body, sender);
    return { sending: MESSAGES, maxBody: this.#maxBody(request), findRoute };
  }

  /** @throws {StatusError} UNAVAILABLE */
  #checkReady(): void {
    if (this.#options.catalog.ready) return;
    throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
  }

  /** The route of the tool that a message calls, or the response to any other message. */
  async #response(
    request: GatewayRequestHead,
    body: readonly Uint8Array[],
    sender: Admission,
  ): Promise<ToolRoute | BareResponse> {
    let id: RpcMessage["id"];
    try {
      const message = parseMessage(body);
      ({ id } = message);
      const stateless = isStateless(message, request);
      if (id === undefined) return { status: 202, body: "" };
      const received = { request, message, id, stateless, members: membersOf(stateless), sender };
      if (message.method === "tools/call") return await this.#startCall(received);
      if (message.method === "subscriptions/listen" && stateless) return this.#listen(received);
      return { status: 200, body: resultText(id, await this.#resultOf(received)) };
    } catch (error) {
      if (error instanceof RpcError) return errorReply(id, error);
      throw error;
    }
  }

  /**
   * Only the arguments of a tool may be large. In revisions without the header `Mcp-Method`, only
   * the body says whether it calls a tool.
   */
  #maxBody(request: GatewayRequestHead): number {
    const { maxBody } = this.#options.config;
    const method = single(request.rawHeaders, "mcp-method");
    return method === undefined || method === "tools/call" ? maxBody : Math.min(MAX_BUILT_IN_BODY, maxBody);
  }

  /**
   * The text of the result of a method that calls no endpoint and opens no stream. @throws
   * {RpcError} (rejects)
   */
  async #resultOf({ request, message, stateless, members, sender }: Received): Promise<string> {
    const { method, params } = message;
    if (method === "tools/list") {
      if (params.cursor !== undefined)
        throw badParams("There are no further pages: the cursor is not one of this server");
      const tools = await listedTools(sender, this.#options);
      if (tools === "[]" && sender.caller === undefined) throw tokenNeeded(this.#resource, request);
      return `{${members}${stateless ? NOT_CACHED : ""}"tools":${tools}}`;
    }
    if (stateless && method === "server/discover") return discovered(members);
    if (!stateless && method === "initialize") return initialized(message);
    if (!stateless && method === "ping") return "{}";
    throw new RpcError(stateless ? 404 : 200, RpcCode.METHOD_NOT_FOUND, `There is no method ${shown(method)} here`);
  }

  /** @throws {RpcError} */
  #startCall(received: Received): ToolRoute | BareResponse | Promise<BareResponse> {
    const { id, message, members, sender } = received;
    const { name, arguments: given = {} } = message.params;
    if (typeof name !== "string") throw badParams("params.name must be the name of a tool");
    if (!isObject(given)) throw badParams("params.arguments must be an object");
    const text = memberText(message.paramsText, "arguments") ?? "{}";
    const finderResponse = (result: string): BareResponse => ({
      status: 200,
      body: resultText(id, objectResult(result, members)),
    });
    switch (name) {
      case SEARCH: {
        const found = search(stringOf({ query: "", ...given }, "query"), sender, this.#options);
        return found.then((endpoints) => finderResponse(JSON.stringify(endpoints)));
      }
      case DESCRIBE:
        return finderResponse(describedTool(this.#callable(stringOf(given, "name"), sender)));
      case CALL: {
        if (!isObject(given.arguments ?? {})) throw badParams("params.arguments.arguments must be an object");
        return this.#routeTo(stringOf(given, "name"), memberText(text, "arguments") ?? "{}", received);
      }
      default:
        return this.#routeTo(name, text, received);
    }
  }

  #routeTo(name: string, argumentsText: string, received: Received): ToolRoute {
    const target = this.#find(name);
    const { request, message, id, members, stateless } = received;
    if (target.endpoint.shape !== "unary" && !acceptsEvents(request)) {
      throw new RpcError(406, 406, "The header Accept must name text/event-stream: this tool answers with a stream");
    }
    const call = { message, id, members, stateless, body: [Buffer.from(argumentsText)] } as const;
    return { target, versioned: false, forbidsKnown: true, ...call };
  }

  /** @throws {RpcError} for a name that no tool has */
  #find(name: string): EndpointTarget {
    const target = findTool(name, this.#options);
    if (target === undefined) throw badParams(`Unknown tool: ${name.slice(0, 128)}`);
    return target;
  }

  /**
   * The endpoint of a tool that the caller may call.
   * @throws {RpcError} for an unknown tool, and in the same words for one that the caller may not
   * call
   */
  #callable(name: string, { caller, namespace }: Admission): EndpointTarget {
    const target = this.#find(name);
    if (this.#options.guard.allows(caller, namespace, target.endpoint, true)) return target;
    throw badParams(`Unknown tool: ${name.slice(0, 128)}`);
  }

  #listen({ request, message, id, sender }: Received): BareResponse {
    const { notifications } = message.params;
    if (!isObject(notifications)) throw badParams("params.notifications must be an object");
    if (!acceptsEvents(request)) throw new RpcError(406, 406, "The header Accept must name text/event-stream");
    const toolsListChanged = notifications.toolsListChanged === true;
    const { guard } = this.#options;
    const subscriptions = this.#subscriptions;
    const admit = async (): Promise<Admission> => {
      this.#checkReady();
      return admitSender(request, MESSAGES, guard);
    };
    const body = new SubscriptionStream({ id, toolsListChanged, admission: sender, admit, guard, subscriptions });
    request.onAbort(({ status }) => body.end(status));
    return { status: 200, headers: UNBUFFERED, contentType: "text/event-stream", body };
  }
}

/** Rejects, by its headers, a request that cannot be a message of an agent. @throws {HttpError} */
function checkRequest({ method, target, headers }: GatewayRequestHead): void {
  if (!POST_ONLY.methods.includes(method)) {
    throw new HttpError(405, "The method must be POST", { headers: POST_ONLY.header });
  }
  checkUnambiguous(headers);
  // An agent is no web page, so the setting PORTICO_CORS does not apply.
  if (isOfAnotherOrigin(headers)) throw new HttpError(403, "Pages of other origins may not call here");
  if (queryOf(target) !== "") {
    throw new HttpError(400, "No query is read here: a token is sent in the header Authorization");
  }
  const type = headers.contentType ?? "";
  if (method === "POST" && !/^application\/json[ \t]*(?:;|$)/i.test(type)) {
    throw new HttpError(415, "The body must be JSON, sent with Content-Type: application/json");
  }
}

function metadataResponse(resource: ProtectedResource, path: string, request: GatewayRequestHead): BareResponse {
  const { method } = request;
  if (method === "OPTIONS") return { status: 204, body: "", headers: GET_ONLY.header };
  if (GET_ONLY.methods.includes(method)) return resource.metadata(path, request);
  throw new HttpError(405, "The method must be GET or HEAD", { headers: GET_ONLY.header });
}

function acceptsEvents({ rawHeaders }: GatewayRequestHead): boolean {
  return /(?:^|,)[ \t]*(?:text\/event-stream|text\/\*|\*\/\*)[ \t]*(?:[;,]|$)/i.test(listOf(rawHeaders, "accept"));
}

/** The headers of an error response. A 401 or 403 also has a challenge. */
function challenged(
  resource: ProtectedResource,
  request: GatewayRequestHead,
  { status, message, headers }: Failure,
): readonly string[] {
  if (status === 403) return resource.challenge(request, { error: "insufficient_scope", description: message });
  if (status !== 401) return headers;
  const sent = request.headers.authorization !== undefined;
  return resource.challenge(request, sent ? { error: "invalid_token", description: message } : undefined);
}

function tokenNeeded(resource: ProtectedResource, request: GatewayRequestHead): RpcError {
  return new RpcError(
    401,
    401,
    "No tool may be called without a token",
    undefined,
    resource.challenge(request, undefined),
  );
}

function badParams(message: string): RpcError {
  return new RpcError(200, RpcCode.INVALID_PARAMS, message);
}

function stringOf(given: Readonly<Record<string, unknown>>, name: string): string {
  const value = given[name];
  if (typeof value === "string") return value;
  throw badParams(`params.arguments.${name} must be a string`);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
