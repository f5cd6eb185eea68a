/** The settings of tracing (docs/tracing.md). */
import { HTTP_PORT, setting } from "./setting.js";
import { collectorUrl, fraction } from "./setting-values.js";

export const TELEMETRY_SETTINGS = {
  otlp: setting(
    "PORTICO_OTLP",
    undefined,
    "OpenTelemetry collector that gets the spans of this process by OTLP/HTTP, such as http://127.0.0.1:4318; default none, and nothing is traced",
    collectorUrl,
  ),
  traceSample: setting(
    "PORTICO_TRACE_SAMPLE",
    "0.01",
    "part of the requests that are traced where the client has not decided it: 0 none, 1 all",
    fraction(0),
    HTTP_PORT,
  ),
};
