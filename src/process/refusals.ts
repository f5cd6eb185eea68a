/** Metrics and log lines about calls that are refused in an overload. */
import type { Logger } from "../log.js";
import type { Metrics } from "../metrics.js";
import { CallQueue } from "../overload/call-queue.js";
import type { ProcessPart } from "./process.js";

/** How often the log reports the number of refused calls, in milliseconds. */
const REPORT_MS = 10_000;

export interface OpenCallQueue extends ProcessPart {
  /** The queue of a port's calls. It refuses calls when this process has more than it can serve. */
  readonly callQueue: CallQueue;
}

interface CallQueueOptions {
  /** How many calls a gateway has refused, by the overloaded service. */
  readonly byService?: () => Iterable<readonly [service: string, refused: number]>;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Makes the queue. Until it is closed, refused calls are counted, and their number is logged. */
export function openCallQueue({ byService, log, metrics }: CallQueueOptions): OpenCallQueue {
  const callQueue = new CallQueue();
  metrics.add("portico_overload_refused_total", () => callQueue.refused);
  if (byService !== undefined) metrics.add("portico_service_overload_refused_total", byService);
  let reported = 0;
  let reportedByService = new Map<string, number>();
  const report = (): void => {
    const refused = callQueue.refused - reported;
    reported = callQueue.refused;
    if (refused > 0) log.warn({ refused }, "calls were refused with 503: more came than this process can handle");
    const counts = new Map(byService?.());
    for (const [service, count] of counts) {
      const more = count - (reportedByService.get(service) ?? 0);
      if (more > 0)
        log.warn({ service, refused: more }, "calls were refused with 503: more came than the service can process");
    }
    reportedByService = counts;
  };
  const reports = setInterval(report, REPORT_MS).unref();
  return { callQueue, close: () => clearInterval(reports) };
}
