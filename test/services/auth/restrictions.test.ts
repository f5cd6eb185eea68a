/**
 * A restriction comes into force only if every guard with a lease understands it. While it is in
 * force, other guards get no lease.
 */
import t, { type Test } from "tap";
import { Code, type StatusError } from "../../../src/errors.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { openStore } from "../../../src/store/open.js";
import { deferred } from "../../support/deferred.js";
import { temporaryFolder } from "../../support/temporary.js";
import { again } from "./again.js";
import { FaultyStore } from "./faulty-store.js";
import { type Open, open } from "./open.js";
import { Watch } from "./watch.js";

const LEASE = 600;
/** So long that it does not end by chance. */
const LONG = 20_000;
const LIMITED = { name: "deploy", lifetime: undefined, resources: ["service:orders:*"] };
const NO_LEASE = {
  code: Code.FAILED_PRECONDITION,
  message: /^this guard gets no lease: .* does not understand \(limited-keys\); upgrade it, or delete them$/,
};

interface Setting extends Open {
  /**
   * A guard of another process that has received the rules, and understands the given restrictions.
   */
  guard(restrictions?: readonly string[]): Watch;
  create(request?: typeof LIMITED): Promise<string>;
  revoke(prefix: string): Promise<unknown>;
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

t.test("while a restriction is in force, a guard that does not understand it gets no lease", async (t) => {
  const { guard, create, revoke } = await setting(t, { leaseMs: LONG });
  const prefix = await create();
  await t.rejects(guard([]).first(), NO_LEASE);
  await t.rejects(guard(["another kind"]).first(), NO_LEASE);
  const understanding = guard(["limited-keys", "another kind"]);
  t.match(await understanding.ping(), { leaseMs: BigInt(LONG) });
  understanding.end();
  await revoke(prefix);
  t.match(await guard([]).ping(), { leaseMs: BigInt(LONG) }, "and gets one when it is gone");
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
  await t.rejects(old.ping(), NO_LEASE);
  await creating;
  const waited = performance.now() - pinged;
  t.ok(waited >= LEASE, `${waited} ms`);
});
