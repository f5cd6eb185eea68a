/**
 * The spans of one request: the server span of HTTP, a span `decide` for each decision of the
 * guard, and a span for each call to the service. A request that is not traced has none of this.
 *
 * Names and attributes follow OpenTelemetry's semantic conventions, version 1.37.0 (docs/http/
 * http-spans.md in https://github.com/open-telemetry/semantic-conventions, "HTTP server").
 * Attributes of Portico begin with `portico.`. No query, token, cookie or header is in a span,
 * except the host and the request ID.
 */
import type { Admission, Guarded, SigningGuard } from "../../src/call/admission.js";
import { RefusalError } from "../../src/call/admission.js";
import { pathOf as endpointPathOf } from "../../src/contract/endpoint.js";
import { mayQuoteSecrets } from "../../src/contract/secrets.js";
import { StatusError } from "../../src/errors.js";
import { CallTrace, codeName } from "../../src/telemetry/call-trace.js";
import { type Attributes, SpanKind } from "../../src/telemetry/span.js";
import type { ActiveSpan, Tracer } from "../../src/telemetry/tracer.js";
import type { GatewayRequestHead } from "../http/message.js";
import { pathOf, printablePath } from "../http/target.js";
import type { FailedRequest } from "./dialect.js";

/** What is known about a request at its end. */
interface TracedRequest extends FailedRequest {
  readonly requestId: string;
  readonly dialect: { readonly name: string };
}

type Decider = Pick<SigningGuard, "admit" | "admitAtOnce">;

/** The methods that HTTP knows (RFC 9110, RFC 5789). Clients may send any other word. */
const METHODS: ReadonlySet<string> = new Set([
  ...["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"],
]);

export class RequestTrace {
  readonly #span: ActiveSpan;
  readonly #isTls: boolean;

  /** @param isTls whether the request came over TLS */
  constructor(span: ActiveSpan, isTls: boolean) {
    this.#span = span;
    this.#isTls = isTls;
  }

  /**
   * Begins the trace of a request.
   * @param startMonotonicMs when it arrived, in milliseconds of `performance.now()`
   * @returns undefined if it is not traced
   */
  static begin(
    { headers }: GatewayRequestHead,
    tracer: Tracer,
    isTls: boolean,
    startMonotonicMs: number,
  ): RequestTrace | undefined {
    const span = tracer.begin(headers.traceparent, headers.tracestate, startMonotonicMs);
    return span && new RequestTrace(span, isTls);
  }

  get traceId(): string {
    return this.#span.traceId;
  }

  get spanId(): string {
    return this.#span.spanId;
  }

  /** The `tracestate` that is passed on. */
  get tracestate(): string | undefined {
    return this.#span.tracestate;
  }

  /** Begins the span of a call to a service. @param path gRPC path */
  call(path: string): CallTrace {
    return new CallTrace(this.#span, path);
  }

  /** Makes a guard whose decisions have spans. */
  deciding(guard: Decider): Decider {
    return {
      admitAtOnce: (credentials, endpoint) => this.decide(endpoint, () => guard.admitAtOnce(credentials, endpoint)),
      admit: (credentials, endpoint) => this.decide(endpoint, () => guard.admit(credentials, endpoint)),
    };
  }

  /**
   * Makes a span of a decision. There is none where `ask` returns undefined: nothing was decided.
   */
  decide<T extends Admission | undefined | Promise<Admission>>(endpoint: Guarded, ask: () => T): T {
    const startMs = performance.now();
    const refused = (error: unknown): never => {
      this.#decided(endpoint, startMs, refusalOf(error));
      throw error;
    };
    try {
      const result = ask();
      if (result instanceof Promise)
        return result.then((admission) => this.#admitted(admission, startMs), refused) as T;
      return result === undefined ? result : (this.#admitted(result, startMs) as T);
    } catch (error) {
      return refused(error);
    }
  }

  #admitted(admission: Admission, startMs: number): Admission {
    this.#decided(admission.endpoint, startMs, callerOf(admission));
    return admission;
  }

  #decided(endpoint: Guarded, startMs: number, attributes: Attributes): void {
    const span = this.#span.child("decide", SpanKind.INTERNAL, startMs);
    const error = attributes["error.type"] as string | undefined;
    span.end({ attributes: { "portico.endpoint": endpoint.name, ...attributes }, error });
  }

  /** Ends the server span. @param status of the response, also where the dialect has its own */
  end(request: GatewayRequestHead, known: TracedRequest, status: number): void {
    const method = METHODS.has(request.method) ? request.method : "_OTHER";
    const route = routeOf(request, known);
    // The client's errors are no errors of the server.
    const error = status >= 500 ? `${status}` : undefined;
    const attributes: Attributes = {
      "http.request.method": method,
      "url.path": shownPath(request, known, route),
      "url.scheme": this.#isTls ? "https" : "http",
      "http.route": route,
      "http.response.status_code": status,
      "client.address": request.remoteAddress,
      ...hostOf(request),
      "network.protocol.version": request.protocolVersion,
      "error.type": error,
      "portico.request_id": known.requestId,
      "portico.dialect": known.dialect.name,
      "portico.endpoint": known.target?.endpoint.name,
      ...(known.admission === undefined ? {} : callerOf(known.admission)),
    };
    const name = method === "_OTHER" ? "HTTP" : method;
    this.#span.end({ name: route === undefined ? name : `${name} ${route}`, attributes, error: error && "" });
  }
}

function callerOf({ namespace, caller }: Admission): Attributes {
  return { "portico.namespace": namespace, "portico.account": caller?.account };
}

function refusalOf(error: unknown): Attributes {
  const refused = error instanceof RefusalError ? error.refused : undefined;
  return {
    "error.type": error instanceof StatusError ? codeName(error.code) : "_OTHER",
    "portico.refusal": refused?.reason,
    "portico.namespace": refused?.namespace,
    "portico.account": refused?.account || undefined,
  };
}

/** The pattern of the path. There are only as many as contracts have. */
function routeOf(request: GatewayRequestHead, { target, route, dialect }: TracedRequest): string | undefined {
  if (target === undefined || route === undefined) return undefined;
  if (route.template !== undefined) return route.template;
  if (dialect.name !== "json") return pathOf(request.target);
  return `${route.versioned ? "/v1" : ""}${endpointPathOf(target.endpoint)}`;
}

/** Where a field of the path may be secret, the pattern stands for the path. */
function shownPath(request: GatewayRequestHead, { target }: TracedRequest, route: string | undefined): string {
  const hidesValues = target !== undefined && route !== undefined && mayQuoteSecrets(target.endpoint);
  return hidesValues ? route : printablePath(pathOf(request.target));
}

const HOST = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/;

function hostOf({ headers: { host } }: GatewayRequestHead): Attributes {
  const [, ipv6, name, port] = HOST.exec(host ?? "") ?? [];
  return { "server.address": ipv6 ?? name, "server.port": port === undefined ? undefined : Number(port) };
}
