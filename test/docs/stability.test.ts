// Everything that docs/stability.md promises exists. A change or removal of a line in the
// lists below breaks the promise. New names are added to the lists.
import { readFileSync } from "node:fs";
import t from "tap";
import { EXIT } from "../../cli/terminal/exit.js";
import * as client from "../../src/client/index.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { Code } from "../../src/errors.js";
import * as service from "../../src/kit/index.js";
import { Metrics } from "../../src/metrics.js";
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
const METRICS = [
  "portico_grpc_call_duration_seconds histogram",
  "portico_grpc_calls_total counter",
  "portico_limit_refused_total counter",
  "portico_overload_refused_total counter",
  "portico_request_duration_seconds histogram",
  "portico_requests_total counter",
  "portico_service_overload_refused_total counter",
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

t.test("metrics keep their names and types", async (t) => {
  const metrics = new Metrics();
  metrics.overload = { refused: 1 };
  metrics.refusedByService = () => [["helloworld", 1]];
  const endpoint = { service: "helloworld", name: "helloworld:Helloworld.Call" } as Endpoint;
  metrics.request(endpoint, 200, 0.1);
  metrics.grpcCall(endpoint, Code.OK, 0.1);
  metrics.limitRefused("ci");
  const types = (await metrics.text()).matchAll(/^# TYPE (portico_.+)$/gm);
  t.same(Array.from(types, ([, type]) => type).sort(), METRICS);
});
