/** The state as guards get it when they begin to follow an authority. */
import { coversService } from "../../../src/contract/resource.js";
import type { WatchResponse_Snapshot } from "../../../src/gen/portico/auth/v1/policy.js";
import type { State } from "../log/state/state.js";

/** Maximum rules and limits in one part of a snapshot: of at most 700 bytes each, about 1 MiB. */
const MAX_PART = 1_500;

/**
 * The state as a snapshot of one or more parts, each small enough for a message. A namespace may be
 * in several parts.
 * @param service whose rules alone are sent; empty for all rules. All limits are sent.
 */
export function snapshotOf(state: State, enrolment: string, service: string): WatchResponse_Snapshot[] {
  const parts: WatchResponse_Snapshot[] = [];
  const partOf = () => ({ revision: BigInt(state.revision), namespaces: [], last: false, contextKeys: [] });
  let capacity = 0;
  for (const { name: namespace, id: namespaceId = "", rules } of state.namespaces.values()) {
    const active = [...rules.values()].filter(({ disabled }) => !disabled);
    const all = active.filter(({ resource }) => service === "" || coversService(resource, service));
    const limits = state.limits.of(namespace);
    const count = all.length + limits.length;
    if (service !== "" && count === 0) continue;
    // A namespace without rules counts too, so that many of them do not make one large part.
    for (let at = 0; at === 0 || at < count; ) {
      if (capacity === 0) {
        parts.push({ ...partOf(), lenders: undefined });
        capacity = MAX_PART;
      }
      const end = at + capacity;
      const within = [at, end].map((index) => Math.max(index - all.length, 0));
      const some = { rules: all.slice(at, end), limits: limits.slice(...within) };
      parts.at(-1)?.namespaces.push({ namespace, namespaceId, ...some });
      const taken = Math.max(some.rules.length + some.limits.length, 1);
      at += taken;
      capacity -= taken;
    }
  }
  const last = parts.pop() ?? partOf();
  const { lenders } = state.limits;
  return [...parts, { ...last, last: true, contextKeys: state.assertionKeysFor(enrolment), lenders }];
}
