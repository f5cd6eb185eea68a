/** A gateway without time for more requests. The test runs the turns of its event loop. */
import type { Test } from "tap";
import { CallQueue } from "../../../src/overload/call-queue.js";
import { fillTurn, ManualLoop } from "../../overload/manual-loop.js";
import { until } from "../../support/until.js";
import { type DeployOptions, deploy } from "../deployment.js";

/** Counts the calls that wait, and the calls whose callers have gone. */
class ObservedQueue extends CallQueue {
  waiting = 0;
  /** The groups in which they wait. */
  readonly groups: string[] = [];
  cancelled = 0;

  override wait(...call: Parameters<CallQueue["wait"]>): ReturnType<CallQueue["wait"]> {
    this.waiting++;
    this.groups.push(call[0]);
    const place = super.wait(...call);
    const tryCancel = (): boolean => {
      const wasWaiting = place.tryCancel();
      if (wasWaiting) this.cancelled++;
      return wasWaiting;
    };
    return { tryCancel };
  }
}

/** A deployment in which requests that arrive have to wait. */
export async function startBusy(t: Test, options: DeployOptions = {}) {
  const loop = new ManualLoop();
  const callQueue = new ObservedQueue(loop);
  const deployment = await deploy(t.testdir(), { ...options, callQueue });
  t.teardown(() => deployment.close());
  deployment.metrics.add("portico_overload_refused_total", () => callQueue.refused);
  deployment.logged.length = 0;
  deployment.dispatched.length = 0;
  fillTurn(callQueue, loop);
  /** Gives everything that waits its turn. */
  const turn = (): void => {
    loop.turn();
    loop.turn();
  };
  const waiting = (count = 1) => until(() => callQueue.waiting === count);
  return { ...deployment, loop, callQueue, turn, waiting };
}
