import type { Context } from "../../../src/rpc/service.js";
import type { Changes } from "../log/changelog/changes.js";
import type { State } from "../log/state/state.js";
import { accountOf } from "./checks.js";

/** What the caller's namespace has of a kind, as the store has it now, sorted by name. */
export async function listNamed<T extends { readonly name: string }>(
  changes: Changes,
  context: Context,
  read: (state: State, namespace: string) => T[],
): Promise<T[]> {
  const { namespace } = accountOf(context);
  await changes.sync();
  return read(changes.state, namespace).sort((a, b) => (a.name < b.name ? -1 : 1));
}
