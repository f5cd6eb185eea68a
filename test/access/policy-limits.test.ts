// The limits of calls and the lenders that a guard has, as the messages of its stream say.
import t from "tap";
import { PolicyState } from "../../src/access/follow/policy-state.js";
import { Limit, Per } from "../../src/gen/portico/auth/v1/limits.js";
import type { Change, NamespaceRules, WatchResponse_Snapshot } from "../../src/gen/portico/auth/v1/policy.js";

const limit = (id: string, per: Per = Per.ACCOUNT) => Limit.fromPartial({ id, per, resource: "*:*:*", rate: "1/s" });
const revised = (id: string, per?: Per) => ({ limit: limit(id, per), revision: 1n });
const namespace = (namespace: string, ...limits: NamespaceRules["limits"]): NamespaceRules => ({
  ...{ namespace, namespaceId: `id of ${namespace}`, rules: [], limits },
});

function apply(state: PolicyState, snapshot: Partial<WatchResponse_Snapshot>): unknown {
  const value = { revision: 1n, namespaces: [], last: true, contextKeys: [], lenders: undefined, ...snapshot };
  return state.apply({ $case: "snapshot", value });
}

function change(state: PolicyState, ...changes: NonNullable<Change["change"]>[]): unknown {
  const value = { revision: (state.revision ?? 0n) + 1n, changes: changes.map((change) => ({ change })) };
  return state.apply({ $case: "changes", value });
}

const idsOf = (limits: ReturnType<PolicyState["limitsOf"]>) => limits && Array.from(limits, ({ limit }) => limit.id);

t.test("a snapshot brings all limits, and replaces those from before", async (t) => {
  const state = new PolicyState();
  t.equal(state.limitsOf("shop"), undefined);
  t.same(state.lenders, { ids: [], revision: 0n });
  apply(state, { namespaces: [namespace("default"), namespace("shop", revised("a"))], last: false });
  t.equal(state.limitsOf("shop"), undefined, "until its last part has arrived");
  apply(state, { namespaces: [namespace("shop", revised("b"))], lenders: { ids: ["x"], revision: 1n } });
  t.same(idsOf(state.limitsOf("shop")), ["a", "b"]);
  t.equal(state.limitsOf("shop")?.namespaceId, "id of shop");
  t.equal(state.limitsOf("default"), undefined, "a namespace without limits has no set");
  t.same(state.lenders, { ids: ["x"], revision: 1n });
  apply(state, { namespaces: [namespace("shop", revised("c"))] });
  t.same(idsOf(state.limitsOf("shop")), ["c"]);
  t.same(state.lenders, { ids: [], revision: 0n });
});

t.test("a snapshot of a version that knows no limits has none", async (t) => {
  const state = new PolicyState();
  apply(state, { namespaces: [namespace("default")] });
  t.equal(state.limitsOf("default"), undefined);
  t.equal(state.tenantLimits, undefined);
});

t.test("changes set and delete limits, and replace the lenders", async (t) => {
  const state = new PolicyState();
  apply(state, {});
  const set = (id: string, revision: bigint): NonNullable<Change["change"]> => ({
    $case: "limitSet",
    value: { namespace: "shop", namespaceId: "1", limit: { limit: limit(id), revision } },
  });
  const deleted = (id: string): NonNullable<Change["change"]> => ({
    $case: "limitDeleted",
    value: { namespace: "shop", id },
  });
  change(state, set("a", 2n), set("b", 2n));
  t.same(idsOf(state.limitsOf("shop")), ["a", "b"]);
  change(state, set("a", 3n), { $case: "lenders", value: { ids: ["x", "y"], revision: 3n } });
  t.equal(state.limitsOf("shop")?.get("a")?.revision, 3n);
  t.same(state.lenders, { ids: ["x", "y"], revision: 3n });
  change(state, deleted("a"), deleted("b"));
  t.equal(state.limitsOf("shop"), undefined);
  change(state, set("a", 5n), { $case: "namespaceDeleted", value: { namespace: "shop" } });
  t.equal(state.limitsOf("shop"), undefined, "a deleted namespace has no limits");
  t.throws(() => change(state, deleted("a")), /limit "a" of shop is deleted but unknown/);
  t.equal(state.revision, undefined, "a change that does not fit ends the lease");
});

t.test("the limits of `default` for each namespace count the calls of all namespaces", async (t) => {
  const state = new PolicyState();
  const tenants = revised("tenants", Per.NAMESPACE);
  apply(state, {
    namespaces: [
      namespace("default", tenants, revised("a")),
      namespace("shop", revised("b"), revised("own", Per.NAMESPACE)),
    ],
  });
  t.same(idsOf(state.tenantLimits), ["tenants"]);
  const set = (id: string, per: Per): NonNullable<Change["change"]> => ({
    $case: "limitSet",
    value: { namespace: "default", namespaceId: "", limit: revised(id, per) },
  });
  change(state, set("tenants", Per.ACCOUNT), set("more", Per.NAMESPACE));
  t.same(idsOf(state.tenantLimits), ["more"]);
  change(state, { $case: "limitDeleted", value: { namespace: "default", id: "more" } });
  t.equal(state.tenantLimits, undefined);
});
