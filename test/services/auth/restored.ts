import { partsOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../../services/auth/log/state/state.js";
import { Snapshot } from "../../../src/gen/portico/auth/log/v1/log.js";

/** The state as an authority reads it from the snapshot of another one. */
export async function restored(state: State): Promise<State> {
  const copy = new State();
  const frozen = state.freeze();
  for (const part of partsOf(frozen)) await copy.merge(Snapshot.decode(part));
  frozen.release();
  return copy;
}
