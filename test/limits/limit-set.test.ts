/** Which limits count a call. */
import t from "tap";
import { parsePattern } from "../../src/contract/resource.js";
import { Limit, Per } from "../../src/gen/portico/auth/v1/limits.js";
import { LimitSet } from "../../src/limits/limit-set.js";

const { ACCOUNT, KEY, ADDRESS, EVERYONE } = Per;
const call = parsePattern("service:helloworld:helloworld.call");
const other = parsePattern("service:notes:notes.list");

/** Limits by ID: their scope, resource and `per`. */
const LIMITS: Readonly<Record<string, readonly [scope: string, resource: string, per: Per]>> = {
  all: ["<public>", "*:*:*", EVERYONE],
  addresses: ["<public>", "service:helloworld:*", ADDRESS],
  accounts: ["<public>", "*:*:*", ACCOUNT],
  "logged-in": ["*", "service:HelloWorld:Helloworld.C*", ADDRESS],
  keys: ["*", "*:*:*", KEY],
  staff: ["staff", "*:*:*", EVERYONE],
  "staff-hello": ["staff", "service:helloworld:*", ACCOUNT],
  ops: ["ops", "*:*:*", EVERYONE],
  elsewhere: ["<public>", "service:lists:*", EVERYONE],
};

function setOf(ids: readonly string[] = Object.keys(LIMITS)): LimitSet {
  const set = new LimitSet();
  for (const id of ids) {
    const [scope, resource, per] = LIMITS[id]!;
    set.set({ limit: Limit.fromPartial({ id, scope, resource, per, rate: "1/s" }), revision: 1n });
  }
  return set;
}

t.test("limits count a call by its resource, and by the scopes and the account of its caller", async (t) => {
  const cases: [resource: typeof call, scopes: string[] | undefined, hasAccount: boolean, ids: string[]][] = [
    [call, undefined, false, ["addresses", "all"]],
    [call, [], true, ["accounts", "addresses", "all", "keys", "logged-in"]],
    [call, ["staff"], true, ["accounts", "addresses", "all", "keys", "logged-in", "staff", "staff-hello"]],
    [
      call,
      ["staff", "x", "staff"],
      true,
      ["accounts", "addresses", "all", "keys", "logged-in", "staff", "staff-hello"],
    ],
    // A service that calls for itself has a scope, and no account.
    [call, ["ops"], false, ["addresses", "all", "logged-in", "ops"]],
    [other, ["staff"], true, ["accounts", "all", "keys", "staff"]],
    [other, undefined, false, ["all"]],
  ];
  const set = setOf();
  for (const round of ["first", "remembered"]) {
    for (const [resource, scopes, hasAccount, ids] of cases) {
      const found = set.matching(resource, scopes, hasAccount).map(({ limit }) => limit.id);
      t.same(found.sort(), ids, `${resource.name} ${scopes} ${hasAccount}, ${round}`);
    }
  }
});

t.test("a limit counts from when it is set until it is deleted", async (t) => {
  const set = setOf(["all"]);
  const ids = () => set.matching(call, undefined, false).map(({ limit, revision }) => `${limit.id} ${revision}`);
  t.same(ids(), ["all 1"]);
  const changed = Limit.fromPartial({ id: "all", scope: "<public>", resource: "service:notes:*", per: EVERYONE });
  set.set({ limit: changed, revision: 2n });
  t.same(ids(), [], "its resource is another now");
  set.set({ limit: { ...changed, resource: "service:h*:*" }, revision: 3n });
  t.same(ids(), ["all 3"]);
  t.equal(set.size, 1);
  t.equal(set.delete("all"), true);
  t.equal(set.delete("all"), false);
  t.same(ids(), []);
  t.equal(set.size, 0);
});

t.test("a call that only limits for everyone count, or none, makes no list", async (t) => {
  const set = setOf(["all", "accounts"]);
  t.equal(set.matching(call, ["staff"], true), set.matching(call, [], true));
  t.equal(set.matching(call, undefined, false), set.matching(call, undefined, false));
  const elsewhere = setOf(["elsewhere", "staff"]);
  t.equal(elsewhere.matching(call, ["ops"], true), new LimitSet().matching(call, [], true));
});
