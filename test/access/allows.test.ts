// What a list may show: the same decision as for a call, for a caller that is already known.
import t from "tap";
import type { Caller } from "../../src/call/caller.js";
import { Callers } from "../../src/contract/endpoint.js";
import { declaring, endpointAt } from "./endpoints.js";
import { start } from "./scripted-authority.js";

const bob: Caller = {
  namespace: "default",
  account: "bob",
  scopes: ["staff"],
  expires: Number.MAX_SAFE_INTEGER,
  resources: [],
};

const rules = ["<public> granted service:open:*", "* granted service:members:*", "staff granted service:staff:*"];

const rows: readonly [what: string, caller: Caller | undefined, resource: string, allowed: boolean][] = [
  ["nobody, open to all", undefined, "service:open:Open.Call", true],
  ["nobody, for the logged-in", undefined, "service:members:Members.Call", false],
  ["an account, for the logged-in", bob, "service:members:Members.Call", true],
  ["an account, for its scope", bob, "service:staff:Staff.Call", true],
  ["an account without the scope", { ...bob, scopes: [] }, "service:staff:Staff.Call", false],
  ["an account of another namespace", { ...bob, namespace: "other" }, "service:members:Members.Call", false],
  ["within a limit", { ...bob, resources: ["*:members:*"] }, "service:members:Members.Call", true],
  ["beyond a limit", { ...bob, resources: ["*:members:*"] }, "service:open:Open.Call", false],
  ["enrolled, open to all", { ...bob, enrolment: "gateway" }, "service:open:Open.Call", true],
  ["enrolled, for the logged-in", { ...bob, enrolment: "gateway" }, "service:members:Members.Call", false],
];

t.test("allows decides without a call, as the guard decides on a call", async (t) => {
  const { guard } = await start(t, { rules, leaseMs: 30_000 });
  await guard.ready();
  for (const [what, caller, resource, allowed] of rows) {
    t.equal(guard.allows(caller, "default", endpointAt(resource)), allowed, what);
  }
  t.equal(guard.allows(bob, "default", declaring(Callers.ACCOUNT)), true);
  t.equal(guard.allows(bob, "default", declaring(Callers.ADMIN)), false);
  t.equal(guard.allows(undefined, "nowhere", endpointAt("service:open:Open.Call")), false);
});
