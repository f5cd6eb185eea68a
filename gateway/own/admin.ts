/** What a process tells its operator: metrics and health, on a port of their own that callers and web pages do not reach. */
import type { Metrics } from "../../src/metrics.js";
import { answerError, HttpError } from "../errors.js";
import type { GatewayRequest, Handler } from "../http.js";
import { checkHost } from "../request-headers.js";
import { Cors, foreignPage, isNavigation } from "../stages/cors.js";
import type { Hosts } from "../stages/hosts.js";
import type { Health } from "./health.js";
import type { OwnAnswer } from "./own.js";

interface AdminOptions {
  readonly metrics: Metrics;
  readonly health: Health;
  readonly hosts: Hosts;
}

/** Answers `/metrics`, `/livez` and `/readyz`. */
export function createAdminHandler({ metrics, health, hosts }: AdminOptions): Handler {
  return async (request) => {
    const { method, target } = request;
    try {
      check(request, hosts);
    } catch (refusal) {
      return respond(answerError("gateway", refusal));
    }
    const path = target.split("?", 1)[0] as string;
    const own = health.answer(path);
    if (path !== "/metrics" && own === undefined) {
      return respond(answerError("gateway", new HttpError(404, "Here are /metrics, /livez and /readyz")));
    }
    if (method !== "GET" && method !== "HEAD") {
      const headers = ["Allow", "GET, HEAD"];
      return respond(answerError("gateway", new HttpError(405, "The method must be GET or HEAD", { headers })));
    }
    if (own !== undefined) return respond(own);
    return respond({ status: 200, body: await metrics.text() }, metrics.contentType);
  };
}

/** No page of another origin may call, whatever PORTICO_CORS says: that is about callers of services. */
const NO_PAGES = new Cors([]);

/** @throws {HttpError} 400, 403 or 421, or what the server found wrong */
function check({ method, known, fault }: GatewayRequest, hosts: Hosts): void {
  if (fault !== undefined) throw fault;
  checkHost(known);
  hosts.check(known);
  if (NO_PAGES.isForeign(known) && !isNavigation(method, known)) throw foreignPage(known);
}

function respond(
  { status, body, headers = [] }: OwnAnswer & { readonly body: string },
  type = "application/json",
): Awaited<ReturnType<Handler>> {
  const length = Buffer.byteLength(body);
  const content = ["Content-Type", type, "Content-Length", String(length), "Cache-Control", "no-store"];
  return { status, headers: [...content, ...headers], body, length };
}
