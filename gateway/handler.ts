/**
 * One request, from top to bottom: seven stages, called in order. Each is a function in stages/, whose comment lists the
 * statuses with which it may end a request: by throwing an error or by giving a reply. docs/how-it-works.md draws them.
 */
import type { Config } from "../src/config.js";
import { json } from "./dialects/json/json.js";
import { type GatewayRequest, type GatewayResponse, type Handler, isStream, type Reply } from "./http.js";
import { type AdmitOptions, admit } from "./stages/admit.js";
import { type CallOptions, call, deadlineOf } from "./stages/call.js";
import { Cors, type CorsOptions, checkCors } from "./stages/cors.js";
import { readCredentials } from "./stages/credentials.js";
import { checkHeaders, checkWellFormed, type HeadersOptions } from "./stages/headers.js";
import { record } from "./stages/record.js";
import { type RespondOptions, reject, respond } from "./stages/respond.js";
import { findRoute, isRoute, type RouteOptions } from "./stages/route.js";
import { RequestState } from "./stages/state.js";

interface StageOptions
  extends CorsOptions,
    RouteOptions,
    HeadersOptions,
    AdmitOptions,
    Omit<CallOptions, "config" | "guard">,
    RespondOptions {
  readonly guard: CallOptions["guard"];
  readonly config: CallOptions["config"] & Pick<Config, "maxHeaderCount">;
}

export interface HandlerOptions extends Omit<StageOptions, "cors" | "dialect" | "config"> {
  readonly config: StageOptions["config"] & Pick<Config, "cors">;
}

/** The handler of all requests to the gateway's HTTP port. It neither throws nor rejects. */
export function createHandler(options: HandlerOptions): Handler {
  const stages: StageOptions = { ...options, cors: new Cors(options.config.cors), dialect: json };
  return (request) => handle(request, stages);
}

async function handle(request: GatewayRequest, options: StageOptions): Promise<GatewayResponse> {
  const state = new RequestState(request);
  try {
    checkWellFormed(request, options.config);

    const preflight = checkCors(request, options);
    if (preflight !== undefined) return end(request, state, preflight, options);

    const route = findRoute(request, state, options);
    if (!isRoute(route)) return end(request, state, await route, options);
    const { target } = route;

    const timeout = checkHeaders(request, target, options);

    const credentials = readCredentials(request, route);

    const { admission, body } = await admit(request, target, credentials, options);
    state.admission = admission;

    const deadline = deadlineOf(target.endpoint, timeout, options.config);
    const answer = await call({ request, state, target, credentials, admission, deadline }, body, options);

    return end(request, state, answer, options);
  } catch (thrown) {
    return recorded(request, state, reject(request, state, thrown, options), options);
  }
}

function end(
  request: GatewayRequest,
  state: RequestState,
  answer: Uint8Array | Reply,
  options: StageOptions,
): GatewayResponse {
  return recorded(request, state, respond(request, state, answer, options), options);
}

/** Records a request that has ended. A stream is recorded when it ends. */
function recorded(
  request: GatewayRequest,
  state: RequestState,
  response: GatewayResponse,
  options: StageOptions,
): GatewayResponse {
  if (response.session === undefined && !isStream(response.body)) record(request, state, response, options);
  return response;
}
