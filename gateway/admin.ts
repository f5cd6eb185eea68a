/** What a process tells its operator: metrics and health, on a port of their own that callers do not reach. */
import type { Metrics } from "../src/metrics.js";
import { answerError, HttpError } from "./errors.js";
import type { Handler } from "./exchange.js";
import type { Health } from "./health.js";
import type { OwnAnswer } from "./own.js";

/** Answers `/metrics`, `/livez` and `/readyz`. */
export function createAdminHandler({ metrics, health }: { metrics: Metrics; health: Health }): Handler {
  return async ({ method, target, fault }) => {
    const path = target.split("?", 1)[0] as string;
    const own = health.answer(path);
    if (fault !== undefined) return respond(answerError("gateway", fault));
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

function respond(
  { status, body, headers = [] }: OwnAnswer & { readonly body: string },
  type = "application/json",
): Awaited<ReturnType<Handler>> {
  const length = Buffer.byteLength(body);
  const content = ["Content-Type", type, "Content-Length", String(length), "Cache-Control", "no-store"];
  return { status, headers: [...content, ...headers], body, length };
}
