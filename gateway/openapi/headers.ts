/** Headers of requests and answers, as headers.ts beside this folder reads them. */
import { NAME } from "../../src/contract/names.js";
import type { Schema } from "./schema.js";

/** Headers of requests: everywhere; where the token does not say the namespace; and of streams. */
export const COMMON_HEADERS = [refer("Grpc-Timeout"), refer("X-Request-Id")];
export const NAMESPACE_HEADER = refer("Platform-Namespace");
export const STREAM_HEADER = refer("Last-Event-ID");

function refer(name: string): Schema {
  return { $ref: `#/components/parameters/${name}` };
}

export const PARAMETERS: Readonly<Record<string, Schema>> = {
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

function header(name: string, description: string, schema: Schema): Schema {
  return { name, in: "header", description, schema };
}

/** Headers of answers. */
export const HEADERS: Readonly<Record<string, Schema>> = {
  "X-Request-Id": { description: "The request's name.", schema: { type: "string" } },
  "WWW-Authenticate": { description: "`Bearer`.", schema: { type: "string" } },
  "Retry-After": { description: "Seconds to wait, with 429 and where known with 503.", schema: { type: "integer" } },
};
