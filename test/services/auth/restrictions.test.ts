/**
 * A restriction comes into force only if every guard with a lease understands it. While it is in
 * force, other guards get no lease.
 */
import t, { type Test } from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { KEY_ADDRESSES, LIMITED_KEYS, LIMITS, RESTRICTIONS } from "../../../src/access/decide/restrictions.js";
import { Code, type StatusError } from "../../../src/errors.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { Limit, LimitsService, Per } from "../../../src/gen/portico/auth/v1/limits.js";
import { openStore } from "../../../src/store/open.js";
import { deferred } from "../../support/deferred.js";
import { temporaryFolder } from "../../support/temporary.js";
import { again } from "./again.js";
import { FaultyStore } from "./faulty-store.js";
import { type Open, open, openJournal } from "./open.js";
import { Watch } from "./watch.js";

const LEASE = 600;
/** So long that it does not end by chance. */
const LONG = 20_000;
const LIMITED = { name: "deploy", lifetime: undefined, resources: ["service:orders:*"], from: [] as string[] };
const noLease = (kind: string) => ({
  code: Code.FAILED_PRECONDITION,
  message: new RegExp(`^this guard gets no lease: .* does not understand \\(${kind}\\); upgrade it, or delete them$`),
});

interface Setting extends Open {
  /**
   * A guard of another process that has received the rules, and understands the given restrictions.
   */
  guard(restrictions?: readonly string[]): Watch;
  create(request?: typeof LIMITED): Promise<string>;
  revoke(prefix: string): Promise<unknown>;
  /** Creates a limit; resolves to its ID. */
  createLimit(): Promise<string>;
  deleteLimit(): Promise<unknown>;
}

async function setting(t: Test, options: Parameters<typeof open>[1]): Promise<Setting> {
  const opened = await open(t, options);
  const token = await again(() => opened.login());
  const enrolment = { name: "shop", replace: false };
  const { secret } = await again(() => opened.call(EnrolmentsService.create, enrolment, token));
  return {
    ...opened,
    guard(restrictions) {
      const watch = new Watch(t, opened.channel, secret, restrictions);
      watch.start();
      return watch;
    },
    create: async (request = LIMITED) =>
      (await again(() => opened.call(KeysService.create, request, token))).key?.prefix ?? "",
    createLimit: async () => {
      const limit = Limit.fromPartial({ id: "ci", per: Per.EVERYONE, concurrent: 1 });
      return (await again(() => opened.call(LimitsService.create, { limit }, token))).id;
    },
    deleteLimit: () => again(() => opened.call(LimitsService.delete, { id: "ci" }, token)),
    revoke: (prefix) => again(() => opened.call(KeysService.revoke, { prefix }, token)),
  };
}

t.test("no restriction is created while a guard with a lease does not understand it", async (t) => {
  const { guard, create } = await setting(t, { leaseMs: LONG });
  const old = guard([]);
  await old.ping();
  await t.rejects(create(), {
    code: Code.FAILED_PRECONDITION,
    message:
      "resources: a key that is limited to them cannot be created while this runs in a version that does not understand " +
      "limited-keys: shop. Upgrade it, or stop it, and try again once its lease has run out",
  });
  t.ok(await create({ ...LIMITED, resources: [] }), "a key without limits is");
  old.end();
  // The stream ends when the authority has read that the guard makes no more decisions.
  await t.rejects(old.next("pong"));
  t.ok(await create(), "and a limited one once the guard has left");
});

t.test("a guard that has not said yet what it understands holds nothing up: it gets no lease before", async (t) => {
  const { channel, create } = await setting(t, { leaseMs: LONG });
  new Watch(t, channel);
  t.ok(await create());
});

t.test("a guard whose connection broke counts until its lease has ended", async (t) => {
  const { guard, create } = await setting(t, { leaseMs: LEASE });
  const old = guard([]);
  const pinged = performance.now();
  await old.ping();
  old.cancel();
  const isRefused = async (): Promise<boolean> => {
    try {
      await create();
      return false;
    } catch (error) {
      if ((error as StatusError).code !== Code.FAILED_PRECONDITION) throw error;
      return true;
    }
  };
  while (await isRefused());
  const waited = performance.now() - pinged;
  t.ok(waited >= LEASE, `${waited} ms`);
});

for (const kind of RESTRICTIONS) {
  t.test(`while ${kind} are in force, a guard that does not understand them gets no lease`, async (t) => {
    const { guard, create, revoke, createLimit, deleteLimit } = await setting(t, { leaseMs: LONG });
    const limits = kind === KEY_ADDRESSES ? { resources: [], from: ["192.0.2.0/24"] } : {};
    const prefix = kind === LIMITS ? await createLimit() : await create({ ...LIMITED, ...limits });
    const others = RESTRICTIONS.filter((other) => other !== kind);
    await t.rejects(guard([]).first(), noLease(kind));
    await t.rejects(guard([...others, "another kind"]).first(), noLease(kind));
    const understanding = guard([kind, "another kind"]);
    t.match(await understanding.ping(), { leaseMs: BigInt(LONG) });
    understanding.end();
    await (kind === LIMITS ? deleteLimit() : revoke(prefix));
    t.match(await guard([]).ping(), { leaseMs: BigInt(LONG) }, "and gets one when they are gone");
  });
}

t.test("no limit is created while a guard with a lease does not understand limits", async (t) => {
  const { guard, createLimit } = await setting(t, { leaseMs: LONG });
  const old = guard([LIMITED_KEYS]);
  await old.ping();
  await t.rejects(createLimit(), {
    code: Code.FAILED_PRECONDITION,
    message:
      /^a limit of calls cannot be created while this runs in a version that does not understand limits: shop\. /,
  });
  old.end();
  await t.rejects(old.next("pong"));
  t.ok(await createLimit(), "and is when the guard has left");
});

t.test("no key for some addresses is created while a guard with a lease does not understand them", async (t) => {
  const { guard, create } = await setting(t, { leaseMs: LONG });
  const old = guard([LIMITED_KEYS, LIMITS]);
  await old.ping();
  await t.rejects(create({ ...LIMITED, resources: [], from: ["192.0.2.7"] }), {
    code: Code.FAILED_PRECONDITION,
    message: /^from: a key that is limited to addresses cannot be created while this runs in a version that does not/,
  });
  old.end();
  await t.rejects(old.next("pong"));
  t.ok(await create({ ...LIMITED, resources: [], from: ["192.0.2.7"] }), "and is when the guard has left");
});

t.test("a guard that does not understand limits is not sent the lenders, which would end its lease", async (t) => {
  const folder = temporaryFolder(t);
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  const { guard } = await setting(t, { store, folder, leaseMs: LONG });
  const [old, understanding] = [guard([LIMITED_KEYS]), guard(RESTRICTIONS)];
  for (const watch of [old, understanding]) await watch.ping();
  const journal = await openJournal(store);
  await journal.commit(PORTICO, () => [{ $case: "lendersSet", value: { ids: ["a", "b"] } }]);
  for (const watch of [old, understanding]) watch.sendPing();
  const { revision, changes } = await understanding.next("changes");
  t.match(changes, [{ change: { $case: "lenders", value: { ids: ["a", "b"], revision } } }]);
  const sent = await old.next("changes");
  t.same([sent.revision, sent.changes], [revision, []]);
});

t.test("a restriction waits for a guard that got a lease just before, whatever that guard has applied", async (t) => {
  const folder = temporaryFolder(t);
  const inner = await openStore("sqlite:", folder);
  t.teardown(() => inner.close());
  const store = new FaultyStore(inner);
  const { guard, create } = await setting(t, { store, folder, leaseMs: LEASE });
  const [reached, written] = [deferred(), deferred()];
  store.onStep = (step) => {
    if (step !== "before commit log") return;
    reached.resolve();
    return written.promise;
  };
  const creating = create();
  await reached.promise;
  const old = guard([]);
  const pinged = performance.now();
  const { revision } = await old.ping();
  old.applied(revision);
  written.resolve();
  const { revision: created } = await old.next("changes");
  t.equal(created, revision + 1n);
  old.applied(created);
  await t.rejects(old.ping(), noLease(LIMITED_KEYS));
  await creating;
  const waited = performance.now() - pinged;
  t.ok(waited >= LEASE, `${waited} ms`);
});
