/**
 * What a service is told besides the message. The list is closed: no header of a client becomes metadata by its name,
 * so nobody outside can speak in the gateway's name.
 */
import type { Admission, SigningGuard } from "../../src/access/guard.js";
import type { Metadata } from "../../src/rpc/metadata.js";
import type { Target } from "../catalog/routes.js";
import { type RequestHeaders, traceOf } from "../request-headers.js";

export interface CallFacts {
  readonly target: Target;
  readonly admission: Admission;
  readonly guard: Pick<SigningGuard, "sign">;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  readonly token: string | undefined;
  readonly clientAddress: string;
  /** By which the gateway shows the authority that it may speak for a client's address; undefined in one process. */
  readonly enrolment: string | undefined;
}

export function metadataOf(facts: CallFacts): Metadata {
  const { target, admission, headers, token, enrolment } = facts;
  const metadata: Metadata[number][] = [
    ["platform-namespace", admission.namespace],
    ["x-request-id", facts.requestId],
  ];
  if (headers.traceparent !== undefined) {
    const { parent, state } = traceOf(headers);
    if (parent !== undefined) metadata.push(["traceparent", parent]);
    if (state !== undefined) metadata.push(["tracestate", state]);
  }
  switch (target.told) {
    case "token":
      // A token that stands for nobody here would be of no use there.
      if (token !== undefined && admission.caller !== undefined) metadata.push(["authorization", `Bearer ${token}`]);
      if (enrolment !== undefined && target.endpoint.service === "auth") {
        metadata.push(["x-portico-gateway", enrolment], ["x-portico-client-address", facts.clientAddress]);
      }
      break;
    case "context":
      metadata.push(...facts.guard.sign(admission));
      break;
    case "identity":
      if (admission.caller !== undefined) metadata.push(["x-portico-account", admission.caller.account]);
      metadata.push(["x-portico-namespace", admission.namespace]);
      break;
    case "nothing":
  }
  return metadata;
}
