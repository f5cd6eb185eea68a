/** Metrics and log lines about calls that are refused because there are more than can be answered. */
import type { Logger } from "../log.js";
import { CallQueue } from "../overload/call-queue.js";
import type { ProcessContext } from "./context.js";

/** How often the log says how many calls were refused, in milliseconds. */
const REPORT_MS = 10_000;

/** The turns of a port's calls, which are refused where this process has more than it can answer. */
export function openCallQueue({ log, metrics, shutdown }: ProcessContext): CallQueue {
  const callQueue = new CallQueue();
  metrics.overload = callQueue;
  atIntervals(shutdown, reporterOf(callQueue, log));
  return callQueue;
}

function atIntervals(shutdown: ProcessContext["shutdown"], report: () => void): void {
  const reports = setInterval(report, REPORT_MS).unref();
  shutdown.add(() => clearInterval(reports));
}

function reporterOf(callQueue: CallQueue, log: Logger): () => void {
  let reported = 0;
  return () => {
    const refused = callQueue.refused - reported;
    reported = callQueue.refused;
    if (refused > 0) log.warn({ refused }, "calls were refused with 503: more came than this process can answer");
  };
}

/** Counts by service the calls that a gateway refuses, and writes to the log how many there were. */
export function reportRefused(
  { log, metrics, shutdown }: ProcessContext,
  refused: () => Iterable<readonly [service: string, refused: number]>,
): void {
  metrics.refusedByService = refused;
  let reported = new Map<string, number>();
  const report = (): void => {
    const counts = new Map(refused());
    for (const [service, count] of counts) {
      const more = count - (reported.get(service) ?? 0);
      if (more > 0)
        log.warn({ service, refused: more }, "calls were refused with 503: more came than the service answers");
    }
    reported = counts;
  };
  atIntervals(shutdown, report);
}
