/**
 * The path of one request: seven stages, called in order.
 *
 * Each stage is a function in stages/. Its comment lists the statuses with which it may end a
 * request. A stage ends a request by throwing an error or by returning a reply.
 * docs/how-it-works.md draws the stages.
 *
 * For most requests the path names the route, the guard already knows the token, the body has
 * arrived, and the response is small. Such a request waits for nothing except the call to the
 * service. A function named `…AtOnce` does the work of its stage without waiting. It returns
 * undefined where the stage would have to wait.
 */
import { dialectsOf } from "./dialects/dialects.js";
import type { GatewayRequest, GatewayResponse, RequestHandler } from "./http/message.js";
import { ProtectedResource } from "./http/protected-resource.js";
import { admit, admitAtOnce } from "./stages/admit.js";
import { call, deadlineOf } from "./stages/call.js";
import { Cors, checkCors } from "./stages/cors.js";
import { readCredentials } from "./stages/credentials.js";
import { checkHeaders, checkWellFormed } from "./stages/headers.js";
import type { StageOptions } from "./stages/options.js";
import { RequestState } from "./stages/record.js";
import { queueRequests } from "./stages/request-queue.js";
import { refuse, reject, respond, respondAtOnce, write, writeAtOnce } from "./stages/respond.js";
import { findRoute, findRouteAtOnce, isRoute } from "./stages/route.js";
import { RequestTrace } from "./stages/trace.js";

export type HandlerOptions = Omit<StageOptions, "cors" | "dialects" | "resource">;

/** The handler of all requests to the gateway's HTTP port. It neither throws nor rejects. */
export function createHandler(options: HandlerOptions): RequestHandler {
  const dialects = dialectsOf(options);
  const resource = new ProtectedResource(options.config);
  const stages: StageOptions = { ...options, cors: new Cors(options.config.cors), dialects, resource };
  const { callQueue } = options;
  const handler: RequestHandler = (request) => handle(request, stages);
  if (callQueue === undefined) return handler;
  return queueRequests(callQueue, options.catalog.routes, handler, (request, reason) =>
    refuse(request, reason, stages),
  );
}

async function handle(request: GatewayRequest, options: StageOptions): Promise<GatewayResponse> {
  const state = new RequestState(request, options.dialects.of(request));
  const { tracer, config } = options;
  if (tracer !== undefined)
    state.trace = RequestTrace.begin(request, tracer, config.httpTlsCert !== undefined, state.started);
  try {
    checkWellFormed(request, options);

    const preflight = checkCors(request, options);
    if (preflight !== undefined) return await respond(request, state, preflight, options);

    const route = findRouteAtOnce(request, state, options) ?? (await findRoute(request, state, options));
    if (!isRoute(route)) return await respond(request, state, route, options);
    const { target } = route;

    const timeout = checkHeaders(request, route, state);

    const credentials = readCredentials(request, route);

    const { admission, body } =
      admitAtOnce(request, route, credentials, state, options) ??
      (await admit(request, route, credentials, state, options));
    state.admission = admission;

    const deadlineMonotonicMs = deadlineOf(target, timeout, options.config);
    const response = await call(
      { request, state, route, target, credentials, admission, deadlineMonotonicMs },
      body,
      options,
    );

    const reply = writeAtOnce(request, state, response) ?? (await write(request, state, response, deadlineMonotonicMs));
    return respondAtOnce(request, state, reply, options) ?? (await respond(request, state, reply, options));
  } catch (thrown) {
    return reject(request, state, thrown, options);
  }
}
