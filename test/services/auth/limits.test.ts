/** Limits of calls: creates, sets, lists, deletes and shows them. */
import t from "tap";
import { MAX_LIMITS } from "../../../services/auth/endpoints/limits.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService, ListAuditRequest } from "../../../src/gen/portico/auth/v1/audit.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { Limit, LimitsService, Per, ShowLimitsRequest } from "../../../src/gen/portico/auth/v1/limits.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { openStore } from "../../../src/store/open.js";
import { temporaryFolder } from "../../support/temporary.js";
import { open, openJournal, PASSWORD } from "./open.js";
import { Watch } from "./watch.js";

const limit = (fields: Partial<Limit> = {}): Limit =>
  Limit.fromPartial({ id: "ci", per: Per.ACCOUNT, rate: "100/s", ...fields });
const stored = (fields: Partial<Limit> = {}): Limit =>
  limit({ scope: "<public>", resource: "*:*:*", burst: 100n, ...fields });

t.test("limits", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const page = (pageSize: number, pageToken = "") => call(LimitsService.list, { pageSize, pageToken }, token);
  const before = Date.now();

  await t.test("are created with their defaults, and listed by ID", async (t) => {
    t.same(await call(LimitsService.create, { limit: limit() }, token), stored());
    for (const id of ["b", "a"]) await call(LimitsService.create, { limit: limit({ id }) }, token);
    const { limits, nextPageToken } = await page(0);
    t.same(
      limits.map(({ limit }) => limit),
      [stored({ id: "a" }), stored({ id: "b" }), stored()],
    );
    t.equal(nextPageToken, "");
    t.ok(
      limits.every(({ refused, since }) => refused === 0n && Number(since?.seconds) >= Math.floor(before / 1000) - 60),
    );
  });

  await t.test("are listed in pages", async (t) => {
    const first = await page(2);
    t.same(
      first.limits.map(({ limit }) => limit?.id),
      ["a", "b"],
    );
    const second = await page(2, first.nextPageToken);
    t.same(
      second.limits.map(({ limit }) => limit?.id),
      ["ci"],
    );
    t.equal(second.nextPageToken, "");
  });

  const refused: [what: string, limit: Limit | undefined, code: Code, message: RegExp][] = [
    ["a duplicate", limit(), Code.ALREADY_EXISTS, /^a limit with the ID ci exists already$/],
    ["a request without a limit", undefined, Code.INVALID_ARGUMENT, /^limit: is missing$/],
    ["a bad ID", limit({ id: "-" }), Code.INVALID_ARGUMENT, /^limit\.id: "-" must be/],
    ["a rate of zero", limit({ rate: "0/s" }), Code.INVALID_ARGUMENT, /^limit\.rate: "0\/s" must be a whole number/],
    ["an unknown unit", limit({ rate: "1/fortnight" }), Code.INVALID_ARGUMENT, /^limit\.rate: "1\/fortnight" must be/],
    ["no budget at all", limit({ rate: "" }), Code.INVALID_ARGUMENT, /^limit\.rate: is missing/],
    ["a burst over 2^31", limit({ burst: 2n ** 31n }), Code.INVALID_ARGUMENT, /^limit\.burst: must be/],
    ["nobody to share it", limit({ per: 0 }), Code.INVALID_ARGUMENT, /^limit\.per: must be account, key/],
    ["two segments", limit({ resource: "service:x" }), Code.INVALID_ARGUMENT, /^limit\.resource: /],
  ];
  for (const [what, limit, code, message] of refused) {
    await t.test(`refuse ${what}`, (t) => t.rejects(call(LimitsService.create, { limit }, token), { code, message }));
  }

  await t.test("are set in one change, which the audit trail has with the names of the fields", async (t) => {
    const set = (fields: Partial<Limit>, expected?: Limit) =>
      call(LimitsService.set, { limit: limit(fields), expected }, token);
    const changed = { rate: "5/m", burst: 9n, scope: "staff" };
    t.same(await set(changed, stored()), stored(changed));
    await t.rejects(set({ shadow: true }, stored()), {
      code: Code.ABORTED,
      message: "the limit ci was changed meanwhile; list it and try again",
    });
    await set(changed);
    await t.rejects(set({ id: "x" }), { code: Code.NOT_FOUND, message: "no limit with the ID x" });
    await t.rejects(set({ rate: "0/s" }), { code: Code.INVALID_ARGUMENT, message: /^limit\.rate: / });
    await call(LimitsService.delete, { id: "ci" }, token);
    const { records } = await call(AuditService.list, ListAuditRequest.fromPartial({ limit: 3 }), token);
    t.match(records, [
      { actor: "admin", action: "limit deleted", subject: "ci" },
      { action: "limit changed", subject: "ci: scope, rate, burst" },
      { action: "limit created", subject: "a" },
    ]);
  });

  await t.test("that do not exist cannot be deleted", (t) =>
    t.rejects(call(LimitsService.delete, { id: "x" }, token), {
      code: Code.NOT_FOUND,
      message: "no limit with the ID x",
    }),
  );
});

t.test("a guard is sent each limit in the namespace's snapshot, and each change of it", async (t) => {
  const { call, channel, login } = await open(t);
  const token = await login();
  await call(LimitsService.create, { limit: limit() }, token);
  const watch = new Watch(t, channel);
  watch.start();
  const { namespaces, revision, lenders } = await watch.next("snapshot");
  t.match(namespaces, [{ namespace: "default", limits: [{ limit: stored(), revision }] }]);
  t.same(lenders, { ids: [], revision: 0n });
  await call(LimitsService.set, { limit: limit({ shadow: true }), expected: undefined }, token);
  const set = await watch.next("changes");
  const value = { namespace: "default", limit: { limit: stored({ shadow: true }), revision: set.revision } };
  t.match(set.changes, [{ change: { $case: "limitSet", value } }]);
  await call(LimitsService.delete, { id: "ci" }, token);
  const { changes } = await watch.next("changes");
  t.match(changes, [{ change: { $case: "limitDeleted", value: { namespace: "default", id: "ci" } } }]);
});

t.test("limits survive a restart, and end with their namespace", async (t) => {
  const folder = temporaryFolder(t);
  const first = await open(t, { folder });
  const admin = await first.login();
  const { adminPassword } = await first.call(NamespacesService.create, { name: "shop" }, admin);
  await first.call(LimitsService.create, { limit: limit() }, await first.login("admin", adminPassword, "shop"));
  await first.close();
  const { call, login } = await open(t, { folder });
  const inShop = await login("admin", adminPassword, "shop");
  const list = { pageSize: 0, pageToken: "" };
  t.match((await call(LimitsService.list, list, inShop)).limits, [{ limit: stored() }]);
  t.same((await call(LimitsService.list, list, await login())).limits, [], "namespaces are apart");
  await call(NamespacesService.delete, { name: "shop" }, await login());
  const again = await call(NamespacesService.create, { name: "shop" }, await login());
  const token = await login("admin", again.adminPassword, "shop");
  t.same((await call(LimitsService.list, list, token)).limits, []);
});

t.test(`an installation has at most ${MAX_LIMITS} limits`, async (t) => {
  const folder = temporaryFolder(t);
  await (await open(t, { folder })).close();
  const store = await openStore("sqlite:", folder);
  const journal = await openJournal(store);
  const ids = Array.from({ length: MAX_LIMITS }, (_, index) => `l${index}`);
  await journal.commit(PORTICO, () =>
    ids.map((id) => ({ $case: "limitSet" as const, value: { namespace: "default", limit: stored({ id }) } })),
  );
  await journal.close();
  await store.close();
  const { call, channel, login } = await open(t, { folder });
  const token = await login();
  await t.rejects(call(LimitsService.create, { limit: limit() }, token), {
    code: Code.FAILED_PRECONDITION,
    message: "the installation has 10000 limits, the most it may; delete one",
  });
  const watch = new Watch(t, channel);
  watch.start();
  const sent: unknown[] = [];
  for (let last = false; !last; ) {
    const part = await watch.next("snapshot");
    const limits = part.namespaces.flatMap(({ limits }) => limits);
    t.ok(limits.length <= 1_500, `${limits.length} in a part`);
    sent.push(...limits.map(({ limit }) => limit?.id));
    last = part.last;
  }
  t.same(new Set(sent), new Set(ids));
  t.equal(sent.length, MAX_LIMITS);
  await call(LimitsService.delete, { id: "l7" }, token);
  t.ok(await call(LimitsService.create, { limit: limit() }, token));
});

t.test("whose limits are shown", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const admin = await opened.login();
  for (const name of ["bob", "eve"]) {
    await call(AccountsService.create, { name, password: PASSWORD, scopes: name === "bob" ? ["staff"] : [] }, admin);
  }
  const bob = await opened.login("bob");
  const { key } = await call(KeysService.create, { name: "deploy", lifetime: undefined, resources: [], from: [] }, bob);
  const prefix = key?.prefix ?? "";
  const limits: Partial<Limit>[] = [
    { id: "accounts" },
    { id: "addresses", per: Per.ADDRESS },
    { id: "everyone", per: Per.EVERYONE, resource: "service:helloworld:*" },
    { id: "keys", per: Per.KEY, scope: "*" },
    { id: "namespaces", per: Per.NAMESPACE },
    { id: "staff", scope: "staff", resource: "service:notes:*" },
  ];
  for (const fields of limits) await call(LimitsService.create, { limit: limit(fields) }, admin);
  const shownTo = async (token: string, request: Partial<ShowLimitsRequest>) => {
    const { limits } = await call(LimitsService.show, ShowLimitsRequest.fromPartial(request), token);
    return limits.map(({ limit, subject }) => `${limit?.id} ${subject}`.trim());
  };

  const cases: [what: string, token: string, request: Partial<ShowLimitsRequest>, shown: string[]][] = [
    [
      "the own account's",
      bob,
      {},
      ["accounts bob", "addresses in-process", "everyone", "namespaces default", "staff bob"],
    ],
    ["an account's", admin, { account: "eve" }, ["accounts eve", "addresses", "everyone", "namespaces default"]],
    [
      "a key's",
      bob,
      { key: "deploy" },
      ["accounts bob", "addresses", "everyone", `keys ${prefix}`, "namespaces default", "staff bob"],
    ],
    ["an address's", admin, { address: "2001:DB8::7" }, ["addresses 2001:db8:0:0", "everyone", "namespaces default"]],
    [
      "those of some calls",
      admin,
      { account: "bob", address: "192.0.2.7", resource: "service:n*:*" },
      ["accounts bob", "addresses 192.0.2.7", "namespaces default", "staff bob"],
    ],
  ];
  for (const [what, token, request, shown] of cases) {
    await t.test(what, async (t) => t.same(await shownTo(token, request), shown));
  }

  await t.test("only administrators see what applies to others", async (t) => {
    const denied = { code: Code.PERMISSION_DENIED };
    t.same((await shownTo(bob, { account: "bob" })).length, 5);
    await t.rejects(shownTo(bob, { account: "eve" }), denied);
    await t.rejects(shownTo(bob, { address: "192.0.2.7" }), denied);
    const eve = await opened.login("eve");
    await t.rejects(shownTo(eve, { key: prefix }), { code: Code.NOT_FOUND });
  });

  await t.test("a request that names nothing that exists is refused", async (t) => {
    await t.rejects(shownTo(admin, { account: "x" }), { code: Code.NOT_FOUND, message: "no account with the name x" });
    await t.rejects(shownTo(admin, { address: "x" }), {
      code: Code.INVALID_ARGUMENT,
      message: /^address: must be an IP/,
    });
    await t.rejects(shownTo(admin, { resource: "x" }), { code: Code.INVALID_ARGUMENT, message: /^resource: / });
  });

  await t.test("explained calls have the limits that count them", async (t) => {
    const explain = async (account: string, resource: string, key = "") =>
      (await call(RulesService.explain, { account, key, resource }, admin)).limits.map(({ limit, subject }) =>
        `${limit?.id} ${subject}`.trim(),
      );
    t.same(await explain("", "service:helloworld:Helloworld.Call"), ["addresses", "everyone", "namespaces default"]);
    t.same(await explain("bob", "service:notes:Notes.List", prefix), [
      ...["accounts bob", "addresses", `keys ${prefix}`, "namespaces default", "staff bob"],
    ]);
  });

  await t.test("limits of `default` for each namespace apply to callers of other namespaces", async (t) => {
    const { adminPassword } = await call(NamespacesService.create, { name: "shop" }, admin);
    const tenant = await opened.login("admin", adminPassword, "shop");
    t.same(await shownTo(tenant, {}), ["namespaces shop"]);
    await call(LimitsService.create, { limit: limit({ id: "own" }) }, tenant);
    t.same(await shownTo(tenant, {}), ["namespaces shop", "own admin"]);
  });
});
