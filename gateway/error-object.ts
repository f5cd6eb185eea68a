/**
 * Failures as the one JSON object that clients of the JSON dialect get for every error; the HTTP status is its `Code`:
 *
 *     {"Id":"helloworld","Code":404,"Detail":"No endpoint \"cal\" in helloworld","Status":"Not Found"}
 */
import { create, createRegistry, type JsonObject, type JsonValue, type Registry, toJson } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { readDescriptors } from "../src/contract/endpoint.js";
import { descriptorsOf } from "../src/contract/own-files.js";
import type { Any } from "../src/gen/google/protobuf/any.js";
import { type Failure, reason, toFailure } from "./errors.js";

/** The reply to an error. */
export interface ErrorReply {
  readonly status: number;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
  /** The error object as JSON. */
  readonly body: string;
}

/** Converts anything thrown into the reply that the client gets. Parameters as of `writeErrorReply`. */
export function toErrorReply(id: string, thrown: unknown, target?: Typed): ErrorReply {
  return writeErrorReply(id, toFailure(thrown), target);
}

/**
 * @param id the service that the request was directed to, or `gateway`
 * @param target has the types of that service, to write the details of its errors
 */
export function writeErrorReply(id: string, failure: Failure, target?: Typed): ErrorReply {
  const { status, message, details, headers } = failure;
  const error = { Id: id, Code: status, Detail: message || reason(status), Status: reason(status) };
  const body =
    details.length === 0 ? error : { ...error, Details: details.map((detail) => readable(detail, target?.types)) };
  return { status, headers, body: JSON.stringify(body) };
}

/** What has a service's own types, which are asked for only where a failure has details. */
interface Typed {
  readonly types: Registry;
}

let standardTypes: Registry | undefined;
/** A service's types together with the standard ones, made once for each service. */
const withStandardTypes = new WeakMap<Registry, Registry>();

function registryOf(types: Registry | undefined): Registry {
  standardTypes ??= readDescriptors(descriptorsOf("google.rpc", "google.protobuf"));
  if (types === undefined) return standardTypes;
  let registry = withStandardTypes.get(types);
  if (registry === undefined) {
    registry = createRegistry(standardTypes, types);
    withStandardTypes.set(types, registry);
  }
  return registry;
}

/** An error detail in proto3 JSON; in base64 where its type is unknown or its bytes are malformed. */
function readable({ typeUrl, value }: Any, types: Registry | undefined): JsonValue {
  const detail = create(AnySchema, { typeUrl, value });
  const type = { "@type": typeUrl };
  const options = { registry: registryOf(types), alwaysEmitImplicit: true };
  try {
    return { ...type, ...(toJson(AnySchema, detail, options) as JsonObject) };
  } catch {
    return { ...type, value: Buffer.from(value).toString("base64") };
  }
}
