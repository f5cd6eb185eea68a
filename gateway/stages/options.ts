/** The options of the stages: one object for all requests of a port. */

import type { RefusalCause, SigningGuard } from "../../src/call/admission.js";
import type { Caller } from "../../src/call/caller.js";
import type { AccessLogSettings } from "../../src/config/access-log.js";
import type { Config } from "../../src/config/config.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import type { Logger } from "../../src/log.js";
import type { Metrics } from "../../src/metrics.js";
import type { CallQueue } from "../../src/overload/call-queue.js";
import type { Tracer } from "../../src/telemetry/tracer.js";
import type { Routes } from "../catalog/routes.js";
import type { BuiltInRoutes } from "../http/message.js";
import type { ProtectedResource } from "../http/protected-resource.js";
import type { Cors, Hosts } from "./cors.js";
import type { Dialects } from "./dialect.js";

export interface StageOptions {
  readonly config: Pick<Config, "maxHeaderCount" | "maxBody" | "callTime" | "maxCallTime" | "cors"> &
    AccessLogSettings &
    Partial<Pick<Config, "httpTlsCert" | "publicUrl">>;
  readonly hosts: Hosts;
  readonly cors: Cors;
  readonly catalog: { readonly routes: Routes; readonly ready: boolean };
  /** The built-in routes. They are searched in this order where no service has the path. */
  readonly own: readonly BuiltInRoutes[];
  readonly dialects: Dialects;
  readonly resource: ProtectedResource;
  readonly guard: SigningGuard;
  /** Without it every request begins at once. */
  readonly callQueue?: CallQueue | undefined;
  /** The gateway's enrolment token, where the authority is another process. */
  readonly enrolment?: string | undefined;
  /**
   * A stream over plain HTTP gets a heartbeat after this time without data, in milliseconds;
   * default 15 s.
   */
  readonly heartbeatMs?: number | undefined;
  readonly log: Logger;
  /** The log for the lines of requests that have ended; default `log`. */
  readonly accessLog?: Logger | undefined;
  /** Without it nothing is traced. */
  readonly tracer?: Tracer | undefined;
  readonly metrics: Metrics;
  readonly usage?: CallCounter | undefined;
  readonly refusals?: RefusalLog | undefined;
}

/** A call that ends with 401, 403 or 429, or with 503 because its service is overloaded. */
export interface RefusedRequest {
  /** The canonical name, such as `helloworld:Helloworld.Call`. */
  readonly endpoint: string;
  readonly refused: Omit<RefusalCause, "reason"> & { readonly reason: RefusalCause["reason"] | "SERVICE" | "OVERLOAD" };
  readonly status: number;
  readonly address: string;
  readonly requestId: string;
}

/** Remembers refused calls for the authority. */
export interface RefusalLog {
  record(request: RefusedRequest): void;
}

/** Counts calls for the authority. */
export interface CallCounter {
  /**
   * @param namespace in which the call was admitted, or of the account that was refused; undefined
   * for another rejected call
   * @param requested the namespace that the request names
   * @param caller undefined for a call that was not admitted, or has no token
   * @param refused whose call was refused, if its account is known
   */
  record(
    endpoint: Endpoint,
    namespace: string | undefined,
    requested: string | undefined,
    status: number,
    seconds: number,
    caller: Caller | undefined,
    refused?: Pick<RefusalCause, "account" | "key">,
  ): void;
}
