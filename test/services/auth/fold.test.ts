/** The state that the entries of the log result in. */
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { droppedRecords, MAX_ACCOUNT_RECORDS } from "../../../services/auth/log/audit/audit-records.js";
import { fold, MAX_ACCESS, MAX_LOGINS, MAX_SPENT } from "../../../services/auth/log/state/fold.js";
import { partsOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../../services/auth/log/state/state.js";
import { PART_SCOPES } from "../../../src/contract/admin-parts.js";
import { GATEWAY } from "../../../src/contract/names.js";
import { Entry, type Event, Snapshot } from "../../../src/gen/portico/auth/log/v1/log.js";
import { Limit } from "../../../src/gen/portico/auth/v1/limits.js";
import type { Change } from "../../../src/gen/portico/auth/v1/policy.js";
import { Access } from "../../../src/gen/portico/auth/v1/rules.js";
import { ConfiguredService } from "../../../src/gen/portico/registry/v1/services.js";
import { toTimestamp } from "../../../src/time.js";
import { fc } from "../../support/properties.js";

type Events = NonNullable<Event["event"]>;

const DAY = 86_400_000;

function entryOf(time: number, ...events: Events[]): Entry {
  const entry = { time: toTimestamp(time), actor: "admin", namespace: "n0" };
  return { ...entry, events: events.map((event) => ({ event })) };
}

/** Applies an entry as read from the log, so that two states share no objects. */
function apply(state: State, entry: Entry) {
  return fold(state, Entry.decode(Entry.encode(entry).finish()));
}

/** A snapshot of the state, with its parts concatenated. */
function bytesOf(state: State): Buffer {
  const frozen = state.freeze();
  const bytes = Buffer.concat([...partsOf(frozen)]);
  frozen.release();
  return bytes;
}

async function stateOf(snapshot: Buffer): Promise<State> {
  const state = new State();
  await state.merge(Snapshot.decode(snapshot));
  return state;
}

/** The hashes of all tokens in the state. */
function tokensIn(state: State): Buffer[] {
  const { keys, logins, enrolments } = Snapshot.decode(bytesOf(state));
  const ofLogins = logins.flatMap(({ access, refresh, spent }) => [...access, ...spent, ...(refresh ? [refresh] : [])]);
  return [...keys, ...ofLogins, ...enrolments].map(({ sha256 }) => sha256);
}

const hash = (seed: string) => Buffer.from(seed.padEnd(32, "."));
const token = (seed: string, expires = 30 * DAY) => ({ sha256: hash(seed), expires: toTimestamp(expires) });
const password = { salt: hash("salt"), hash: hash("hash"), n: 2, r: 1, p: 1 };

// Only a few names, so that events affect each other.
const namespace = fc.constantFrom("n0", "n1");
const name = fc.constantFrom("a", "b", "c");
const seed = fc.integer({ min: 0, max: 9 }).map(String);
const grpcNames = fc.array(fc.constantFrom("p.A", "p.a", "p.B", "p.C"), { maxLength: 3 });
const expires = fc.integer({ min: 1, max: 40 * DAY });
const scopes = fc.array(name, { maxLength: 2 });
// Only a few limited keys, so that there are often none.
const resources = fc.integer({ min: 0, max: 5 }).map((number) => (number === 0 ? ["service:*:*"] : []));
const from = fc.constantFrom<string[]>([], [], ["192.0.2.0/24"]);
const callsOnly = fc.constantFrom(undefined, true);
const key = fc
  .record({ seed, namespace, account: name, expires, resources, from, callsOnly })
  .map(({ seed, account, ...rest }) => ({
    sha256: hash(`k${seed}`),
    prefix: `ptk_${seed}`,
    account,
    name: "key",
    created: toTimestamp(0),
    ...rest,
    expires: toTimestamp(rest.expires),
    lastUsed: undefined,
    lifetimeMs: 0n,
  }));
/** Tokens are never created twice, so each is named by the index of its entry. */
const pair = (index: number, a: number, r: number) => ({
  access: token(`a${index}`, a),
  refresh: token(`r${index}`, r),
});

const event: fc.Arbitrary<(index: number) => Events> = fc.oneof(
  fc
    .record({ namespace, account: name, a: expires, r: expires })
    .map(({ namespace, account, a, r }) => (index: number) => {
      const value = { login: hash(`r${index}`), namespace, account, ...pair(index, a, r) };
      return { $case: "loggedIn", value } satisfies Events;
    }),
  fc.record({ back: fc.nat(20), a: expires, r: expires }).map(({ back, a, r }) => (index: number) => {
    const value = { login: hash(`r${index - back}`), ...pair(index, a, r) };
    return { $case: "refreshed", value } satisfies Events;
  }),
  fc.nat(20).map((back) => (index: number) => {
    return { $case: "loginRevoked", value: { login: hash(`r${index - back}`), reused: false } } satisfies Events;
  }),
  simpleEvent().map((event) => () => event),
);

function simpleEvent(): fc.Arbitrary<Events> {
  return fc.oneof(
    fc
      .record({ name: namespace, id: fc.option(fc.uuid(), { nil: undefined }) })
      .map((value): Events => ({ $case: "namespaceCreated", value })),
    namespace.map((name): Events => ({ $case: "namespaceDeleted", value: { name } })),
    fc
      .record({ namespace, name, scopes })
      .map((value): Events => ({ $case: "accountCreated", value: { ...value, password } })),
    fc.record({ namespace, name }).map((value): Events => ({ $case: "accountDeleted", value })),
    fc.record({ namespace, name }).map((value): Events => {
      return { $case: "accountDeleted", value: { ...value, disabled: true } };
    }),
    fc.record({ namespace, name }).map((value): Events => ({ $case: "accountEnabled", value })),
    fc.record({ namespace, name, scopes }).map((value): Events => ({ $case: "scopesSet", value })),
    fc.record({ namespace, name }).map((value): Events => ({ $case: "passwordSet", value: { ...value, password } })),
    fc.record({ namespace, name }).map(({ namespace, name: id }): Events => {
      const rule = { id, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
      return { $case: "ruleCreated", value: { namespace, rule } };
    }),
    fc.record({ namespace, name }).map(({ namespace, name: id }): Events => {
      const rule = { id, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: true };
      return { $case: "disabledRuleCreated", value: { namespace, rule } };
    }),
    fc.record({ namespace, id: name }).map((value): Events => ({ $case: "ruleDeleted", value })),
    fc.record({ namespace, name, calls: fc.nat(2) }).map(({ namespace, name: id, calls }): Events => {
      return { $case: "limitSet", value: { namespace, limit: Limit.fromPartial({ id, rate: `${calls}/s` }) } };
    }),
    // Often, so that there is often no limit.
    ...[1, 2].map(() => fc.record({ namespace, id: name }).map((value): Events => ({ $case: "limitDeleted", value }))),
    fc.array(name, { maxLength: 2 }).map((ids): Events => ({ $case: "lendersSet", value: { ids } })),
    key.map((key): Events => ({ $case: "keyCreated", value: { key } })),
    key.map((key): Events => ({ $case: "restrictedKeyCreated", value: { key } })),
    seed.map((seed): Events => ({ $case: "keyRevoked", value: { sha256: hash(`k${seed}`) } })),
    fc.record({ seed, expires }).map(({ seed, expires }): Events => {
      return { $case: "keyShortened", value: { sha256: hash(`k${seed}`), expires: toTimestamp(expires) } };
    }),
    seed.map((seed): Events => {
      return { $case: "keysUsed", value: { uses: [{ sha256: hash(`k${seed}`), time: toTimestamp(1) }] } };
    }),
    fc.record({ name, seed, beside: fc.boolean() }).map(({ name, seed, beside }): Events => {
      return { $case: "enrolmentCreated", value: { name, sha256: hash(`e${name}${seed}`), beside, prefix: "" } };
    }),
    fc.record({ name, seed, all: fc.boolean() }).map(({ name, seed, all }): Events => {
      return { $case: "enrolmentDeleted", value: { name, sha256: all ? Buffer.alloc(0) : hash(`e${name}${seed}`) } };
    }),
    fc.record({ service: name, names: grpcNames }).map((value): Events => ({ $case: "grpcNamesClaimed", value })),
    fc.record({ service: name, names: grpcNames }).map((value): Events => ({ $case: "grpcNamesReleased", value })),
    seed.map((seed): Events => ({ $case: "contextSecretCreated", value: { secret: hash(`s${seed}`) } })),
  );
}

t.test("any entries give the same state, from the first entry or from a snapshot", async (t) => {
  const entries = fc.array(fc.record({ event, time: expires }), { minLength: 1, maxLength: 600, size: "max" });
  await fc.assert(
    fc.asyncProperty(entries, fc.nat(), async (list, at) => {
      const snapshotAt = at % list.length;
      const whole = new State();
      let resumed = new State();
      for (const [index, { event, time }] of list.entries()) {
        const entry = entryOf(time, event(index));
        apply(whole, entry);
        apply(resumed, entry);
        if (index === snapshotAt) resumed = await stateOf(bytesOf(resumed));
      }
      if (!knowsRestrictions(whole) || !knowsRestrictions(resumed)) return false;
      return bytesOf(whole).equals(bytesOf(resumed)) && findsItsTokens(whole, list.length);
    }),
    { numRuns: 60 },
  );
  t.pass("no counterexample");
});

t.test("a draft changes like the state would, and the state stays unchanged", async (t) => {
  const events = (maxLength: number) => fc.array(event, { maxLength, size: "max" });
  fc.assert(
    fc.property(events(100), events(40), (before, after) => {
      // With the time 0 nothing expires: a draft does not remove expired tokens.
      const [state, expected] = [new State(), new State()];
      for (const [index, event] of before.entries())
        for (const each of [state, expected]) apply(each, entryOf(0, event(index)));
      const bytes = bytesOf(state);
      const draft = state.draft();
      for (const [index, event] of after.entries()) {
        const entry = entryOf(0, event(before.length + index));
        const [drafted, folded] = [apply(draft, entry), apply(expected, entry)];
        if (!isDeepStrictEqual(drafted.records, folded.records)) return false;
        // In a draft, entries that were deleted and created again may be at another place, so that
        // changes of keys may have another order.
        if (!isDeepStrictEqual(drafted.changes.map(textOf).sort(), folded.changes.map(textOf).sort())) return false;
        if (!isDeepStrictEqual(seenIn(draft), seenIn(expected))) return false;
      }
      return bytesOf(state).equals(bytes);
    }),
    { numRuns: 30 },
  );
  t.pass("no counterexample");
});

t.test("a draft knows which restrictions its changes bring into force", async (t) => {
  const state = withAccount();
  const key = { sha256: hash("k"), prefix: "ptk_k", namespace: "n0", account: "a", name: "key", lifetimeMs: 0n };
  const limited = {
    ...key,
    created: toTimestamp(0),
    expires: toTimestamp(DAY),
    lastUsed: undefined,
    resources: ["a:*:*"],
    from: [],
  };
  const created: Events = { $case: "keyCreated", value: { key: limited } };
  const revoked: Events = { $case: "keyRevoked", value: { sha256: limited.sha256 } };
  const limitSet: Events = { $case: "limitSet", value: { namespace: "n0", limit: Limit.fromPartial({ id: "l" }) } };
  const limitDeleted: Events = { $case: "limitDeleted", value: { namespace: "n0", id: "l" } };
  const namespaceDeleted: Events = { $case: "namespaceDeleted", value: { name: "n0" } };
  apply(state, entryOf(0, created));
  const draft = state.draft();
  for (const [event, restrictions] of [
    [revoked, []],
    [created, ["limited-keys"]],
    [limitSet, ["limited-keys", "limits"]],
    [limitSet, ["limited-keys", "limits"]],
    [revoked, ["limits"]],
    [limitDeleted, []],
    [limitDeleted, []],
    [limitSet, ["limits"]],
    [namespaceDeleted, []],
  ] as const) {
    apply(draft, entryOf(0, event));
    t.same(draft.restrictions, restrictions);
  }
  t.same(state.restrictions, ["limited-keys"]);
});

/** Whether a kind of restrictions is in force exactly if there is a key or limit of that kind. */
function knowsRestrictions(state: State): boolean {
  const { keys, namespaces } = Snapshot.decode(bytesOf(state));
  const isLimited = keys.some(({ resources }) => resources.length > 0);
  const hasLimits = namespaces.some(({ limits }) => limits.length > 0);
  const hasFrom = keys.some(({ from }) => from.length > 0);
  return isDeepStrictEqual(state.restrictions, [
    ...(isLimited ? ["limited-keys"] : []),
    ...(hasLimits ? ["limits"] : []),
    ...(hasFrom ? ["key-addresses"] : []),
  ]);
}

const textOf = (change: Change): string =>
  JSON.stringify(change, (_, value) => (typeof value === "bigint" ? `${value}` : value));

/** Everything in a state that decisions may read. */
function seenIn(state: State) {
  const numbers = Array.from({ length: 140 }, (_, number) => number);
  const hashes = [
    ...numbers.flatMap((index) => [hash(`a${index}`), hash(`r${index}`)]),
    ...numbers.slice(0, 10).flatMap((seed) => [hash(`k${seed}`), ...["a", "b", "c"].map((n) => hash(`e${n}${seed}`))]),
  ];
  const namespaces = ["n0", "n1"].map((name) => ({
    accounts: [...state.accountsFrom(name)].map((account) => ({
      name: account.name,
      scopes: account.scopes,
      password: account.password,
      disabled: account.disabled,
      keys: state.keysOf(account),
      logins: account.logins.length,
      oldest: state.oldestLogin(account),
    })),
    count: state.accounts(name).length,
    rules: [...(state.namespaces.get(name)?.rules ?? [])].sort(),
    limits: state.limits.of(name).sort((a, b) => (a.limit.id < b.limit.id ? -1 : 1)),
    limit: state.limits.get(name, "a"),
    sizes: [state.namespaces.get(name)?.rules.size, state.namespaces.get(name)?.accounts.size],
    keys: numbers.slice(0, 10).map((seed) => state.keyWithPrefix(name, `ptk_${seed}`)),
  }));
  return {
    revision: state.revision,
    restrictions: state.restrictions,
    namespaces,
    present: [state.namespaces.size, ["n0", "n1"].map((name) => state.namespaces.has(name))],
    enrolments: [state.enrolments.size, ...[...state.enrolments.keys()].sort()],
    tokens: hashes.map((sha256) => [state.token(sha256), state.callerOf(sha256, 0)]),
    contextKeys: ["a", "b", "c", GATEWAY].map((name) => state.assertionKeysFor(name).sort(byName)),
    limits: [state.limits.size, state.limits.lenders],
    grpcNames: [state.grpcNames.revision, ...["a", "b", "c"].map((name) => state.grpcNames.of(name))],
    grpcOwners: ["P.A", "p.b", "p.c"].map((name) => state.grpcNames.ownerOf(name)),
  };
}

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

t.test("a configured service gets another key whenever its option `assertion` changes", async (t) => {
  const state = new State();
  const put = (assertion: boolean): Change[] => {
    const service = ConfiguredService.fromPartial({ name: "shop", options: { assertion } });
    return apply(state, entryOf(0, { $case: "servicePut", value: { service } })).changes;
  };
  const deleted = (): Change[] =>
    apply(state, entryOf(0, { $case: "serviceDeleted", value: { name: "shop" } })).changes;
  const key = (): string => state.assertionKeys("shop")[0]?.key.toString("base64") ?? "";
  apply(state, entryOf(0, { $case: "contextSecretCreated", value: { secret: hash("secret") } }));
  const keys = [key()];
  for (const change of [() => put(true), () => put(false), () => put(true), deleted, () => put(true)]) {
    const [sent, ...others] = change();
    keys.push(key());
    const value = { name: "shop", generation: BigInt(state.revision), key: Buffer.from(key(), "base64") };
    t.same(sent?.change, { $case: "contextKey", value }, "guards learn it");
    t.same(others, []);
  }
  t.equal(new Set(keys).size, keys.length, "no key is used twice");
  const last = key();
  t.same(put(true), []);
  t.equal(key(), last, "another change of the service keeps the key");
  put(false);
  const off = key();
  t.same([put(false), deleted()], [[], []]);
  t.equal(key(), off);
});

t.test("an event without a target changes nothing, and sends guards no change", async (t) => {
  const [namespace, name, rule] = [
    "n0",
    "b",
    { id: "b", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false },
  ];
  const state = withAccount();
  apply(state, entryOf(0, { $case: "ruleCreated", value: { namespace, rule: { ...rule, id: "a" } } }));
  const events: Events[] = [
    { $case: "namespaceDeleted", value: { name: "gone" } },
    { $case: "accountCreated", value: { namespace: "gone", name, scopes: [], password } },
    { $case: "accountDeleted", value: { namespace, name } },
    { $case: "scopesSet", value: { namespace, name, scopes: ["x"] } },
    { $case: "passwordSet", value: { namespace, name, password } },
    { $case: "ruleCreated", value: { namespace: "gone", rule } },
    { $case: "ruleCreated", value: { namespace, rule: { ...rule, id: "a", scope: "other" } } },
    { $case: "ruleDeleted", value: { namespace, id: "b" } },
    { $case: "limitSet", value: { namespace: "gone", limit: Limit.fromPartial({ id: "a" }) } },
    { $case: "limitSet", value: { namespace, limit: undefined } },
    { $case: "limitDeleted", value: { namespace, id: "b" } },
  ];
  const before = { ...Snapshot.decode(bytesOf(state)), revision: 0n };
  for (const event of events) {
    t.same(apply(state, entryOf(0, event)).changes, [], event.$case);
    t.same({ ...Snapshot.decode(bytesOf(state)), revision: 0n }, before, event.$case);
  }
});

/** Whether, of all tokens that the entries may have created, those in the state are found. */
function findsItsTokens(state: State, entries: number): boolean {
  const made = Array.from({ length: entries }, (_, index) => [hash(`a${index}`), hash(`r${index}`)]).flat();
  for (let seed = 0; seed < 10; seed++)
    made.push(hash(`k${seed}`), ...["a", "b", "c"].map((n) => hash(`e${n}${seed}`)));
  const present = new Set(tokensIn(state).map((sha256) => sha256.toString("hex")));
  return made.every((sha256) => (state.token(sha256) !== undefined) === present.has(sha256.toString("hex")));
}

function withAccount(): State {
  const state = new State();
  apply(
    state,
    entryOf(
      0,
      { $case: "namespaceCreated", value: { name: "n0" } },
      { $case: "accountCreated", value: { namespace: "n0", name: "a", scopes: [], password } },
    ),
  );
  return state;
}

const loggedIn = (seed: string): Events => ({
  $case: "loggedIn",
  value: { login: hash(seed), namespace: "n0", account: "a", access: token(`a${seed}`), refresh: token(`r${seed}`) },
});

t.test("the state has limits", async (t) => {
  await t.test(
    `an account has at most ${MAX_LOGINS} logins; a new one replaces the oldest, and guards are notified`,
    async (t) => {
      const state = withAccount();
      for (let count = 0; count < MAX_LOGINS; count++)
        t.same(apply(state, entryOf(0, loggedIn(`${count}`))).changes, []);
      const { changes } = apply(state, entryOf(0, loggedIn("one more")));
      t.match(changes, [{ change: { $case: "tokensRevoked", value: { sha256: [hash("a0")] } } }]);
      t.equal(state.account("n0", "a")?.logins.length, MAX_LOGINS);
      t.equal(tokensIn(state).length, 2 * MAX_LOGINS);
    },
  );

  await t.test("a login has a maximum number of access tokens and of used refresh tokens", async (t) => {
    const state = withAccount();
    apply(state, entryOf(0, loggedIn("0")));
    for (let count = 1; count <= 200; count++) {
      const value = { login: hash("0"), access: token(`a${count}`), refresh: token(`r${count}`) };
      apply(state, entryOf(0, { $case: "refreshed", value }));
    }
    const login = state.login(hash("0"));
    t.equal(login?.access.length, MAX_ACCESS);
    t.equal(login?.spent.length, MAX_SPENT);
    t.equal(tokensIn(state).length, MAX_ACCESS + MAX_SPENT + 1);
  });

  const by = (actor: string, event: Events): Entry => ({ ...entryOf(0, event), actor });
  const scopes = (...scopes: string[]): Events => ({
    $case: "scopesSet",
    value: { namespace: "n0", name: "a", scopes },
  });
  const failed: Events = {
    $case: "loginsFailed",
    value: { namespace: "n0", account: "a", address: "192.0.2.1", count: 1n, requestId: "r1" },
  };
  const recordOf = (state: State, entry: Entry) => fold(state, entry).records[0]!;

  await t.test(
    "records of failed logins, and of an account that administers nothing, use the slots of their share in turn",
    (t) => {
      const state = withAccount();
      t.equal(recordOf(state, by("portico", scopes("admin"))).slot, undefined);
      t.equal(recordOf(state, by("a", scopes("staff"))).slot, undefined, "an administrator until then");
      const slots: (string | undefined)[] = [];
      for (let count = 0; count <= MAX_ACCOUNT_RECORDS; count++)
        slots.push(recordOf(state, by("a", scopes())).slot?.key);
      t.equal(new Set(slots).size, MAX_ACCOUNT_RECORDS);
      t.equal(slots.at(-1), slots[0]);
      t.same(recordOf(state, by("quiet", scopes())).slot, { key: "slots/n0/quiet/00000", isTaken: false });
      t.same(recordOf(state, by("portico", failed)).slot, { key: "slots/failed_logins/00000", isTaken: false });
      t.same(droppedRecords(state.auditShares), [
        ["failed_logins", 0],
        ["accounts", 1],
      ]);
      t.end();
    },
  );

  await t.test("who administers a part, or some resources, does not push out own records", (t) => {
    for (const scope of [...PART_SCOPES, "admin:on:service:orders:*"]) {
      const state = withAccount();
      apply(state, by("portico", scopes("staff", scope)));
      t.match(recordOf(state, by("a", scopes())), { slot: undefined, record: { administrator: true } }, scope);
    }
    t.end();
  });

  await t.test("a snapshot has the number of records of each share", async (t) => {
    const state = withAccount();
    for (const actor of ["b", "b", "c"]) apply(state, by(actor, scopes()));
    apply(state, by("portico", failed));
    const again = await stateOf(bytesOf(state));
    t.same(
      [...again.auditShares],
      [
        ["n0/admin", 2],
        ["n0/b", 2],
        ["n0/c", 1],
        ["failed_logins", 1],
      ],
    );
  });

  await t.test("an account with the name portico is not the authority", async (t) => {
    const state = withAccount();
    apply(
      state,
      by("admin", { $case: "accountCreated", value: { namespace: "n0", name: "portico", scopes: [], password } }),
    );
    t.match(recordOf(state, by("portico", scopes())).record, { actor: "portico", administrator: false });
  });
});

t.test("expired tokens are removed in time, and not before", async (t) => {
  const state = withAccount();
  apply(state, entryOf(0, loggedIn("0")));
  const nothing: Events = { $case: "keysUsed", value: { uses: [] } };
  for (let count = 0; count < 300; count++) apply(state, entryOf(30 * DAY - 1, nothing));
  t.equal(tokensIn(state).length, 2, "not before");
  for (let count = 0; count < 300; count++) apply(state, entryOf(30 * DAY, nothing));
  t.equal(tokensIn(state).length, 0);
  t.same(state.account("n0", "a")?.logins, []);
  t.equal(state.token(hash("a0")), undefined);
});

t.test("a snapshot has the IDs of namespaces, and adds none to namespaces without an ID", async (t) => {
  const state = new State();
  apply(state, entryOf(0, { $case: "namespaceCreated", value: { name: "old" } }));
  apply(state, entryOf(0, { $case: "namespaceCreated", value: { name: "new", id: "one" } }));
  const again = await stateOf(bytesOf(state));
  t.equal(again.namespaces.get("old")?.id, undefined);
  t.equal(again.namespaces.get("new")?.id, "one");
});

t.test("an authority that does not know disabled rules has no such rule", async (t) => {
  const rule = { id: "a", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
  const disabled = { ...rule, disabled: true };
  const off: Events[] = [
    { $case: "ruleDeleted", value: { namespace: "n0", id: "a", replaced: true } },
    { $case: "disabledRuleCreated", value: { namespace: "n0", rule: disabled, replaced: rule } },
  ];
  const known = withAccount();
  const before = withAccount();
  for (const state of [known, before]) {
    apply(state, entryOf(0, { $case: "ruleCreated", value: { namespace: "n0", rule } }));
  }
  const { changes } = apply(known, entryOf(0, ...off));
  const { changes: earlier } = apply(before, entryOf(0, off[0]!));
  t.same(changes, earlier, "guards are sent the same");
  t.same(known.namespaces.get("n0")?.rules.get("a"), disabled);
  const [part] = Snapshot.decode(bytesOf(known)).namespaces.filter(({ disabledRules }) => disabledRules.length > 0);
  t.same([part?.rules, part?.disabledRules[0]?.id], [[], "a"], "nor does it read the rule in a snapshot");
  const created: Events = { $case: "ruleCreated", value: { namespace: "n0", rule: { ...rule, scope: "other" } } };
  for (const state of [known, before]) t.equal(apply(state, entryOf(0, created)).changes.length, 1);
  t.equal(known.namespaces.get("n0")?.rules.get("a")?.scope, "other", "a rule that it creates wins");
});

t.test("a state without limits has a snapshot that earlier versions read whole", async (t) => {
  const state = withAccount();
  const set: Events = { $case: "limitSet", value: { namespace: "n0", limit: Limit.fromPartial({ id: "ci" }) } };
  const without = Snapshot.decode(bytesOf(state));
  t.equal(without.lenders, undefined);
  apply(state, entryOf(0, set));
  apply(state, entryOf(0, { $case: "limitDeleted", value: { namespace: "n0", id: "ci" } }));
  const again = Snapshot.decode(bytesOf(state));
  t.same({ ...again, auditShares: [], revision: 0n }, { ...without, auditShares: [], revision: 0n });
  const read = await stateOf(bytesOf(withAccount()));
  t.same([read.limits.size, read.limits.lenders, read.restrictions], [0, { ids: [], revision: 0n }, []]);
});

t.test("the record of a limit names the fields that were changed", async (t) => {
  const state = withAccount();
  const record = (limit: Partial<Limit>) => {
    const value = { namespace: "n0", limit: Limit.fromPartial({ id: "ci", ...limit }) };
    const [placed] = apply(state, entryOf(0, { $case: "limitSet", value })).records;
    return `${placed?.record.action} ${placed?.record.subject}`;
  };
  t.equal(record({ rate: "1/s", burst: 1n }), "limit created ci");
  t.equal(record({ rate: "2/s", burst: 2n }), "limit changed ci: rate, burst");
  t.equal(record({ quota: "1/day", shadow: true }), "limit changed ci: rate, burst, quota and 1 more");
});

t.test("a draft sets and deletes limits, and the state keeps its own", async (t) => {
  const state = withAccount();
  const set = (id: string, rate = "1/s"): Events => {
    return { $case: "limitSet", value: { namespace: "n0", limit: Limit.fromPartial({ id, rate }) } };
  };
  apply(state, entryOf(0, set("a"), set("b")));
  const bytes = bytesOf(state);
  const draft = state.draft();
  apply(draft, entryOf(0, set("a", "2/s"), set("c"), { $case: "limitDeleted", value: { namespace: "n0", id: "b" } }));
  const shown = (one: State) => one.limits.of("n0").map(({ limit }) => `${limit.id} ${limit.rate}`);
  t.same(shown(draft), ["a 2/s", "c 1/s"]);
  t.equal(draft.limits.size, 2);
  t.same(shown(state), ["a 1/s", "b 1/s"]);
  t.ok(bytesOf(state).equals(bytes));
});
