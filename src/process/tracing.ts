/** Tracing of a process: who it is in its spans, and the exporter that sends them. */
import { randomUUID } from "node:crypto";
import packageJson from "../../package.json" with { type: "json" };
import { Exporter } from "../telemetry/exporter.js";
import { Tracer } from "../telemetry/tracer.js";
import type { Process } from "./process.js";

/**
 * Opens tracing, where the settings name a collector. To be opened before all other parts: the
 * process closes it after them, and sends the last spans then.
 * @param name of the process, for `service.name`
 * @returns undefined where nothing is traced
 */
export function openTracing(
  name: string,
  { config, log, metrics, closeWithProcess }: Pick<Process, "config" | "log" | "metrics" | "closeWithProcess">,
): Tracer | undefined {
  const { otlp: url, traceSample: ratio } = config;
  if (url === undefined) {
    metrics.add("portico_spans_dropped_total", () => []);
    return undefined;
  }
  const { version } = packageJson;
  const exporter = closeWithProcess(new Exporter({ url, sender: { resource: resourceOf(name), version }, log }));
  metrics.add("portico_spans_dropped_total", () => exporter.queue.dropped);
  return new Tracer({ ratio, queue: exporter.queue });
}

/** Attributes of the resource (semantic conventions 1.37.0). */
function resourceOf(name: string) {
  const { version } = packageJson;
  return {
    "service.name": name,
    "service.namespace": "portico",
    "service.version": version,
    "service.instance.id": randomUUID(),
    "process.pid": process.pid,
    "telemetry.sdk.name": "portico",
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.version": version,
  };
}
