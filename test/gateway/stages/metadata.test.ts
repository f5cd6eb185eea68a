// What services learn about a call. Only the authority gets the token. Registered services get a
// caller assertion. External services get names where their configuration asks for them. The
// address of a client is stated to the authority, to registered services, and where names are sent.
import t from "tap";
import { PassedMetadata } from "../../../gateway/catalog/passed-metadata.js";
import type { EndpointTarget, IdentityForm } from "../../../gateway/catalog/target.js";
import { readHeaders } from "../../../gateway/http/headers.js";
import { type AdmittedRequest, startOf } from "../../../gateway/stages/call.js";
import type { SigningGuard } from "../../../src/access/guard.js";
import type { Caller } from "../../../src/call/caller.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { sentMetadata } from "../../../src/rpc/channel.js";

const ADA: Caller = { namespace: "default", account: "ada", scopes: [], expires: 0, resources: [] };
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const always = [
  ["platform-namespace", "default"],
  ["x-request-id", "r"],
];

const SIGNED: [string, string] = ["x-portico-context", "signed"];
const CLIENT: [string, string] = ["x-portico-client-address", "192.0.2.7"];
const guard = { assertionOf: () => ({ metadata: [SIGNED] }) } as unknown as SigningGuard;

interface Case {
  readonly title: string;
  readonly service?: string;
  readonly identity?: IdentityForm;
  /** Names of metadata in the service's configuration. */
  readonly names?: readonly string[];
  readonly caller?: Caller;
  readonly token?: string;
  readonly enrolment?: string;
  readonly headers?: readonly string[];
  readonly also: Metadata;
}

const cases: Case[] = [
  { title: "an unauthenticated caller", also: [] },
  {
    title: "a caller, to the authority",
    identity: "token",
    caller: ADA,
    token: "t",
    also: [["authorization", "Bearer t"]],
  },
  { title: "a token that belongs to no caller, to the authority", identity: "token", token: "t", also: [] },
  {
    title: "a caller, to a registered service",
    identity: "assertion",
    caller: ADA,
    token: "t",
    also: [CLIENT, SIGNED],
  },
  { title: "an unauthenticated caller, to a registered service", identity: "assertion", also: [CLIENT, SIGNED] },
  { title: "a caller, to an external service", caller: ADA, token: "t", also: [] },
  {
    title: "a caller, to an external service whose configuration asks for the caller",
    identity: "names",
    caller: ADA,
    token: "t",
    also: [["x-portico-account", "ada"], ["x-portico-namespace", "default"], CLIENT],
  },
  {
    title: "an unauthenticated caller, to an external service whose configuration asks for the caller",
    identity: "names",
    also: [["x-portico-namespace", "default"], CLIENT],
  },
  { title: "a gateway in its own process, to any service", enrolment: "pte", also: [] },
  {
    title: "a gateway in its own process, to the authority",
    service: "auth",
    identity: "token",
    enrolment: "pte",
    also: [["x-portico-gateway", "pte"], CLIENT],
  },
  { title: "to an external service that has the authority's name", service: "auth", enrolment: "pte", also: [] },
  { title: "in one process, to the authority", service: "auth", also: [] },
  {
    title: "a trace",
    headers: ["Traceparent", TRACE, "Tracestate", "a=1"],
    also: [
      ["traceparent", TRACE],
      ["tracestate", "a=1"],
    ],
  },
  {
    title: "a trace of a later version",
    headers: ["Traceparent", `01${TRACE.slice(2)}-more`],
    also: [["traceparent", `01${TRACE.slice(2)}-more`]],
  },
  { title: "no trace: version 00 with more", headers: ["Traceparent", `${TRACE}-more`], also: [] },
  { title: "no trace: version ff", headers: ["Traceparent", `ff${TRACE.slice(2)}`], also: [] },
  { title: "no trace: capital letters", headers: ["Traceparent", TRACE.toUpperCase()], also: [] },
  { title: "no trace: two parents", headers: ["Traceparent", TRACE, "Traceparent", TRACE], also: [] },
  { title: "a state without a trace", headers: ["Tracestate", "a=1"], also: [] },
  {
    title: "a trace, and a state that is too long",
    headers: ["Traceparent", TRACE, "Tracestate", "a".repeat(513)],
    also: [["traceparent", TRACE]],
  },
  {
    title: "headers that are not on the list",
    headers: [
      "X-Portico-Gateway",
      "me",
      "X-Portico-Context",
      "me",
      "X-Portico-Account",
      "me",
      "Connection",
      "close",
      "Te",
      "trailers",
      "Grpc-Status",
      "0",
    ],
    also: [],
  },
  {
    title: "a header that the configuration names, each time that it was sent",
    names: ["x-tenant"],
    headers: ["X-Tenant", "a", "X-Other", "b", "x-tenant", "c"],
    also: [
      ["x-tenant", "a"],
      ["x-tenant", "c"],
    ],
  },
  {
    title: "bytes, which a proxy may have joined",
    names: ["x-key-bin"],
    headers: ["X-Key-Bin", "AQI, Aw=="],
    also: [
      ["x-key-bin", Buffer.from([1, 2])],
      ["x-key-bin", Buffer.from([3])],
    ],
  },
  {
    title: "with *, all headers except those of HTTP, of Portico or of a dialect",
    names: ["*"],
    headers: [
      ...[
        "Authorization",
        "Bearer t",
        "Cookie",
        "a=b",
        "Content-Type",
        "application/json",
        "Host",
        "x",
        "TE",
        "trailers",
      ],
      ...["Accept-Language", "de", "User-Agent", "curl", "X-Forwarded-For", "192.0.2.1", "Origin", "https://x.example"],
      ...["X-Portico-Account", "eve", "X-Portico-Context", "forged", "Platform-Namespace", "default"],
      ...["Grpc-Timeout", "1S", "Connect-Timeout-Ms", "1", "X-Grpc-Web", "1", "X-Tenant", "a"],
    ],
    also: [["x-tenant", "a"]],
  },
  {
    title: "a header of HTTP, where it is named",
    names: ["accept-language", "authorization", "cookie", "x-portico-account"],
    headers: ["Accept-Language", "de", "Authorization", "Bearer t", "Cookie", "a=b", "X-Portico-Account", "eve"],
    also: [["accept-language", "de"]],
  },
];

for (const row of cases) {
  const { title, service = "shop", identity = "none", caller, token, enrolment, headers = [], names = [], also } = row;
  t.test(title, async (t) => {
    const endpoint = { service, method: {} } as EndpointTarget["endpoint"];
    const sendsAssertion = identity === "assertion";
    const target = { endpoint, identity, sendsAssertion, metadata: new PassedMetadata(names) } as EndpointTarget;
    const admission = { endpoint, caller, namespace: "default" };
    const request = { headers: readHeaders(headers), rawHeaders: headers, remoteAddress: "192.0.2.7" };
    const admitted = { request, state: { requestId: "r" }, target, credentials: { token } } as AdmittedRequest;
    t.same(sentMetadata(startOf(admitted, admission, { guard, enrolment })), [...always, ...also]);
  });
}
