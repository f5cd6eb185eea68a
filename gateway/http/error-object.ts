/**
 * Writes failures as the JSON object that clients of the JSON dialect get for every error. `Code`
 * is the HTTP status:
 *
 *     {"Id":"helloworld","Code":404,
 *      "Detail":"No endpoint \"cal\" in helloworld","Status":"Not Found"}
 */
import { createRegistry } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { type Any, Any as AnyMessage } from "../../src/gen/google/protobuf/any.js";
import type { MessageCodec } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { type Failure, MissingTypesError, reason, toFailure } from "./errors.js";
import { standardType } from "./standard-types.js";

/** The reply to an error. */
export interface ErrorReply {
  readonly status: number;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
  /** The error object as JSON. */
  readonly body: string;
}

/**
 * Converts anything thrown into the reply that the client gets. The parameters are explained at
 * `writeErrorReply`.
 */
export function toErrorReply(id: string, thrown: unknown, target?: Typed): ErrorReply {
  return writeErrorReply(id, toFailure(thrown), target);
}

/**
 * @param id the service that the request was directed to, or `gateway`
 * @param target has the types of that service, for writing the details of its errors
 */
export function writeErrorReply(id: string, failure: Failure, target?: Typed): ErrorReply {
  const { status, message, details, headers } = failure;
  const error = { Id: id, Code: status, Detail: message || reason(status), Status: reason(status) };
  const body = JSON.stringify(error);
  if (details.length === 0) return { status, headers, body };
  const codec = target?.any ?? standardCodec();
  const written = details.map((detail) => writeDetail(codec, detail));
  return { status, headers, body: `${body.slice(0, -1)},"Details":[${written.join()}]}` };
}

/**
 * An object with the codec of google.protobuf.Any for a service's own types. The codec is used only
 * where a failure has details.
 */
interface Typed {
  readonly any: MessageCodec;
}

let standard: MessageCodec | undefined;

function standardCodec(): MessageCodec {
  standard ??= compileCodecs(createRegistry(), { findOther: standardType })(AnySchema);
  return standard;
}

/**
 * An error detail as JSON. Where its type is unknown or its bytes are malformed, the bytes are
 * written in base64.
 */
export function writeDetail(codec: MessageCodec, detail: Any): string {
  try {
    return codec.write(AnyMessage.encode(detail).finish());
  } catch (error) {
    if (error instanceof MissingTypesError) throw error;
    return JSON.stringify({ "@type": detail.typeUrl, value: Buffer.from(detail.value).toString("base64") });
  }
}
