/** The paths of a service whose clients know grpc-gateway, with its errors and streams. */
import type { JsonSchema } from "../../src/json/schema/scalars.js";
import { LIMIT_HEADERS, STREAM_HEADER } from "./components.js";

const NAME = "grpc-gateway-error";
const ERROR = { $ref: `#/components/schemas/${NAME}` };
const STREAM = "application/x-ndjson";

/** The schema of the errors. */
export const GRPC_GATEWAY_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  [NAME]: {
    type: "object",
    description: "What went wrong, whoever found out: the gateway or a service. It is a `google.rpc.Status`.",
    properties: {
      code: { type: "integer", description: "The gRPC code." },
      message: { type: "string", description: "What is wrong, in words for the caller." },
      details: {
        type: "array",
        items: { type: "object", required: ["@type"], properties: { "@type": { type: "string" } } },
      },
    },
    required: ["code", "message"],
  },
};

const FAILURE: JsonSchema = {
  description: "The call failed. The HTTP status is the status of the gRPC code.",
  headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } },
  content: { "application/json": { schema: ERROR, example: { code: 5, message: "not found", details: [] } } },
};

const LIMITED: JsonSchema = {
  ...FAILURE,
  description: "A limit of calls is used up, or the service refused the call for now.",
  headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" }, ...LIMIT_HEADERS },
};

/** The path items, where the operations of annotated paths have the responses of grpc-gateway. */
export function* withEnvelopes(items: Iterable<[path: string, item: JsonSchema]>): Iterable<[string, JsonSchema]> {
  for (const [path, item] of items) {
    yield [path, Object.fromEntries(Object.entries(item).map(([name, member]) => [name, enveloped(member)]))];
  }
}

function enveloped(member: unknown): unknown {
  const { responses, parameters = [], ...others } = Object(member) as Record<string, unknown>;
  if (responses === undefined) return member;
  const { 200: success, 204: _complete, ...errors } = responses as Record<string, JsonSchema>;
  const failures = Object.keys(errors).map((status) => [status, status === "429" ? LIMITED : FAILURE]);
  return {
    ...others,
    parameters: (parameters as readonly unknown[]).filter((one) => one !== STREAM_HEADER),
    responses: { 200: succeeded(success as JsonSchema), ...Object.fromEntries(failures) },
  };
}

/** A stream has a line with `result` for each message, and a last one with `error` if it fails. */
function succeeded(success: JsonSchema): JsonSchema {
  const { [STREAM]: stream } = (success.content ?? {}) as Readonly<Record<string, JsonSchema>>;
  if (stream === undefined) return success;
  const [message] = (stream["x-item-schema"] as { readonly anyOf: readonly JsonSchema[] }).anyOf;
  const line = (name: string, schema: unknown) => ({
    ...{ type: "object", properties: { [name]: schema }, required: [name], additionalProperties: false },
  });
  const [example = "{}"] = String(stream.example).split("\n");
  const content = {
    schema: { type: "string", description: "A line for each message. A line with the member `error` is the last." },
    "x-item-schema": { anyOf: [line("result", message), line("error", ERROR)] },
    example: `{"result":${example}}\n`,
  };
  return { ...success, content: { "application/json": content } };
}
