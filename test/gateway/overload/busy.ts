/** A gateway without time for more requests, on an event loop that the test turns by hand. */
import type { Test } from "tap";
import { Overload } from "../../../src/overload.js";
import { until } from "../../support/until.js";
import { type DeployOptions, deploy } from "../deployment.js";
import { fillTurn, ManualLoop } from "./manual-loop.js";

/** Counts the calls that have come to wait, and those whose callers have gone. */
class ObservedOverload extends Overload {
  waiting = 0;
  /** Those that they wait in. */
  readonly groups: string[] = [];
  cancelled = 0;

  override wait(...call: Parameters<Overload["wait"]>): ReturnType<Overload["wait"]> {
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
  const overload = new ObservedOverload(loop);
  const deployment = await deploy(t.testdir(), { ...options, overload });
  t.teardown(() => deployment.close());
  deployment.metrics.overload = overload;
  deployment.logged.length = 0;
  deployment.dispatched.length = 0;
  fillTurn(overload, loop);
  /** Lets everything that waits have its turn. */
  const turn = (): void => {
    loop.turn();
    loop.turn();
  };
  const waiting = (count = 1) => until(() => overload.waiting === count);
  return { ...deployment, loop, overload, turn, waiting };
}
