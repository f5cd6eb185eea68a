/**
 * The metadata that a service gets with a call. The list is closed: no header of a client becomes metadata under its own
 * name, so no client can speak in the gateway's name.
 */
import type { Admission, SigningGuard } from "../../src/access/admission.js";
import type { Metadata } from "../../src/rpc/metadata.js";
import type { Target } from "../catalog/target.js";
import type { RequestHeaders } from "../http.js";

export interface MetadataOptions {
  readonly target: Target;
  readonly admission: Admission;
  readonly guard: Pick<SigningGuard, "sign">;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** The caller's bearer token. */
  readonly token: string | undefined;
  readonly clientAddress: string;
  /** Shows the authority that the gateway may name a client's address; undefined where both are one process. */
  readonly enrolment: string | undefined;
}

export function metadataOf(options: MetadataOptions): Metadata {
  const { target, admission, headers, token, enrolment } = options;
  const metadata: Metadata[number][] = [
    ["platform-namespace", admission.namespace],
    ["x-request-id", options.requestId],
  ];
  if (headers.traceparent !== undefined) {
    const { parent, state } = traceOf(headers);
    if (parent !== undefined) metadata.push(["traceparent", parent]);
    if (state !== undefined) metadata.push(["tracestate", state]);
  }
  switch (target.identity) {
    case "token":
      // A token without a caller here has none at the authority either.
      if (token !== undefined && admission.caller !== undefined) metadata.push(["authorization", `Bearer ${token}`]);
      if (enrolment !== undefined && target.endpoint.service === "auth") {
        metadata.push(["x-portico-gateway", enrolment], ["x-portico-client-address", options.clientAddress]);
      }
      break;
    case "context":
      metadata.push(...options.guard.sign(admission));
      break;
    case "names":
      if (admission.caller !== undefined) metadata.push(["x-portico-account", admission.caller.account]);
      metadata.push(["x-portico-namespace", admission.namespace]);
      break;
    case "none":
  }
  return metadata;
}

/** Version, trace ID, parent ID, flags, and what versions after 00 may add (W3C Trace Context §3.2.2). */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\x21-\x7e]*)?$/;
const TRACESTATE = /^[\x20-\x7e\t]{1,512}$/;

interface Trace {
  readonly parent: string | undefined;
  /** Undefined without a valid parent (W3C Trace Context §3.3). */
  readonly state: string | undefined;
}

const NO_TRACE: Trace = { parent: undefined, state: undefined };

/** The trace that the request belongs to. */
function traceOf({ traceparent, tracestate }: RequestHeaders): Trace {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (match === null || (match[1] === "00" && match[2] !== undefined)) return NO_TRACE;
  return { parent: traceparent, state: tracestate && TRACESTATE.test(tracestate) ? tracestate : undefined };
}
