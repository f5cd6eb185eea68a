/** The one error object and the answers that have it or nothing, as errors.ts beside this folder makes them. */
import type { Schema } from "./schema.js";

/** Its name among the schemas. */
export const ERROR = "gateway-error";

export const ERROR_SCHEMA: Schema = {
  type: "object",
  description: "What went wrong, whoever found out: the gateway or a service.",
  properties: {
    Id: { type: "string", description: "The service that the call was directed to; `gateway` where none was found." },
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

/** Answers that every operation may give, by status. */
export const ERROR_RESPONSES: Readonly<Record<string, Schema>> = {
  400: { $ref: "#/components/responses/BadRequest" },
  401: { $ref: "#/components/responses/Unauthorized" },
  403: { $ref: "#/components/responses/Forbidden" },
  default: { $ref: "#/components/responses/Failure" },
};

/** The answers by name, and the one of a stream that is over. */
export const RESPONSES: Readonly<Record<string, Schema>> = {
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
  UpgradeRequired: failure("The request asked for no WebSocket.", {
    Code: 426,
    Detail: "chat:Chat.Talk takes a stream of messages: open a WebSocket at this path",
    Status: "Upgrade Required",
  }),
  Failure: failure(
    "Anything else: 404, 409, 429 and so on from the service; 405, 413, 415 or 431 for what the gateway does not take; " +
      "502 for an answer that is malformed or too large; 503 or 504 where the service did not answer.",
    { Code: 503, Detail: "helloworld cannot be reached at the moment", Status: "Service Unavailable" },
    { "Retry-After": { $ref: "#/components/headers/Retry-After" } },
  ),
};

function failure(description: string, example: Schema, headers: Readonly<Record<string, Schema>> = {}): Schema {
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
