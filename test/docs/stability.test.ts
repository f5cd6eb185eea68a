// Everything that docs/stability.md promises exists. A change or removal of a line in the
// lists below breaks the promise. New names are added to the lists.
import { readFileSync } from "node:fs";
import t from "tap";
import { EXIT } from "../../cli/terminal/exit.js";
import * as client from "../../src/client/index.js";
import * as service from "../../src/kit/index.js";
import { METRICS } from "../../src/metric-list.js";
import { tablesOf } from "./markdown.js";

const SERVICE_EXPORTS = [
  "BinaryReader",
  "BinaryWriter",
  "Code",
  "StatusError",
  "aborted",
  "alreadyExists",
  "durationMs",
  "failedPrecondition",
  "invalidArgument",
  "notFound",
  "outOfRange",
  "part",
  "permissionDenied",
  "resourceExhausted",
  "schedule",
  "serve",
  "setEntry",
  "testCall",
  "timestampMs",
  "toTimestamp",
  "unauthenticated",
];
const CLIENT_EXPORTS = ["Portico", "PorticoClient", "PorticoError", "toBytes"];
/** The name, the type and the labels. */
const NAMES = [
  "portico_audit_records_dropped_total counter share",
  "portico_authority_guards gauge",
  "portico_authority_revision gauge",
  "portico_build_info gauge version commit node role",
  "portico_certificate_expiry_timestamp_seconds gauge setting",
  "portico_changes_refused_total counter reason",
  "portico_connections gauge protocol",
  "portico_degraded gauge",
  "portico_failed_logins_total counter reason",
  "portico_grpc_call_duration_seconds histogram service endpoint",
  "portico_grpc_calls_total counter service endpoint code",
  "portico_guard_lease_remaining_seconds gauge",
  "portico_guard_revision gauge",
  "portico_limit_refused_total counter limit",
  "portico_open_streams gauge",
  "portico_overload_refused_total counter",
  "portico_ready gauge",
  "portico_request_duration_seconds histogram service endpoint",
  "portico_requests_total counter service endpoint code",
  "portico_service_ejections_total counter service",
  "portico_service_instances gauge service state",
  "portico_service_overload_refused_total counter service",
  "portico_sign_ins_total counter kind",
  "portico_spans_dropped_total counter reason",
  "portico_store_errors_total counter store",
];

t.test("the program has the exit codes on the page", async (t) => {
  const table = tablesOf(readFileSync("docs/stability.md", "utf8")).find(({ header }) => header[0] === "exit code");
  t.same(
    table?.rows.map(([code]) => Number(code)),
    Object.values(EXIT),
  );
});

t.test("the names that services and clients import exist", async (t) => {
  t.same(Object.keys(service).sort(), SERVICE_EXPORTS);
  t.same(Object.keys(client).sort(), CLIENT_EXPORTS);
});

t.test("metrics keep their names, types and labels", async (t) => {
  t.same(
    Object.entries(METRICS)
      .map(([name, { type, labels }]) => [name, type, ...labels].join(" "))
      .sort(),
    NAMES,
  );
});
