/**
 * One request, from top to bottom: seven stages, called in order. Each is a function in stages/, whose comment lists the
 * statuses with which it may end a request: by throwing an error or by giving a reply. docs/how-it-works.md draws them.
 */
import { dialectsOf } from "./dialects/dialects.js";
import type { GatewayRequest, GatewayResponse, Handler } from "./http/message.js";
import { admit } from "./stages/admit.js";
import { call, deadlineOf } from "./stages/call.js";
import { Cors, checkCors } from "./stages/cors.js";
import { readCredentials } from "./stages/credentials.js";
import { checkHeaders, checkWellFormed } from "./stages/headers.js";
import type { StageOptions } from "./stages/options.js";
import { RequestState } from "./stages/record.js";
import { queueRequests } from "./stages/request-queue.js";
import { refuse, reject, respond } from "./stages/respond.js";
import { findRoute } from "./stages/route.js";

export type HandlerOptions = Omit<StageOptions, "cors" | "dialects">;

/** The handler of all requests to the gateway's HTTP port. It neither throws nor rejects. */
export function createHandler(options: HandlerOptions): Handler {
  const dialects = dialectsOf(options);
  const stages: StageOptions = { ...options, cors: new Cors(options.config.cors), dialects };
  const { callQueue } = options;
  const handler: Handler = (request) => handle(request, stages);
  if (callQueue === undefined) return handler;
  return queueRequests(callQueue, options.catalog.routes, handler, (request, reason) =>
    refuse(request, reason, stages),
  );
}

async function handle(request: GatewayRequest, options: StageOptions): Promise<GatewayResponse> {
  const state = new RequestState(request, options.dialects.of(request));
  try {
    checkWellFormed(request, options);

    const preflight = checkCors(request, options);
    if (preflight !== undefined) return respond(request, state, preflight, options);

    const found = findRoute(request, state, options);
    const route = found instanceof Promise ? await found : found;
    if (!("versioned" in route)) return respond(request, state, route, options);
    const { target } = route;

    const timeout = checkHeaders(request, target, state);

    const credentials = readCredentials(request, route);

    const admitted = admit(request, target, credentials, state, options);
    const { admission, body } = admitted instanceof Promise ? await admitted : admitted;
    state.admission = admission;

    const deadline = deadlineOf(target.endpoint, timeout, options.config);
    const answer = await call({ request, state, route, target, credentials, admission, deadline }, body, options);

    const response = respond(request, state, answer, options, deadline);
    return response instanceof Promise ? await response : response;
  } catch (thrown) {
    return reject(request, state, thrown, options);
  }
}
