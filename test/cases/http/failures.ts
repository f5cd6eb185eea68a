/** The response to a caller when a service fails, cannot be reached, or takes too long. */
import { Code } from "../../../src/errors.js";
import { BadRequest, DebugInfo, RetryInfo } from "../../../src/gen/google/rpc/error_details.js";
import { BEARER, type HttpCase } from "./case.js";

const FAIL = "service:probe:Probe.Fail";
const fails = (code: Code, extra: object = {}): string => JSON.stringify({ code, message: "as told", ...extra });
const detailed = (code: Code, type: string, value: Uint8Array): string =>
  fails(code, { detailType: `type.googleapis.com/${type}`, detailValue: Buffer.from(value).toString("base64") });

/** Errors of services. */
export const failures: readonly HttpCase[] = [
  ...(
    [
      [Code.INVALID_ARGUMENT, 400],
      [Code.FAILED_PRECONDITION, 400],
      [Code.OUT_OF_RANGE, 400],
      [Code.PERMISSION_DENIED, 403],
      [Code.NOT_FOUND, 404],
      [Code.ALREADY_EXISTS, 409],
      [Code.ABORTED, 409],
      [Code.CANCELLED, 499],
      [Code.INTERNAL, 500],
      [Code.DATA_LOSS, 500],
      [Code.UNIMPLEMENTED, 501],
      [Code.UNAVAILABLE, 503],
      [Code.DEADLINE_EXCEEDED, 504],
    ] as const
  ).map(
    ([code, status]): HttpCase => ({
      title: `a service's ${Code[code]}`,
      method: "POST",
      target: "/probe/fail",
      body: fails(code),
      status,
      detail: "as told",
      calls: FAIL,
    }),
  ),
  {
    title: "a service's UNAUTHENTICATED, with the challenge that 401 needs",
    method: "POST",
    target: "/probe/fail",
    body: fails(Code.UNAUTHENTICATED),
    status: 401,
    detail: "as told",
    has: { "www-authenticate": BEARER },
    calls: FAIL,
  },
  {
    title: "a service's RESOURCE_EXHAUSTED",
    method: "POST",
    target: "/probe/fail",
    body: fails(Code.RESOURCE_EXHAUSTED),
    status: 429,
    has: { "retry-after": "1" },
    calls: FAIL,
  },
  {
    title: "a service's RetryInfo is the header Retry-After",
    method: "POST",
    target: "/probe/fail",
    body: detailed(
      Code.RESOURCE_EXHAUSTED,
      "google.rpc.RetryInfo",
      RetryInfo.encode({ retryDelay: { seconds: 2n, nanos: 500_000_000 } }).finish(),
    ),
    status: 429,
    has: { "retry-after": "3" },
    response: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2.500s" }],
    calls: FAIL,
  },
  {
    title: "a service's UNKNOWN, the code of an uncaught exception, loses its message",
    method: "POST",
    target: "/probe/fail",
    body: fails(Code.UNKNOWN),
    status: 500,
    detail: "Internal error",
    calls: FAIL,
  },
  {
    title: "a code that google.rpc.Code does not have, such as those from OpenFGA",
    method: "POST",
    target: "/probe/fail",
    body: detailed(
      Number(2_027),
      "google.rpc.RetryInfo",
      RetryInfo.encode({ retryDelay: { seconds: 2n, nanos: 0 } }).finish(),
    ),
    status: 500,
    detail: "as told",
    response: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2s" }],
    calls: FAIL,
  },
  {
    title: "a message with a stack trace is hidden from the caller",
    method: "POST",
    target: "/probe/fail",
    body: fails(Code.INTERNAL, { message: "broken\n    at f (/srv/a.js:1:2)" }),
    status: 500,
    detail: "broken",
    calls: FAIL,
  },
  {
    title: "a status without a message gets one",
    method: "POST",
    target: "/probe/fail",
    body: fails(Code.NOT_FOUND, { message: "" }),
    status: 404,
    detail: "Not Found",
    calls: FAIL,
  },
  {
    title: "the details of a status are in the response as JSON",
    method: "POST",
    target: "/probe/fail",
    body: detailed(
      Code.INVALID_ARGUMENT,
      "google.rpc.BadRequest",
      BadRequest.encode(
        BadRequest.fromPartial({ fieldViolations: [{ field: "name", description: "too long" }] }),
      ).finish(),
    ),
    status: 400,
    response: [
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field: "name", description: "too long", reason: "" }],
      },
    ],
    calls: FAIL,
  },
  {
    title: "details of a type that only the service has",
    method: "POST",
    target: "/probe/fail",
    body: detailed(Code.ABORTED, "probe.Failure", Buffer.from([8, 1])),
    status: 409,
    response: [{ "@type": "type.googleapis.com/probe.Failure", code: 1, message: "", detailType: "", detailValue: "" }],
    calls: FAIL,
  },
  {
    title: "details of an unknown type appear as type and bytes",
    method: "POST",
    target: "/probe/fail",
    body: detailed(Code.ABORTED, "acme.Secret", Buffer.from([1, 2, 3])),
    status: 409,
    response: [{ "@type": "type.googleapis.com/acme.Secret", value: "AQID" }],
    calls: FAIL,
  },
  {
    title: "details with malformed bytes appear as type and bytes",
    method: "POST",
    target: "/probe/fail",
    body: detailed(Code.ABORTED, "google.rpc.BadRequest", Buffer.from([0xff])),
    status: 409,
    response: [{ "@type": "type.googleapis.com/google.rpc.BadRequest", value: "/w==" }],
    calls: FAIL,
  },
  {
    title: "DebugInfo is hidden from the caller",
    method: "POST",
    target: "/probe/fail",
    body: detailed(
      Code.ABORTED,
      "google.rpc.DebugInfo",
      DebugInfo.encode(DebugInfo.fromPartial({ stackEntries: ["f"] })).finish(),
    ),
    status: 409,
    response: undefined,
    calls: FAIL,
  },
  {
    title: "a service responds with bytes that are no message",
    method: "POST",
    target: "/probe/break",
    status: 502,
    calls: "service:probe:Probe.Break",
  },
  {
    title: "a service that cannot be reached",
    target: "/gone/Helloworld/call",
    status: 503,
    detail: "gone cannot be reached at the moment",
    calls: "service:gone:Helloworld.Call",
  },
  {
    title: "a service that does not respond before the deadline",
    target: "/probe/hang",
    headers: [["Grpc-Timeout", "20m"]],
    status: 504,
    calls: "service:probe:Probe.Hang",
  },
  {
    title: "a grpc-timeout of 0 ends the call at once",
    target: "/probe/hang",
    headers: [["Grpc-Timeout", "0S"]],
    status: 504,
    calls: "service:probe:Probe.Hang",
  },
  {
    title: "a malformed grpc-timeout is refused",
    target: "/probe/hang",
    headers: [["Grpc-Timeout", "soon"]],
    status: 400,
    id: "probe",
  },
];
