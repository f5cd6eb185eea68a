/** What the stages have found out about one request so far: its response, its log line and its metrics are made from it. */
import type { Admission } from "../../src/access/admission.js";
import type { Target } from "../catalog/target.js";
import type { GatewayRequest } from "../http.js";
import { requestIdOf } from "../request-id.js";

export class RequestState {
  /** When the request arrived, in milliseconds of `performance.now()`. */
  readonly started = performance.now();
  readonly requestId: string;
  /** The service that the request is directed to; `gateway` until one is found. */
  service = "gateway";
  /** The endpoint that is called, from the stage `route` on. */
  target: Target | undefined;
  /** The guard's decision, from the stage `admit` on. */
  admission: Admission | undefined;
  /** Why the gateway or a service failed, for the operator: the caller is told less. */
  failure: string | undefined;

  constructor({ headers }: GatewayRequest) {
    this.requestId = requestIdOf(headers);
  }
}
