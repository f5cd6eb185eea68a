/**
 * The Model Context Protocol at `POST /mcp`, by which agents find and call endpoints as tools. A call is a call like any other:
 * the stages admit, log and count it. Everything else is answered here:
 *
 *     server/discover, initialize, ping   what is spoken here (server-info.ts)
 *     tools/list                          the endpoints that this caller may call (tools.ts)
 *     tools/call                          one of them (tool-result.ts, stream-format.ts)
 *     subscriptions/listen                news of changes of that list (subscription-stream.ts)
 *
 * It holds no sessions: revision 2026-07-28 has none, and in earlier ones they are optional (revision.ts).
 */
import type { Admission, SigningGuard } from "../../../src/call/admission.js";
import type { Config } from "../../../src/config/config.js";
import { Code, StatusError } from "../../../src/errors.js";
import type { Routes } from "../../catalog/routes.js";
import type { Route, Target } from "../../catalog/target.js";
import { receiveBody } from "../../http/coded-body.js";
import { type Failure, HttpError } from "../../http/errors.js";
import { checkUnambiguous, listOf, type RequestHeaders } from "../../http/headers.js";
import type { GatewayRequest, Reply } from "../../http/message.js";
import { pathOf, queryOf } from "../../http/target.js";
import { isOfAnotherOrigin } from "../../stages/cors.js";
import { readCredentials } from "../../stages/credentials.js";
import { type Allow, allowing, type Dialect, type FailedRequest } from "../../stages/dialect.js";
import type { StreamOptions } from "../../stages/stream-call.js";
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
import { METADATA_PATHS, ProtectedResource } from "./protected-resource.js";
import { isStateless, metaOf, single } from "./revision.js";
import { discovered, initialized, membersOf, NOT_CACHED } from "./server-info.js";
import { ToolStreamFormat } from "./stream-format.js";
import { SubscriptionStream } from "./subscription-stream.js";
import { Subscriptions, type SubscriptionsOptions } from "./subscriptions.js";
import { failedResult, type Members, objectResult, unaryResult } from "./tool-result.js";
import { isObjectInJson, VALUE } from "./tool-schema.js";
import { CALL, DESCRIBE, describedTool, findTool, listedTools, SEARCH, search } from "./tools.js";

export const PATH = "/mcp";
/** Bytes of a message that calls no tool. */
const MAX_OWN_BODY = 64 * 1024;
const POST_ONLY = allowing("POST", "OPTIONS");
const GET_ONLY = allowing("GET", "HEAD", "OPTIONS");

export interface McpOptions extends SubscriptionsOptions {
  readonly guard: SigningGuard;
  readonly config: SubscriptionsOptions["config"] &
    Pick<Config, "maxBody"> &
    Partial<Pick<Config, "publicUrl" | "httpTlsCert">>;
}

/** A message that has been received. */
interface Received {
  readonly request: GatewayRequest;
  readonly message: RpcMessage;
  readonly id: string | number;
  readonly stateless: boolean;
  readonly members: Members;
  readonly viewer: Admission;
}

/** A call of a tool, from its message to the end of its response. */
interface ToolCall extends Received {
  /** The text of the arguments: a JSON object. */
  readonly argumentsText: string;
  /** The guard has admitted the call, so what fails from now on is the endpoint's. */
  admitted: boolean;
}

/** The dialect, for all requests of a gateway. */
export class Mcp implements Dialect {
  readonly name = "mcp";
  readonly writesDetails = true;
  readonly #options: McpOptions;
  readonly #subscriptions: Subscriptions;
  readonly #resource: ProtectedResource;
  /** The calls of tools whose responses have not begun. */
  readonly #calls = new WeakMap<GatewayRequest, ToolCall>();

  constructor(options: McpOptions) {
    this.#options = options;
    this.#subscriptions = new Subscriptions(options);
    this.#resource = new ProtectedResource(options.config);
  }

  findRoute(request: GatewayRequest, routes: Routes): Promise<Route | Reply> | Reply | undefined {
    const path = pathOf(request.target);
    if (path === PATH) return this.#answer(request, routes);
    return METADATA_PATHS.includes(path) ? answerMetadata(this.#resource, request) : undefined;
  }

  methods(): Allow {
    return POST_ONLY;
  }

  readTimeout(headers: RequestHeaders): number | undefined {
    return json.readTimeout(headers);
  }

  /** The body has been received when a call reaches the stages. */
  checkBody(): void {}

  takesPieces(): boolean {
    return false;
  }

  receiveBody(): readonly Uint8Array[] {
    return [];
  }

  /** @throws {JsonError} 400 */
  readMessage(request: GatewayRequest, target: Target): Uint8Array {
    const call = this.#callOf(request);
    call.admitted = true;
    const { argumentsText } = call;
    const isObject = isObjectInJson(target.input);
    return target.request.read(Buffer.from(isObject ? argumentsText : (memberText(argumentsText, VALUE) ?? "null")));
  }

  writeMessage(request: GatewayRequest, target: Target, message: Uint8Array): Reply {
    const { id, members } = this.#callOf(request);
    return { status: 200, body: resultText(id, unaryResult(target, message, members)) };
  }

  async openStream(request: GatewayRequest, _body: readonly Uint8Array[], options: StreamOptions): Promise<Reply> {
    const { target } = options;
    const { message, id, members, stateless } = this.#callOf(request);
    const format = new ToolStreamFormat({ id, target, members, progressToken: metaOf(message).progressToken });
    const body = new ResponseStream(options, this.readMessage(request, target), format);
    request.onAbort((reason) => {
      // Before the revision without sessions a client that goes has not cancelled its call.
      if (stateless || reason.status !== 499) body.stop(reason);
      else body.drop();
    });
    const contentType = await body.contentType;
    return { status: 200, headers: UNBUFFERED, contentType, body };
  }

  /** An error of the endpoint is a result, which the model gets to read; a refusal is an error of HTTP and of JSON-RPC. */
  writeError(request: GatewayRequest, failure: Failure, about: FailedRequest): Reply {
    const call = this.#calls.get(request);
    if (call?.admitted) {
      const { body } = json.writeError(request, failure, about);
      return { status: 200, body: resultText(call.id, failedResult(String(body), call.members)) };
    }
    const { status, message } = failure;
    return errorReply(
      call?.id,
      new RpcError(status, status, message, undefined, challenged(this.#resource, request, failure)),
    );
  }

  #callOf(request: GatewayRequest): ToolCall {
    return this.#calls.get(request) as ToolCall;
  }

  async #answer(request: GatewayRequest, routes: Routes): Promise<Route | Reply> {
    checkRequest(request);
    if (request.method === "OPTIONS") return { status: 204, body: "", headers: POST_ONLY.header };
    const admit = (): Admission | Promise<Admission> => admitViewer(request, routes, this.#options.guard);
    const viewer = await admit();
    let id: RpcMessage["id"];
    try {
      const message = parseMessage(await receiveBody(request, this.#maxBody(request)));
      ({ id } = message);
      const stateless = isStateless(message, request);
      if (id === undefined) return { status: 202, body: "" };
      const received = { request, message, id, stateless, members: membersOf(stateless), viewer };
      if (message.method === "tools/call") return await this.#startCall(received);
      if (message.method === "subscriptions/listen" && stateless) return this.#listen(received, admit);
      return { status: 200, body: resultText(id, await this.#resultOf(received)) };
    } catch (error) {
      if (error instanceof RpcError) return errorReply(id, error);
      throw error;
    }
  }

  /** Only the arguments of a tool may be large. Before the revision with `Mcp-Method` only the body says what it is. */
  #maxBody(request: GatewayRequest): number {
    const { maxBody } = this.#options.config;
    const method = single(request.rawHeaders, "mcp-method");
    return method === undefined || method === "tools/call" ? maxBody : Math.min(MAX_OWN_BODY, maxBody);
  }

  /** The text of the result of a method that calls no endpoint and opens no stream. @throws {RpcError} (rejects) */
  async #resultOf({ request, message, stateless, members, viewer }: Received): Promise<string> {
    const { method, params } = message;
    if (method === "tools/list") {
      if (params.cursor !== undefined)
        throw badParams("There are no further pages: the cursor is not one of this server");
      const tools = await listedTools(viewer, this.#options);
      if (tools === "[]" && viewer.caller === undefined) throw tokenNeeded(this.#resource, request);
      return `{${members}${stateless ? NOT_CACHED : ""}"tools":${tools}}`;
    }
    if (stateless && method === "server/discover") return discovered(members);
    if (!stateless && method === "initialize") return initialized(message);
    if (!stateless && method === "ping") return "{}";
    throw new RpcError(stateless ? 404 : 200, RpcCode.METHOD_NOT_FOUND, `There is no method ${shown(method)} here`);
  }

  /** @throws {RpcError} */
  #startCall(received: Received): Route | Reply | Promise<Reply> {
    const { id, message, members, viewer } = received;
    const { name, arguments: given = {} } = message.params;
    if (typeof name !== "string") throw badParams("params.name must be the name of a tool");
    if (!isObject(given)) throw badParams("params.arguments must be an object");
    const text = memberText(message.paramsText, "arguments") ?? "{}";
    const ofFinder = (result: string): Reply => ({ status: 200, body: resultText(id, objectResult(result, members)) });
    switch (name) {
      case SEARCH: {
        const found = search(stringOf({ query: "", ...given }, "query"), viewer, this.#options);
        return found.then((endpoints) => ofFinder(JSON.stringify(endpoints)));
      }
      case DESCRIBE:
        return ofFinder(describedTool(this.#callable(stringOf(given, "name"), viewer), this.#options));
      case CALL: {
        if (!isObject(given.arguments ?? {})) throw badParams("params.arguments.arguments must be an object");
        return this.#routeTo(stringOf(given, "name"), memberText(text, "arguments") ?? "{}", received);
      }
      default:
        return this.#routeTo(name, text, received);
    }
  }

  #routeTo(name: string, argumentsText: string, received: Received): Route {
    const target = this.#find(name);
    const { request } = received;
    if (target.endpoint.shape !== "unary" && !acceptsEvents(request)) {
      throw new RpcError(406, 406, "The header Accept must name text/event-stream: this tool answers with a stream");
    }
    this.#calls.set(request, { ...received, argumentsText, admitted: false });
    return { target, versioned: false, forbidsKnown: true };
  }

  /** @throws {RpcError} for a name that no tool has */
  #find(name: string): Target {
    const target = findTool(name, this.#options);
    if (target === undefined) throw badParams(`Unknown tool: ${name.slice(0, 128)}`);
    return target;
  }

  /** The endpoint of a tool that a caller may call. @throws {RpcError} also where it may not: it is not shown */
  #callable(name: string, { caller, namespace }: Admission): Target {
    const target = this.#find(name);
    if (this.#options.guard.allows(caller, namespace, target.endpoint)) return target;
    throw badParams(`Unknown tool: ${name.slice(0, 128)}`);
  }

  #listen({ request, message, id, viewer }: Received, admit: () => Admission | Promise<Admission>): Reply {
    const { notifications } = message.params;
    if (!isObject(notifications)) throw badParams("params.notifications must be an object");
    if (!acceptsEvents(request)) throw new RpcError(406, 406, "The header Accept must name text/event-stream");
    const toolsListChanged = notifications.toolsListChanged === true;
    const { guard } = this.#options;
    const subscriptions = this.#subscriptions;
    const body = new SubscriptionStream({ id, toolsListChanged, admission: viewer, admit, guard, subscriptions });
    request.onAbort(({ status }) => body.end(status));
    return { status: 200, headers: UNBUFFERED, contentType: "text/event-stream", body };
  }
}

/** Refuses what is no message of an agent, by its headers. @throws {HttpError} */
function checkRequest({ method, target, headers }: GatewayRequest): void {
  if (!POST_ONLY.methods.includes(method)) {
    throw new HttpError(405, "The method must be POST", { headers: POST_ONLY.header });
  }
  checkUnambiguous(headers);
  // An agent is no page, so PORTICO_CORS does not count here.
  if (isOfAnotherOrigin(headers)) throw new HttpError(403, "Pages of other origins may not call here");
  if (queryOf(target) !== "") {
    throw new HttpError(400, "No query is read here: a token is sent in the header Authorization");
  }
  const type = headers.contentType ?? "";
  if (method === "POST" && !/^application\/json[ \t]*(?:;|$)/i.test(type)) {
    throw new HttpError(415, "The body must be JSON, sent with Content-Type: application/json");
  }
}

/**
 * Who asks. A token that is not valid is refused even where everyone may call: else its holder would not learn why tools are
 * missing.
 * @throws {StatusError} (or rejects with one) UNAUTHENTICATED
 */
async function admitViewer(request: GatewayRequest, routes: Routes, guard: SigningGuard): Promise<Admission> {
  const describe = routes.find("/registry/describe");
  if (describe === undefined) throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
  const credentials = readCredentials(request, { versioned: false });
  const viewer = await guard.admit(credentials, describe.target.endpoint);
  if (credentials.token === undefined || viewer.caller !== undefined) return viewer;
  throw new StatusError(Code.UNAUTHENTICATED, "The token is not valid, or not in this namespace");
}

function answerMetadata(resource: ProtectedResource, request: GatewayRequest): Reply {
  const { method } = request;
  if (method === "OPTIONS") return { status: 204, body: "", headers: GET_ONLY.header };
  if (GET_ONLY.methods.includes(method)) return resource.metadata(request);
  throw new HttpError(405, "The method must be GET or HEAD", { headers: GET_ONLY.header });
}

function acceptsEvents({ rawHeaders }: GatewayRequest): boolean {
  return /(?:^|,)[ \t]*(?:text\/event-stream|text\/\*|\*\/\*)[ \t]*(?:[;,]|$)/i.test(listOf(rawHeaders, "accept"));
}

/** The headers of a refusal, with the challenge where it is one. */
function challenged(
  resource: ProtectedResource,
  request: GatewayRequest,
  { status, message, headers }: Failure,
): readonly string[] {
  if (status === 403) return resource.challenge(request, { error: "insufficient_scope", description: message });
  if (status !== 401) return headers;
  const sent = request.headers.authorization !== undefined;
  return resource.challenge(request, sent ? { error: "invalid_token", description: message } : undefined);
}

function tokenNeeded(resource: ProtectedResource, request: GatewayRequest): RpcError {
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
