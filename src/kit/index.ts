/**
 * `portico/service`: the package with which services are written.
 *
 * This room knows no HTTP.
 */

export type { CallerIdentity as Caller } from "../call/caller.js";
export {
  aborted,
  alreadyExists,
  Code,
  failedPrecondition,
  invalidArgument,
  notFound,
  outOfRange,
  permissionDenied,
  resourceExhausted,
  StatusError,
  unauthenticated,
} from "../errors.js";
export { durationMs, timestampMs, toTimestamp } from "../time.js";
// Generated code reads and writes messages with these.
export { setEntry } from "../wire/entry.js";
export { BinaryReader } from "../wire/reader.js";
export { BinaryWriter } from "../wire/writer.js";
export { type Call, type Handler, type Implementation, type Log, type Part, part } from "./call.js";
export type { Client } from "./client.js";
export { type Run, type RunNamespace, type Schedule, schedule } from "./schedule.js";
export { type Served, type ServeOptions, serve } from "./serve.js";
export type {
  ChangeWatch,
  Committed,
  Entry,
  EntryChange,
  IncrementOptions,
  Lifetime,
  Precondition,
  Range,
  RangeOptions,
  Store,
  Write,
} from "./store.js";
export { type TestCallOptions, testCall } from "./test-call.js";
