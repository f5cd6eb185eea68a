/**
 * The package's `portico/client`: a client with the services of the catalogue, and the parts from
 * which generated clients are made.
 */
export { PorticoClient } from "./client.js";
export { PorticoError } from "./error.js";
export { Portico } from "./gen/portico.js";
export type * from "./gen/services.js";
export type {
  CallOptions,
  EndpointEntry,
  EndpointTable,
  Messages,
  PorticoOptions,
  TokenFunction,
} from "./options.js";
export type {
  AnyMessage,
  Bytes,
  BytesInput,
  Duration,
  FieldMask,
  Float,
  FloatInput,
  HttpBody,
  HttpBodyInput,
  Int64,
  Int64Input,
  Int64Table,
  JsonObject,
  JsonValue,
  Timestamp,
  TimestampInput,
} from "./values.js";
export { toBytes } from "./values.js";
