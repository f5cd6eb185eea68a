/**
 * One request, from top to bottom: route, method, headers, body, guard, message, call, answer.
 *
 * The guard decides before the first byte of a body is taken in, so that nobody who may not call can make the gateway
 * hold one; and again when the last has come, so that a rule deleted while a slow client sends does not grant any more.
 * It decides on the very endpoint that is then called. Only an admitted body is looked into.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Admission, Credentials, SigningGuard } from "../src/access/guard.js";
import { withoutTokens } from "../src/access/token.js";
import type { Config } from "../src/config.js";
import type { Endpoint } from "../src/contract/endpoint.js";
import { Code, StatusError } from "../src/errors.js";
import type { Logger } from "../src/log.js";
import type { Metrics } from "../src/metrics.js";
import type { Alternatives, Routes, Target } from "./catalog/routes.js";
import { chunks, isHttpBody, RAW_HEADERS } from "./dialects/json/bodies/http-body.js";
import {
  checkBody,
  checkNoQuery,
  readGet,
  readPost,
  takesPieces,
  writeAnswer,
  writeJson,
} from "./dialects/json/json.js";
import { ndjson } from "./dialects/json/streams/ndjson.js";
import { StreamBody } from "./dialects/json/streams/response-stream.js";
import { acceptsEvents, hasHadAll, serverSentEvents } from "./dialects/json/streams/sse.js";
import { upload } from "./dialects/json/streams/upload.js";
import { StreamSocket } from "./dialects/json/streams/websocket.js";
import { answerError, type ErrorAnswer, HttpError } from "./errors.js";
import { checkHandshake, protocolToken } from "./handshake.js";
import { type GatewayRequest, type GatewayResponse, type Handler, isStream } from "./http.js";
import { NO_MEMORY } from "./node/connection-memory.js";
import type { OwnPaths } from "./own/own.js";
import type { Usage } from "./own/usage.js";
import {
  announcesBody,
  bearerToken,
  checkHeaders,
  checkHost,
  listOf,
  namespaceOf,
  type RequestHeaders,
  requestIdOf,
  timeoutOf,
} from "./request-headers.js";
import { createRequestId } from "./request-id.js";
import { Cors, foreignPage, isNavigation } from "./stages/cors.js";
import type { Hosts } from "./stages/hosts.js";
import { metadataOf } from "./stages/metadata.js";
import type { AdmittedStart, StreamCallOptions } from "./stages/stream-call.js";
import { callUnary, UnreachableError } from "./stages/unary-call.js";

export interface HandlerOptions {
  readonly catalog: { readonly routes: Routes; readonly ready: boolean };
  readonly guard: SigningGuard;
  /** Looked through in this order, where no service has the path. */
  readonly own: readonly OwnPaths[];
  readonly hosts: Hosts;
  readonly config: Pick<Config, "callTime" | "maxCallTime" | "cors" | "maxHeaderCount">;
  /** The gateway's enrolment token, where the authority is another process. */
  readonly enrolment?: string | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Tells the authority how much is called. */
  readonly usage?: Usage | undefined;
  /** After how much silence a stream gets a heartbeat, in milliseconds; default 15 s. */
  readonly heartbeatMs?: number | undefined;
}

const HEARTBEAT_MS = 15_000;

export function createHandler(options: HandlerOptions): Handler {
  const gateway = new Gateway(options);
  return (request) => gateway.handle(request);
}

/** What has been found out about a request so far: what its answer and its line in the log need. */
class Progress {
  readonly started = performance.now();
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** The service it is directed to; `gateway` until one is found. */
  service = "gateway";
  target: Target | undefined;
  credentials: Credentials | undefined;
  admission: Admission | undefined;
  /** When its call must have ended, in milliseconds of `Date.now()`. */
  deadline: number | undefined;
  /** Why the gateway or a service failed, in more words than the caller reads. */
  failure: string | undefined;

  constructor(request: GatewayRequest) {
    this.headers = request.known;
    this.requestId = requestIdOf(this.headers) ?? createRequestId();
  }
}

class Gateway {
  readonly #options: HandlerOptions;
  readonly #cors: Cors;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#cors = new Cors(options.config.cors);
  }

  async handle(request: GatewayRequest): Promise<GatewayResponse> {
    const progress = new Progress(request);
    let response: GatewayResponse;
    try {
      response = await this.#answer(request, progress);
    } catch (thrown) {
      response = this.#refuse(thrown, progress);
    }
    // A stream is recorded when it ends.
    if (response.session === undefined && !isStream(response.body)) this.#record(request, response, progress);
    return response;
  }

  async #answer(request: GatewayRequest, progress: Progress): Promise<GatewayResponse> {
    const { catalog, guard, hosts, config } = this.#options;
    const { headers } = progress;
    const { method } = request;
    if (request.fault !== undefined) throw request.fault;
    if (request.headers.length > 2 * config.maxHeaderCount) {
      throw new HttpError(431, `At most ${config.maxHeaderCount} headers are accepted`);
    }
    checkHost(headers);
    hosts.check(headers);
    const foreign = this.#cors.isForeign(headers);
    if (foreign && !isNavigation(method, headers)) throw foreignPage(headers);
    if (this.#cors.isPreflight(method, headers)) return this.#respond(204, this.#cors.preflight(headers), "", progress);

    const [path, query] = splitTarget(request.target);
    const route = catalog.routes.find(path);
    if (route === undefined) return this.#withoutRoute(request, path, progress);
    const { versioned } = route;
    const target = route.target.alternatives?.next([]) ?? route.target;
    const { endpoint } = target;
    progress.target = target;
    progress.service = endpoint.service;
    // A link of another page leads to pages and documents only: following one must not call anything.
    if (foreign) throw foreignPage(headers);

    const postOnly = endpoint.postOnly || (versioned && isPlain(endpoint));
    const allow = request.upgrade ? SOCKET : postOnly ? POST_ONLY : GET_OR_POST;
    if (method === "OPTIONS") return this.#respond(204, allow.header, "", progress);
    checkMethod(method, allow);

    checkHeaders(headers);
    const namespace = namespaceOf(headers);
    const token = request.upgrade ? this.#checkUpgrade(request, endpoint, headers) : bearerToken(headers);
    const timeout = timeoutOf(headers);

    // On /v1 the token alone says in which namespace the call is made.
    const credentials = { token, namespace: versioned ? undefined : namespace, tokenRequired: versioned };
    let body = NO_BODY;
    const inPieces = method === "POST" && takesPieces(target);
    if (announcesBody(headers)) {
      checkAnnounced(request, target, headers);
      const early = guard.admit(credentials, endpoint);
      if (early instanceof Promise) await early;
      if (!inPieces) body = await request.body();
    }
    const admitted = guard.admit(credentials, endpoint);
    const admission = admitted instanceof Promise ? await admitted : admitted;
    progress.credentials = credentials;
    progress.admission = admission;
    progress.deadline = deadlineOf(endpoint, timeout, config);

    if (request.upgrade || inPieces) checkNoQuery(query);
    if (request.upgrade) return this.#openSocket(request, target, admission, progress);
    if (inPieces) {
      const options = this.#streamOf(request, target, admission, progress);
      const answer = await upload(request, headers.contentType ?? "", options);
      return this.#respondWith(request, target, answer, progress);
    }
    checkPlain(endpoint);

    const message = method === "POST" ? readPost(target, query, headers, body) : readGet(target, query);
    if (endpoint.shape === "server_streaming") return this.#openBody(request, target, admission, message, progress);
    const start = this.#startOf(request, target, admission, progress);
    const { alternatives } = route.target;
    if (alternatives !== undefined) return this.#callAny(request, target, alternatives, start, body, progress);
    const answer = await callUnary(target.channel, start, message, endpoint.service, (stop) => request.onGone(stop));
    return this.#respondWith(request, target, answer, progress);
  }

  /**
   * Where instances differ in their contract: calls one, and where that certainly never saw the call, one with another
   * contract, by that contract.
   */
  async #callAny(
    request: GatewayRequest,
    first: Target,
    alternatives: Alternatives,
    start: AdmittedStart,
    body: readonly Uint8Array[],
    progress: Progress,
  ): Promise<GatewayResponse> {
    const { method } = request;
    const { headers } = progress;
    const [, query] = splitTarget(request.target);
    const tried: Target[] = [];
    for (let target = first; ; ) {
      const { channel, endpoint } = target;
      tried.push(target);
      progress.target = target;
      try {
        const message = method === "POST" ? readPost(target, query, headers, body) : readGet(target, query);
        const begun = { ...start, path: endpoint.path };
        const answer = await callUnary(channel, begun, message, endpoint.service, (stop) => request.onGone(stop));
        return this.#respondWith(request, target, answer, progress);
      } catch (error) {
        const next = error instanceof UnreachableError ? alternatives.next(tried) : undefined;
        if (next === undefined || next.endpoint.shape !== endpoint.shape) throw error;
        target = next;
      }
    }
  }

  /** What is asked of a request for a WebSocket. Gives its token. */
  #checkUpgrade(request: GatewayRequest, endpoint: Endpoint, headers: RequestHeaders): string | undefined {
    if (endpoint.shape === "unary") throw new HttpError(400, `${endpoint.name} does not stream: call it by plain HTTP`);
    checkHandshake(request.headers);
    return protocolToken(request.headers, headers) ?? bearerToken(headers);
  }

  /** How an admitted call begins at its service. */
  #startOf(request: GatewayRequest, target: Target, admission: Admission, progress: Progress): AdmittedStart {
    const { endpoint } = target;
    const { headers, requestId, credentials, deadline } = progress;
    const clientAddress = request.remoteAddress;
    const { enrolment, guard } = this.#options;
    const token = credentials?.token;
    return {
      path: endpoint.path,
      repeatable: endpoint.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
      metadata: metadataOf({ target, admission, guard, headers, requestId, token, clientAddress, enrolment }),
      deadline,
      admission,
      clientAddress,
    };
  }

  /** A stream whose first message is yet to come, when it is judged again. */
  #streamOf(request: GatewayRequest, target: Target, admission: Admission, progress: Progress): StreamCallOptions {
    const { guard } = this.#options;
    const begin = (): AdmittedStart | Promise<AdmittedStart> => {
      const admitted = guard.admit(progress.credentials as Credentials, target.endpoint);
      if (!(admitted instanceof Promise)) return this.#startOf(request, target, admitted, progress);
      return admitted.then((late) => this.#startOf(request, target, late, progress));
    };
    return { channel: target.channel, guard, admission, deadline: progress.deadline, begin };
  }

  #openSocket(request: GatewayRequest, target: Target, admission: Admission, progress: Progress): GatewayResponse {
    const session = new StreamSocket({
      ...this.#streamOf(request, target, admission, progress),
      target,
      explain: (error) => this.#explain(error, progress),
      onEnd: ({ status, bytes, messages, received }) =>
        this.#record(request, { status, length: bytes }, progress, { messages, received }),
    });
    request.onGone((why) => session.stop(why));
    return { status: 101, headers: ["X-Request-Id", progress.requestId], body: "", length: 0, session };
  }

  /** The answer of a server-streaming endpoint, which begins when its first message has come. */
  async #openBody(
    request: GatewayRequest,
    target: Target,
    admission: Admission,
    message: Uint8Array,
    progress: Progress,
  ): Promise<GatewayResponse> {
    const raw = isHttpBody(target.endpoint.method.output);
    const events = !raw && acceptsEvents(listOf(request.headers, "accept"));
    if (events && hasHadAll(listOf(request.headers, "last-event-id"))) return this.#respond(204, [], "", progress);
    const write = (one: Uint8Array): string => writeJson(target, one);
    const body = new StreamBody({
      ...this.#streamOf(request, target, admission, progress),
      // The message is there, so the admission is as new as it.
      begin: () => this.#startOf(request, target, admission, progress),
      message,
      frames: raw ? chunks(target.endpoint.service) : events ? serverSentEvents(write) : ndjson(write),
      explain: (error) => this.#explain(error, progress),
      onEnd: ({ status, bytes, messages }) => this.#record(request, { status, length: bytes }, progress, { messages }),
      heartbeatMs: this.#options.heartbeatMs ?? HEARTBEAT_MS,
    });
    request.onGone((why) => body.stop(why));
    const contentType = await body.contentType;
    if (request.method === "HEAD") body.stop(new HttpError(499, "Only the headers were asked for"));
    const headers = this.#headers(raw ? RAW_HEADERS : UNBUFFERED, progress);
    return { status: 200, headers: [...headers, "Content-Type", contentType], body, length: 0 };
  }

  /** What the gateway answers itself, and what is nowhere. */
  async #withoutRoute(request: GatewayRequest, path: string, progress: Progress): Promise<GatewayResponse> {
    const { catalog, own } = this.#options;
    const { method } = request;
    for (const paths of own) {
      const answer = paths.answer(path, request.headers);
      if (answer === undefined) continue;
      if (method === "OPTIONS") return this.#respond(204, GET_ONLY.header, "", progress);
      checkMethod(method, GET_ONLY);
      const { status, headers = NO_HEADERS, body, contentType } = await answer;
      return this.#respond(status, headers, body, progress, contentType);
    }
    if (!catalog.ready) throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
    const near = catalog.routes.near(path);
    progress.service = near.service ?? "gateway";
    const documents = near.service === undefined ? "/openapi" : `/openapi/${near.service}.json`;
    const hint = near.path === undefined ? `see ${documents}` : `did you mean ${near.path}?`;
    throw new HttpError(404, `No endpoint at ${shownPath(path)}; ${hint}`);
  }

  #refuse(thrown: unknown, progress: Progress): GatewayResponse {
    const { status, headers, body } = this.#explain(thrown, progress);
    return this.#respond(status, headers, body, progress);
  }

  /** What the client is told of a failure; the operator reads more of it in the log. */
  #explain(thrown: unknown, progress: Progress): ErrorAnswer {
    const { service, target, requestId } = progress;
    const answer = answerError(service, thrown, target?.types);
    const { status } = answer;
    if (status >= 500) progress.failure = reasonOf(thrown);
    if (status === 500 && !(thrown instanceof StatusError)) this.#options.log.error({ requestId, err: thrown }, "bug");
    return answer;
  }

  /** @throws {HttpError} 503 where there is no memory for the answer while the client reads it */
  #respondWith(request: GatewayRequest, target: Target, answer: Uint8Array, progress: Progress): GatewayResponse {
    const { body, contentType, headers } = writeAnswer(target, answer);
    const response = this.#respond(200, headers, body, progress, contentType);
    if (response.length > MAX_UNRESERVED && !request.tryReserveAnswer(response.length)) throw NO_MEMORY;
    return response;
  }

  #respond(
    status: number,
    extra: readonly string[],
    body: string | Uint8Array,
    progress: Progress,
    contentType = "application/json",
  ): GatewayResponse {
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const headers = this.#headers(extra, progress);
    if (status !== 204 && status !== 304) headers.push("Content-Type", contentType, "Content-Length", String(length));
    return { status, headers, body, length };
  }

  #headers(extra: readonly string[], { headers, requestId }: Progress): string[] {
    const standard = extra.includes("Cache-Control") ? NO_SNIFFING : STANDARD;
    const all = [...standard, "X-Request-Id", requestId];
    const cors = this.#cors.headers(headers);
    return cors.length + extra.length === 0 ? all : [...all, ...cors, ...extra];
  }

  #record(
    request: GatewayRequest,
    { status, length }: Pick<GatewayResponse, "status" | "length">,
    progress: Progress,
    streamed?: { readonly messages: number; readonly received?: number },
  ): void {
    const { log, metrics, usage } = this.#options;
    const { target, admission, requestId } = progress;
    const ms = performance.now() - progress.started;
    metrics.request(target?.endpoint, status, ms / 1000);
    if (target) usage?.record(target.endpoint, admission?.namespace, progress.headers.namespace, status, ms / 1000);
    log.info({
      requestId,
      method: request.method,
      endpoint: target?.endpoint.name,
      // Where nothing was called, the path tells what was wanted. The query may hold anything and is never logged.
      path: target === undefined ? shownPath(splitTarget(request.target)[0]) : undefined,
      status,
      ms: Math.round(ms * 1000) / 1000,
      account: admission?.caller?.account,
      // Who is refused is known by nothing else.
      address: status === 401 || status === 403 || status === 429 ? request.remoteAddress : undefined,
      namespace: admission?.namespace,
      bytes: length,
      failure: progress.failure,
      ...streamed,
    });
  }
}

/** Bytes of an answer that the system most likely takes at once. */
const MAX_UNRESERVED = 16 * 1024;
/** Most characters of a path that are logged and repeated. */
const MAX_SHOWN_PATH = 128;

/** A path may be a token that was pasted into the wrong place. */
function shownPath(path: string): string {
  return withoutTokens(path.slice(0, MAX_SHOWN_PATH));
}

const NO_HEADERS: readonly string[] = [];
const NO_BODY: readonly Uint8Array[] = [];
/** Has nginx pass each message on as it comes (https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering). */
const UNBUFFERED: readonly string[] = ["X-Accel-Buffering", "no"];
const NO_SNIFFING = ["X-Content-Type-Options", "nosniff"];
const STANDARD = ["Cache-Control", "no-store", ...NO_SNIFFING];

/** In absolute form, which every server must take, the host says nothing more than the header does (RFC 9112 §3.2.2). */
const ABSOLUTE = /^https?:\/\/[^/?#]+(?=[/?])/i;

function splitTarget(sent: string): [path: string, query: string] {
  const target = sent.startsWith("/") ? sent : sent.replace(ABSOLUTE, "");
  const question = target.indexOf("?");
  return question < 0 ? [target, ""] : [target.slice(0, question), target.slice(question + 1)];
}

interface Allow {
  readonly methods: readonly string[];
  readonly header: readonly [string, string];
}

const allowing = (...methods: string[]): Allow => ({ methods, header: ["Allow", methods.join(", ")] });
const POST_ONLY = allowing("POST", "OPTIONS");
/** The request for a WebSocket (RFC 6455 §4.1). */
const SOCKET = allowing("GET", "OPTIONS");
const GET_ONLY = allowing("GET", "HEAD", "OPTIONS");
const GET_OR_POST = allowing("GET", "HEAD", "POST", "OPTIONS");

function checkMethod(method: string, { methods, header }: Allow): void {
  if (methods.includes(method)) return;
  throw new HttpError(405, `The method must be one of ${header[1]}, not ${method}`, { headers: header });
}

function checkAnnounced(request: GatewayRequest, target: Target, headers: RequestHeaders): void {
  checkBody(target, headers);
  if (request.method !== "POST") {
    throw new HttpError(400, "A body is read with POST only; GET has its fields in the query");
  }
}

/** What was thrown, and what that came from. */
function reasonOf(thrown: unknown): string {
  const { message, cause } = thrown as Error;
  return cause === undefined ? message : `${message}: ${cause instanceof Error ? cause.message : cause}`;
}

/** When a call must have ended, in milliseconds of `Date.now()`. A stream has no end but one that is asked for. */
function deadlineOf(
  { shape }: Endpoint,
  timeout: number | undefined,
  { callTime, maxCallTime }: HandlerOptions["config"],
): number | undefined {
  if (shape === "unary") return Date.now() + Math.min(timeout ?? callTime, maxCallTime);
  return timeout === undefined ? undefined : Date.now() + timeout;
}

/**
 * Over plain HTTP a request is whole before its answer comes, so a stream of requests needs a WebSocket; but for one that
 * is one body in pieces.
 */
function isPlain({ shape }: Endpoint): boolean {
  return shape === "unary" || shape === "server_streaming";
}

function checkPlain(endpoint: Endpoint): void {
  if (isPlain(endpoint)) return;
  throw new HttpError(426, `${endpoint.name} takes a stream of messages: open a WebSocket at this path`, {
    headers: ["Upgrade", "websocket", "Connection", "Upgrade"],
  });
}
