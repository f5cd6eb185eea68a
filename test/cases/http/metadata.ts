/** The metadata that a service gets beside its message, and the headers of every response. */
import { ADA, HELLO, type HttpCase, TELL } from "./case.js";

const NEW_ID = /^[\w-]{12}-[0-9a-z]+$/;

export const metadata: readonly HttpCase[] = [
  {
    title: "a service gets a caller assertion, the namespace, the request's id and its trace, and nothing else",
    target: "/probe/tell",
    headers: [
      ADA,
      ["X-Request-Id", "abc-1.2_3"],
      ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
      ["tracestate", "a=1"],
      ["tracestate", "b=2"],
      ["X-Portico-Gateway", "me"],
      ["X-Portico-Context", "me"],
      ["X-Portico-Account", "me"],
      ["X-Portico-Client-Address", "1.2.3.4"],
      ["X-Forwarded-For", "1.2.3.4"],
      ["Te", "trailers"],
      ["grpc-status", "0"],
      ["Cookie", "a=b"],
      ["X-Anything", "else"],
    ],
    status: 200,
    response: {
      caller: "ada",
      namespace: "default",
      metadata: {
        "x-portico-context": "signed",
        "x-portico-client-address": "its address",
        "platform-namespace": "default",
        "x-request-id": "abc-1.2_3",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        tracestate: "a=1,b=2",
      },
    },
    has: { "x-request-id": "abc-1.2_3" },
    calls: TELL,
  },
  {
    title: "a traceparent that is malformed is not passed on",
    target: "/probe/tell",
    headers: [
      ["X-Request-Id", "r"],
      ["traceparent", "00-00000000000000000000000000000000-b7ad6b7169203331-01"],
      ["tracestate", "a=1"],
    ],
    status: 200,
    response: {
      metadata: {
        "x-portico-context": "signed",
        "x-portico-client-address": "its address",
        "platform-namespace": "default",
        "x-request-id": "r",
      },
    },
    calls: TELL,
  },
  {
    title: "a token that belongs to no caller is not passed on",
    target: "/probe/tell",
    headers: [
      ["X-Request-Id", "r"],
      ["Authorization", "Bearer {stranger}"],
    ],
    status: 200,
    response: {
      metadata: {
        "x-portico-context": "signed",
        "x-portico-client-address": "its address",
        "platform-namespace": "default",
        "x-request-id": "r",
      },
    },
    calls: TELL,
  },
  {
    title: "a request id with invalid characters is replaced",
    target: "/nowhere",
    headers: [["X-Request-Id", "a b"]],
    status: 404,
    has: { "x-request-id": NEW_ID },
  },
  {
    title: "a request id that is too long is replaced",
    target: "/nowhere",
    headers: [["X-Request-Id", "a".repeat(129)]],
    status: 404,
    has: { "x-request-id": NEW_ID },
  },
  {
    title: "two request ids are replaced by one",
    target: "/nowhere",
    headers: [
      ["X-Request-Id", "a"],
      ["X-Request-Id", "b"],
    ],
    status: 404,
    has: { "x-request-id": NEW_ID },
  },
  {
    title: "responses forbid caching and guessing their type",
    target: "/helloworld",
    status: 200,
    has: { "cache-control": "no-store", "x-content-type-options": "nosniff", "content-type": "application/json" },
    calls: HELLO,
  },
];
