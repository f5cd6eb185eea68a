/**
 * One request, from top to bottom: route, method, headers, body, guard, message, call, answer.
 *
 * The guard decides after the last byte of the body has come, so that a rule deleted while a slow client sends does not
 * grant any more; and on the very endpoint that is then called. Only an admitted body is looked into.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Config } from "../src/config.js";
import { Code, StatusError } from "../src/errors.js";
import type { Admission, Guard } from "../src/guard.js";
import type { Logger } from "../src/log.js";
import type { Metrics } from "../src/metrics.js";
import { callUnary } from "./call.js";
import { Cors } from "./cors.js";
import { answerError, HttpError } from "./errors.js";
import type { GatewayRequest, GatewayResponse, Handler } from "./exchange.js";
import {
  announcesBody,
  bearerToken,
  checkContentType,
  checkHeaders,
  namespaceOf,
  type RequestHeaders,
  readHeaders,
  requestIdOf,
  timeoutOf,
} from "./headers.js";
import type { Health } from "./health.js";
import { metadataOf } from "./metadata.js";
import { parseQuery } from "./query.js";
import { createRequestId } from "./request-id.js";
import type { Routes, Target } from "./route.js";

export interface HandlerOptions {
  readonly catalog: { readonly routes: Routes; readonly ready: boolean };
  readonly guard: Guard;
  readonly health: Health;
  readonly config: Pick<Config, "callTime" | "maxCallTime" | "cors" | "maxHeaderCount">;
  /** The gateway's enrolment token, where the authority is another process. */
  readonly enrolment?: string | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
}

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
  admission: Admission | undefined;
  /** Why the gateway or a service failed, in more words than the caller reads. */
  failure: string | undefined;

  constructor(request: GatewayRequest) {
    this.headers = readHeaders(request.headers);
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
    this.#record(request, response, progress);
    return response;
  }

  async #answer(request: GatewayRequest, progress: Progress): Promise<GatewayResponse> {
    const { catalog, guard, config } = this.#options;
    const { headers } = progress;
    const { method } = request;
    if (request.fault !== undefined) throw request.fault;
    if (request.headers.length > 2 * config.maxHeaderCount) {
      throw new HttpError(431, `At most ${config.maxHeaderCount} headers are accepted`);
    }
    if (this.#cors.isPreflight(method, headers)) return this.#respond(204, this.#cors.preflight(headers), "", progress);

    const [path, query] = splitTarget(request.target);
    const route = catalog.routes.find(path);
    if (route === undefined) return this.#withoutRoute(method, path, progress);
    const { target, versioned } = route;
    const { endpoint } = target;
    progress.target = target;
    progress.service = endpoint.service;

    const allow = versioned ? POST_ONLY : GET_OR_POST;
    if (method === "OPTIONS") return this.#respond(204, allow.header, "", progress);
    checkMethod(method, allow);

    checkHeaders(headers);
    const namespace = namespaceOf(headers);
    const token = bearerToken(headers);
    const time = Math.min(timeoutOf(headers) ?? config.callTime, config.maxCallTime);

    const body = announcesBody(headers) ? await readBody(request, headers) : NO_BODY;

    // On /v1 the token alone says in which namespace the call is made.
    const credentials = { token, namespace: versioned ? undefined : namespace, tokenRequired: versioned };
    const admitted = guard.admit(credentials, endpoint);
    const admission = admitted instanceof Promise ? await admitted : admitted;
    progress.admission = admission;

    if (endpoint.shape !== "unary") throw new StatusError(Code.UNIMPLEMENTED, `${endpoint.name} streams: use gRPC`);
    const message = method === "POST" ? readJson(target, query, body) : target.request.readQuery(parseQuery(query));

    const { requestId } = progress;
    const clientAddress = request.remoteAddress;
    const { enrolment } = this.#options;
    const start = {
      path: endpoint.path,
      repeatable: endpoint.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
      metadata: metadataOf({ target, admission, headers, requestId, token, clientAddress, enrolment }),
      deadline: Date.now() + time,
      admission,
      clientAddress,
    };
    const answer = await callUnary(target.channel, start, message, endpoint.service, (call) =>
      request.onGone(() => call.cancel()),
    );
    return this.#respond(200, NO_HEADERS, writeJson(target, answer), progress);
  }

  /** What the gateway answers itself, and what is nowhere. */
  #withoutRoute(method: string, path: string, progress: Progress): GatewayResponse {
    const { catalog, health } = this.#options;
    const own = health.answer(path);
    if (own !== undefined) {
      if (method === "OPTIONS") return this.#respond(204, GET_ONLY.header, "", progress);
      checkMethod(method, GET_ONLY);
      return this.#respond(own.status, NO_HEADERS, own.body, progress);
    }
    if (!catalog.ready) throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
    const near = catalog.routes.near(path);
    progress.service = near.service ?? "gateway";
    const hint = near.path === undefined ? "" : `; did you mean ${near.path}?`;
    throw new HttpError(404, `No endpoint at ${path.slice(0, MOST_PATH)}${hint}`);
  }

  #refuse(thrown: unknown, progress: Progress): GatewayResponse {
    const { service, target, requestId } = progress;
    const { status, headers, body } = answerError(service, thrown, target?.types);
    if (status >= 500) progress.failure = reasonOf(thrown);
    if (status === 500 && !(thrown instanceof StatusError)) this.#options.log.error({ requestId, err: thrown }, "bug");
    return this.#respond(status, headers, body, progress);
  }

  #respond(status: number, extra: readonly string[], body: string, { headers, requestId }: Progress): GatewayResponse {
    const length = Buffer.byteLength(body);
    const all = [...STANDARD, "X-Request-Id", requestId];
    if (status !== 204) all.push("Content-Type", "application/json", "Content-Length", String(length));
    const cors = this.#cors.headers(headers);
    return { status, headers: cors.length + extra.length === 0 ? all : [...all, ...cors, ...extra], body, length };
  }

  #record(request: GatewayRequest, { status, length }: GatewayResponse, progress: Progress): void {
    const { log, metrics } = this.#options;
    const { target, admission, requestId } = progress;
    const ms = performance.now() - progress.started;
    metrics.request(target?.endpoint, status, ms / 1000);
    log.info({
      requestId,
      method: request.method,
      endpoint: target?.endpoint.name,
      // Where nothing was called, the path tells what was wanted. The query may hold anything and is never logged.
      path: target === undefined ? splitTarget(request.target)[0].slice(0, MOST_PATH) : undefined,
      status,
      ms: Math.round(ms * 1000) / 1000,
      account: admission?.caller?.account,
      namespace: admission?.namespace,
      bytes: length,
      failure: progress.failure,
    });
  }
}

const MOST_PATH = 128;
const NO_HEADERS: readonly string[] = [];
const NO_BODY = new Uint8Array(0);
const NO_FIELDS = Buffer.from("{}");
const STANDARD = ["Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"];

function splitTarget(target: string): [path: string, query: string] {
  const question = target.indexOf("?");
  return question < 0 ? [target, ""] : [target.slice(0, question), target.slice(question + 1)];
}

interface Allow {
  readonly methods: readonly string[];
  readonly header: readonly [string, string];
}

const allowing = (...methods: string[]): Allow => ({ methods, header: ["Allow", methods.join(", ")] });
const POST_ONLY = allowing("POST", "OPTIONS");
const GET_ONLY = allowing("GET", "HEAD", "OPTIONS");
const GET_OR_POST = allowing("GET", "HEAD", "POST", "OPTIONS");

function checkMethod(method: string, { methods, header }: Allow): void {
  if (methods.includes(method)) return;
  throw new HttpError(405, `The method must be one of ${header[1]}, not ${method}`, { headers: header });
}

function readBody(request: GatewayRequest, headers: RequestHeaders): Uint8Array | Promise<Uint8Array> {
  checkContentType(headers);
  if (request.method === "POST") return request.body();
  throw new HttpError(400, "A body is read with POST only; GET has its fields in the query");
}

/** What was thrown, and what that came from. */
function reasonOf(thrown: unknown): string {
  const { message, cause } = thrown as Error;
  return cause === undefined ? message : `${message}: ${cause instanceof Error ? cause.message : cause}`;
}

function readJson(target: Target, query: string, body: Uint8Array): Uint8Array {
  if (query !== "") throw new HttpError(400, "A query is read with GET only; POST has its fields in the body");
  return target.request.read(body.length === 0 ? NO_FIELDS : body);
}

function writeJson({ endpoint, response }: Target, message: Uint8Array): string {
  try {
    return response.write(message);
  } catch (cause) {
    throw new HttpError(502, `${endpoint.service} answered with what is no ${endpoint.method.output.typeName}`, {
      cause,
    });
  }
}
