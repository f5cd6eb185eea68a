/**
 * Components of every OpenAPI document: the request headers that the gateway reads, its response
 * headers, and the error object.
 */
import { NAME } from "../../src/contract/names.js";
import type { JsonSchema } from "../../src/json/schema/scalars.js";

/** Request headers of every operation. */
export const COMMON_HEADERS = [refer("Grpc-Timeout"), refer("X-Request-Id")];
/** Request header of unversioned paths, where the token does not name the namespace. */
export const NAMESPACE_HEADER = refer("Platform-Namespace");
/** Request header of operations whose response is a stream of events. */
export const STREAM_HEADER = refer("Last-Event-ID");

function refer(name: string): JsonSchema {
  return { $ref: `#/components/parameters/${name}` };
}

/** The request headers by name. */
export const PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  "Platform-Namespace": header(
    "Platform-Namespace",
    "The namespace whose rules decide; without it the token's own, else `default`. A token counts only in its own.",
    { type: "string", pattern: NAME.source },
  ),
  "Grpc-Timeout": header(
    "Grpc-Timeout",
    "How long the call may take: up to eight digits and a unit (H M S m u n), such as `500m` for half a second.",
    { type: "string", pattern: "^[0-9]{1,8}[HMSmun]$" },
  ),
  "X-Request-Id": header(
    "X-Request-Id",
    "A name for the request: the answer, the service and the logs have it too. One that is not 1 to 128 characters of `A-Za-z0-9._-` is replaced.",
    { type: "string" },
  ),
  "Last-Event-ID": header(
    "Last-Event-ID",
    "Sent by clients that connect again to a stream of events; after a complete one, `complete`.",
    { type: "string" },
  ),
};

function header(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: "header", description, schema };
}

/** Headers of responses, by name. */
export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  "X-Request-Id": { description: "The request's name.", schema: { type: "string" } },
  "WWW-Authenticate": { description: "`Bearer`.", schema: { type: "string" } },
  "Retry-After": { description: "Seconds to wait, with 429 and where known with 503.", schema: { type: "integer" } },
  "RateLimit-Policy": {
    description: 'The limit: its ID, how many calls `q` in how many seconds `w`, such as `"ci";q=100;w=1`.',
    schema: { type: "string" },
  },
  RateLimit: {
    description: 'What the limit leaves: `r` calls, and more after `t` seconds, such as `"ci";r=42;t=1`.',
    schema: { type: "string" },
  },
};

/** The name of the error object among the schemas. */
export const ERROR = "gateway-error";

/** The error object, as `toErrorReply` writes it. */
export const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  description: "What went wrong, whoever found out: the gateway or a service.",
  properties: {
    Id: {
      type: "string",
      description:
        "The service that the call was directed to; `gateway` where none was found, or a limit refused the call before.",
    },
    Code: { type: "integer", description: "The HTTP status." },
    Detail: { type: "string", description: "What is wrong, in words for the caller." },
    Status: { type: "string", description: "The words that go with the HTTP status." },
    Details: {
      type: "array",
      description: "What the service said besides (`google.rpc.Status`), where it did.",
      items: { type: "object", required: ["@type"], properties: { "@type": { type: "string" } } },
    },
  },
  required: ["Id", "Code", "Detail", "Status"],
};

/** Error responses of every operation, by status. */
export const ERROR_RESPONSES: Readonly<Record<string, JsonSchema>> = {
  400: { $ref: "#/components/responses/BadRequest" },
  401: { $ref: "#/components/responses/Unauthorized" },
  403: { $ref: "#/components/responses/Forbidden" },
  429: { $ref: "#/components/responses/TooManyRequests" },
  default: { $ref: "#/components/responses/Failure" },
};

/** Headers of a response to a call that is refused for now. */
export const LIMIT_HEADERS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  ["Retry-After", "RateLimit", "RateLimit-Policy"].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

/** Error responses, and the response to a client that has received a stream to its end, by name. */
export const RESPONSES: Readonly<Record<string, JsonSchema>> = {
  Complete: {
    description: "Nothing: the browser has had all of the stream, and should not come back.",
    headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } },
  },
  BadRequest: failure("The request is malformed: the detail begins with the path of the field that is wrong.", {
    Code: 400,
    Detail: "nam: no such parameter",
    Status: "Bad Request",
  }),
  Unauthorized: failure(
    "No rule grants the call, or a token is needed and there is no valid one.",
    { Code: 401, Detail: "Unauthorized call made to helloworld:Helloworld.Call", Status: "Unauthorized" },
    { "WWW-Authenticate": { $ref: "#/components/headers/WWW-Authenticate" } },
  ),
  Forbidden: failure("A rule forbids the call to this account, or the token is limited to other resources.", {
    Code: 403,
    Detail: "Forbidden call made to helloworld:Helloworld.Call by bob",
    Status: "Forbidden",
  }),
  TooManyRequests: failure(
    "A limit of calls is used up, or the service refused the call for now.",
    {
      Code: 429,
      Detail: "Limit ci allows key deploy 100 calls a second; try again in 2 s",
      Status: "Too Many Requests",
    },
    LIMIT_HEADERS,
  ),
  UpgradeRequired: failure("The request asked for no WebSocket.", {
    Code: 426,
    Detail: "chat:Chat.Talk takes a stream of messages: open a WebSocket at this path",
    Status: "Upgrade Required",
  }),
  Failure: failure(
    "Anything else: 404, 409 and so on from the service; 405, 413, 415 or 431 for what the gateway does not take; " +
      "502 for an answer that is malformed or too large; 503 or 504 where the service did not respond.",
    { Code: 503, Detail: "helloworld cannot be reached at the moment", Status: "Service Unavailable" },
    { "Retry-After": { $ref: "#/components/headers/Retry-After" } },
  ),
};

function failure(
  description: string,
  example: JsonSchema,
  headers: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return {
    description,
    headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" }, ...headers },
    content: {
      "application/json": {
        schema: { $ref: `#/components/schemas/${ERROR}` },
        example: { Id: "helloworld", ...example },
      },
    },
  };
}
