/**
 * The operator's port: metrics and health of the process. It is separate from the port that callers
 * and web pages reach.
 */
import type { BuiltInRoot } from "../../src/contract/names.js";
import type { Metrics } from "../../src/metrics.js";
import { toErrorReply } from "../http/error-object.js";
import { HttpError } from "../http/errors.js";
import { checkHost } from "../http/headers.js";
import type { BareResponse, GatewayRequest, GatewayResponse, RequestHandler } from "../http/message.js";
import { pathOf } from "../http/target.js";
import { Cors, checkCors, type Hosts } from "../stages/cors.js";
import type { HealthRoutes } from "./health.js";

interface AdminOptions {
  readonly metrics: Metrics;
  readonly health: HealthRoutes;
  readonly hosts: Hosts;
}

/**
 * Cross-origin pages may not call here. PORTICO_CORS does not apply, because it is about callers of
 * services.
 */
const cors = new Cors([]);

const METRICS: BuiltInRoot = "/metrics";
/**
 * The roots of this port. Their names are reserved at the HTTP port, too, so that a path has one
 * meaning.
 */
export const ADMIN_ROOTS: readonly BuiltInRoot[] = [METRICS, "/livez", "/readyz"];

/** Responds at `/metrics`, `/livez` and `/readyz`. */
export function createAdminHandler({ metrics, health, hosts }: AdminOptions): RequestHandler {
  const reply = (request: GatewayRequest): AdminReply | Promise<AdminReply> => {
    const { method, target, headers, error } = request;
    if (error !== undefined) throw error;
    checkHost(headers);
    checkCors(request, { cors, hosts });
    const path = pathOf(target);
    const own = health.replyToOperator(path);
    if (path !== METRICS && own === undefined) throw new HttpError(404, "Here are /metrics, /livez and /readyz");
    if (method !== "GET" && method !== "HEAD") {
      throw new HttpError(405, "The method must be GET or HEAD", { headers: ["Allow", "GET, HEAD"] });
    }
    return own ?? metrics.text().then((body) => ({ status: 200, body, contentType: metrics.contentType }));
  };
  return async (request) => {
    try {
      return respond(await reply(request));
    } catch (error) {
      return respond(toErrorReply("gateway", error));
    }
  };
}

type AdminReply = BareResponse & { readonly body: string };

function respond({ status, body, headers = [], contentType = "application/json" }: AdminReply): GatewayResponse {
  const length = Buffer.byteLength(body);
  const content = ["Content-Type", contentType, "Content-Length", String(length), "Cache-Control", "no-store"];
  return { status, headers: [...content, ...headers], body, length };
}
