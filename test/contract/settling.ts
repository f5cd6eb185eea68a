/**
 * The guarantees of several authorities on one store: when the deletion of a rule is acknowledged,
 * no guard of any authority grants by it any more, whatever happens to the other authorities.
 * Guards are scripted; the tests run on each engine of a shared store.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import type { Test } from "tap";
import { leaseSpan } from "../../services/auth/log/leases/lease-records.js";
import { Code, StatusError } from "../../src/errors.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import { Access, type Rule, RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { collectionOf } from "../../src/store/collection.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { again } from "../services/auth/again.js";
import { FaultyStore } from "../services/auth/faulty-store.js";
import { type Open, open, PASSWORD } from "../services/auth/open.js";
import { ScriptedGuard, type ScriptedGuardOptions } from "../services/auth/scripted-guard.js";
import { deferred } from "../support/deferred.js";
import { inTime, until } from "../support/until.js";

/** Long enough that a busy computer does not reach its end by chance. */
const LONG = 20_000;
export const SHORT = 1_500;
const RULE = "may";
/** The rule of `Members.grant`. */
export const GRANTING: Rule = {
  ...{ id: RULE, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false },
};

type Log = Record<string, unknown>;

/** One of the authorities. */
export interface Member extends Open {
  readonly name: string;
  readonly store: FaultyStore;
  readonly said: Log[];
  /** A guard of another process that follows this authority. */
  guard(options?: Pick<ScriptedGuardOptions, "restrictions">): ScriptedGuard;
}

/** The authorities on one store, and all their guards. */
export class Members {
  readonly guards: ScriptedGuard[] = [];
  readonly #t: Test;
  readonly #folder: string;
  readonly #openStore: () => Promise<KeyValueStore>;
  #count = 0;
  #enrolment: string | undefined;
  #token = "";

  /** @param openStore opens the store once more, as each process does */
  constructor(t: Test, openStore: () => Promise<KeyValueStore>) {
    this.#t = t;
    this.#folder = t.testdir();
    this.#openStore = openStore;
  }

  async add({ leaseMs = LONG, clock }: { leaseMs?: number; clock?: () => number } = {}): Promise<Member> {
    const t = this.#t;
    const name = `authority-${++this.#count}`;
    const folder = join(this.#folder, name);
    mkdirSync(folder, { recursive: true });
    const inner = await inTime(this.#openStore(), `${name} opens the store`);
    t.teardown(() => inTime(inner.close(), `${name} closes the store`));
    const store = new FaultyStore(inner);
    const said: Log[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => said.push(JSON.parse(line)) });
    const opening = open(t, { store, folder, leaseMs, log, name, ...(clock && { clock }) });
    const opened = await inTime(opening, () => `${name} opens; it logged ${JSON.stringify(said)}`);
    t.teardown(() => {
      store.onStep = () => undefined;
      store.reconnect();
    });
    this.#enrolment ??= await this.#enrol(opened);
    const guard: Member["guard"] = (options) => {
      const guard = new ScriptedGuard(t, opened.channel, { ...options, enrolment: this.#enrolment });
      this.guards.push(guard);
      return guard;
    };
    return { ...opened, name, store, said, guard };
  }

  async #enrol(at: Open): Promise<string> {
    this.#token = await again(() => at.login());
    const request = { name: "gateway", replace: true };
    return (await again(() => at.call(EnrolmentsService.create, request, this.#token))).secret;
  }

  get token(): string {
    return this.#token;
  }

  /** Creates the rule, and waits until each guard may decide by it. */
  async grant(at: Member, guards: readonly ScriptedGuard[] = this.guards): Promise<void> {
    await again(() => at.call(RulesService.create, { rule: GRANTING }, this.#token), Code.ALREADY_EXISTS);
    await this.granted(at, guards);
  }

  /** Waits until each guard may decide by the rule that an authority made. */
  async granted(at: Member, guards: readonly ScriptedGuard[] = this.guards): Promise<void> {
    await until(() => guards.every((guard) => guard.grants(RULE)), {
      what: () =>
        `each guard grants by the rule that ${at.name} made: ${guards.map(({ status }) => status).join("; ")}`,
    });
  }

  /**
   * Deletes the rule, and checks that no guard grants by it after the acknowledgement. Returns the
   * duration in milliseconds.
   */
  async revoke(at: Member): Promise<number> {
    let start = 0;
    const remove = () => {
      start = performance.now();
      return at.call(RulesService.delete, { id: RULE }, this.#token);
    };
    await again(remove, Code.NOT_FOUND);
    this.checkNone("its deletion");
    return performance.now() - start;
  }

  /** Checks that no guard grants by the rule when a change of it is acknowledged. */
  checkNone(change: string): void {
    const granting = this.guards.filter((guard) => guard.grants(RULE)).length;
    this.#t.equal(granting, 0, `no guard grants by the rule when ${change} is acknowledged`);
  }
}

type Check = (t: Test, members: Members) => Promise<void>;

/** Stops the authority for good at the next step with this name. Resolves when it is reached. */
function killAt(store: FaultyStore, wanted: string, t: Test): Promise<void> {
  const reached = deferred();
  const never = deferred();
  t.teardown(() => never.resolve());
  let dead = false;
  store.onStep = (step) => {
    dead ||= step === wanted;
    if (!dead) return;
    reached.resolve();
    return never.promise;
  };
  return inTime(reached.promise, `the authority comes to the step "${wanted}"`);
}

/** Stops the authority at the next step with this name, until `goOn` is called. */
function pauseAt(store: FaultyStore, wanted: string): { readonly reached: Promise<void>; goOn(): void } {
  const reached = deferred();
  const resumed = deferred();
  let once = false;
  store.onStep = (step) => {
    if (once || step !== wanted) return;
    once = true;
    reached.resolve();
    return resumed.promise;
  };
  return {
    reached: inTime(reached.promise, `the authority comes to the step "${wanted}"`),
    goOn: () => resumed.resolve(),
  };
}

const BEHAVIOURS: Record<string, Check> = {
  "a deletion is acknowledged when the guards at all authorities have applied it, and no sooner": async (
    t,
    members,
  ) => {
    const all = [await members.add(), await members.add(), await members.add()];
    for (const member of all) for (let guard = 0; guard < 2; guard++) member.guard();
    await members.grant(all[0]!);
    for (const member of all) {
      const slow = members.guards.at(-1)!;
      slow.stuck = true;
      let acknowledged = false;
      const deleting = members.revoke(member).then((took) => {
        acknowledged = true;
        return took;
      });
      await until(() => members.guards.every((guard) => guard === slow || !guard.rules.has(RULE)));
      await sleep(100);
      t.notOk(acknowledged, "a guard has not applied it yet");
      slow.goOn();
      t.ok((await deleting) < LONG / 2);
      await members.grant(member);
    }
  },
  "a deletion is acknowledged even if no notification arrives": async (t, members) => {
    const all = [await members.add(), await members.add(), await members.add()];
    for (const { store } of all) store.isDeaf = true;
    for (const member of all) member.guard();
    await members.grant(all[1]!);
    t.ok((await members.revoke(all[0]!)) < LONG / 2);
  },
  "a deletion waits for a silent guard of another authority until its lease has expired": async (t, members) => {
    const [here, there] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    const guard = there.guard();
    await members.grant(here);
    const said = () => there.said.find(({ msg }) => `${msg}`.startsWith("a guard did not apply a change"));
    guard.stuck = true;
    await members.revoke(here);
    await until(() => said() !== undefined, { what: () => `a guard is named; logged: ${JSON.stringify(there.said)}` });
    t.match(said(), { guard: "gateway" }, "its authority names it");
  },
  "a deletion waits for a lease of another authority for that lease's own length": async (t, members) => {
    const [short, long] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: 3 * SHORT })];
    const guard = long.guard();
    await members.grant(short);
    long.store.isCut = true;
    guard.stuck = true;
    t.ok((await members.revoke(short)) > 1.5 * SHORT);
  },
  "an authority that cannot reach its database stops granting, and recovers by itself": async (t, members) => {
    const [here, cut] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    const guard = cut.guard();
    await members.grant(here);
    cut.store.isCut = true;
    t.ok((await members.revoke(here)) < leaseSpan(SHORT) + 10_000, "is waited for, at most a span");
    await until(() => !guard.decides && guard.ended !== undefined);
    t.match(guard.ended, { code: Code.UNAVAILABLE }, "sends its guards away");
    await t.rejects(cut.login(), { code: Code.UNAVAILABLE }, "changes nothing");
    await sleep(SHORT);
    const said = () => cut.said.map(({ msg }) => `${msg}`).filter((text) => text.startsWith("the store"));
    t.same(said(), ["the store does not respond: guards get no leases"], "and says so once");
    cut.store.reconnect();
    await until(() => guard.decides, { what: () => `the guard decides again: ${guard.status}` });
    t.match(said()[1], /^the store responds again, after \d+ s/, "and comes back by itself");
    t.notOk(guard.rules.has(RULE));
  },
  "an authority that reads from a replaced database server grants nothing": async (t, members) => {
    const [here, behind] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    behind.guard();
    await members.grant(here);
    await behind.store.demote();
    await members.revoke(here);
    const end = performance.now() + SHORT;
    const late = behind.guard();
    while (performance.now() < end && !late.decides && !members.guards.some((guard) => guard.grants(RULE))) {
      await sleep(20);
    }
    t.ok(performance.now() >= end, "for as long as it lasts");
    behind.store.reconnect();
    await until(() => late.decides, { what: () => `the guard decides again: ${late.status}` });
  },
  "a pong has the revision of a change that was made before its lease record was renewed": async (t, members) => {
    const [here, other] = [await members.add(), await members.add()];
    const guard = other.guard();
    await members.grant(here);
    await guard.silence();
    guard.forgetLease();
    // It can learn of the change only by its own reading of the log.
    other.store.isDeaf = true;
    const { reached, goOn } = pauseAt(other.store, "before commit claims");
    guard.ping();
    await reached;
    // Without a lease record no authority waits for it.
    await collectionOf(here.store, "grantors").delete(await collectionOf(here.store, "grantors").keys());
    await members.revoke(here);
    goOn();
    await until(() => guard.leased.size > 0, { what: () => `the guard gets a lease: ${guard.status}` });
    t.notOk(guard.leased.has(RULE));
  },
  "a restriction is refused while a guard of another authority does not understand it": async (t, members) => {
    const [here, there] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    const old = there.guard({ restrictions: [] });
    await until(() => old.decides, { what: () => `the guard decides: ${old.status}` });
    const request = { name: "deploy", lifetime: undefined, resources: ["service:orders:*"], from: [] };
    const limit = () => again(() => here.call(KeysService.create, request, members.token));
    /**
     * Tries again while an error says that a guard does not understand it. A guard that has left is
     * reported for a moment more.
     */
    const create = async (): Promise<void> => {
      for (let isRefused = true; isRefused; ) {
        isRefused = await limit().then(
          () => false,
          (error: StatusError) => {
            if (error.code !== Code.FAILED_PRECONDITION) throw error;
            return true;
          },
        );
      }
    };
    await t.rejects(limit(), { code: Code.FAILED_PRECONDITION, message: /: gateway at the authority authority-2\./ });
    // It gets its lease after the question: its authority reports it only then.
    old.leave();
    const { reached, goOn } = pauseAt(here.store, "before commit log");
    const creating = create();
    await reached;
    const late = there.guard({ restrictions: [] });
    await until(() => late.decides, { what: () => `the late guard decides: ${late.status}` });
    goOn();
    await creating;
    t.notOk(late.decides, "is created when the guard has no lease any more, though it has applied the revision");
    await until(() => (late.ended as StatusError)?.code === Code.FAILED_PRECONDITION, { what: () => late.status });
    t.match(late.ended, { message: /^this guard gets no lease: .*\(limited-keys\)/ });
    const understanding = there.guard();
    await until(() => understanding.decides, { what: () => `another guard decides: ${understanding.status}` });
  },
  "each authority knows the number of authorities": async (t, members) => {
    const all = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT }), await members.add()];
    const know = (some: readonly Member[], count: number) =>
      until(() => some.every(({ authority }) => authority.count() === count), {
        what: () => `each counts ${count} authorities: ${some.map(({ authority }) => authority.count()).join(", ")}`,
      });
    await know(all, 3);
    const [here, killed, stopping] = all as [Member, Member, Member];
    await stopping.close();
    await know([here, killed], 2);
    await killAt(killed.store, "before commit claims", t);
    await know([here], 1);
  },
  "an authority that stops leaves nothing to wait for": async (t, members) => {
    const [here, stopping] = [await members.add(), await members.add()];
    const guard = stopping.guard();
    await members.grant(here);
    guard.leave();
    await until(() => guard.ended !== undefined);
    await stopping.close();
    t.ok((await members.revoke(here)) < LONG / 2);
  },
  "an authority with another history than the store's grants nothing": async (t, members) => {
    const [here, other] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    const guard = other.guard();
    await members.grant(here);
    // The newest entry is lost in a failover, and another one takes its place: `other` has applied
    // the lost one.
    const log = collectionOf(here.store, "log");
    const [last, text] = (await log.after("", 1e6)).at(-1)!;
    await here.close();
    await log.delete([last]);
    const after = await members.add({ leaseMs: SHORT });
    t.not(await log.get(last), text);
    const lost = /has lost changes: it does not hold revision \d+/;
    const said = () => other.said.filter(({ level, msg }) => level === 50 && lost.test(`${msg}`));
    const status = () => `${guard.status}; its authority logged ${JSON.stringify(other.said)}`;
    await until(() => said().length > 0 && !guard.decides, { what: () => `the guard has no lease: ${status()}` });
    await until(() => guard.ended !== undefined);
    t.match(guard.ended, { code: Code.UNAVAILABLE });
    await t.rejects(other.login(), { code: Code.UNAVAILABLE });
    const before = performance.now();
    await again(() => after.login());
    t.ok(performance.now() - before < LONG / 2);
    const late = other.guard();
    await until(() => late.ended !== undefined);
    t.notOk(late.decides || guard.decides, "and grants nothing, until it is started again");
    t.equal(said().length, 1, "says so once");
  },
  "if two authorities get the same refresh token, only one accepts it": async (t, members) => {
    const [here, other] = [await members.add(), await members.add()];
    for (let round = 0; round < 5; round++) {
      const { refreshToken } = await here.call(AuthService.login, {
        account: "admin",
        password: PASSWORD,
        namespace: "",
      });
      const results = await Promise.allSettled(
        [here, other].map(({ call }) => call(AuthService.refresh, { refreshToken })),
      );
      t.same(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
      t.match(
        results.find(({ status }) => status === "rejected"),
        { reason: { code: Code.UNAUTHENTICATED } },
      );
    }
  },
  "changes made at all authorities at once are applied at all of them": async (t, members) => {
    const all = [await members.add(), await members.add(), await members.add()];
    for (const member of all) for (let guard = 0; guard < 3; guard++) member.guard();
    const rule = (id: string) => ({
      id,
      scope: "*",
      access: Access.GRANTED,
      resource: "*:*:*",
      priority: 0,
      disabled: false,
    });
    const work = async (member: Member, name: string): Promise<void> => {
      for (let change = 0; change < 5; change++) {
        const id = `${name}-${change}`;
        await member.call(RulesService.create, { rule: rule(id) }, members.token);
        t.equal(members.guards.filter(({ decides, rules }) => decides && !rules.has(id)).length, 0, `${id} created`);
        await member.call(RulesService.delete, { id }, members.token);
        t.equal(members.guards.filter((guard) => guard.grants(id)).length, 0, `${id} deleted`);
      }
    };
    const statuses = () => members.guards.map(({ status }) => status).join("; ");
    await until(() => members.guards.every(({ decides }) => decides), {
      what: () => `each guard decides: ${statuses()}`,
    });
    await Promise.all(all.flatMap((member, index) => [work(member, `a${index}`), work(member, `b${index}`)]));
    const lists = await Promise.all(
      all.map(({ call }) => call(RulesService.list, { pageSize: 0, pageToken: "" }, members.token)),
    );
    t.same(lists[1], lists[0]);
    t.same(lists[2], lists[0]);
  },
  "all authorities use the time of the clock that is ahead": async (_t, members) => {
    const ahead = 30_000;
    await members.add({ leaseMs: SHORT, clock: () => Date.now() + ahead });
    const behind = await members.add({ leaseMs: SHORT });
    const expiry = async (): Promise<number> => {
      const credentials = { account: "admin", password: PASSWORD, namespace: "" };
      const { accessExpires } = await again(() => behind.call(AuthService.login, credentials));
      return Number(accessExpires!.seconds) * 1000;
    };
    await until(async () => (await expiry()) > Date.now() + 60 * 60_000 + ahead / 2);
  },
};

/**
 * The steps at which an authority can be killed or stopped, while it grants a lease and while it
 * makes a change.
 */
const STEPS = {
  ping: ["before commit claims", "after commit claims", "before range log", "after range log"],
  change: ["before commit log", "after commit log", "before range claims", "after range claims"],
};

for (const step of STEPS.ping) {
  BEHAVIOURS[`an authority killed ${step}, while it grants a lease, is waited for once`] = async (t, members) => {
    const [here, dead] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    dead.guard();
    await members.grant(here);
    await killAt(dead.store, step, t);
    await members.revoke(here);
    const later: number[] = [];
    // If the computer delays the process, one of them may still take long.
    for (let change = 0; change < 5 && Math.min(...later) >= SHORT; change++) {
      await members.grant(here, []);
      later.push(await members.revoke(here));
    }
    t.ok(Math.min(...later) < SHORT, "a later change does not wait for it");
    await until(async () => (await collectionOf(here.store, "grantors").keys()).length <= 2);
  };
  BEHAVIOURS[`an authority stopped ${step}, and resumed after a change, grants nothing that the change removed`] =
    async (t, members) => {
      const [here, stopped] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
      const guard = stopped.guard();
      await members.grant(here);
      await guard.silence();
      const { reached, goOn } = pauseAt(stopped.store, step);
      guard.ping();
      await reached;
      // Nothing else informs the guard of the deletion.
      guard.stuck = true;
      await members.revoke(here);
      goOn();
      const end = performance.now() + SHORT;
      while (performance.now() < end) {
        if (guard.grants(RULE)) t.fail("the guard grants by a deleted rule");
        await sleep(5);
      }
    };
}

for (const step of STEPS.change) {
  BEHAVIOURS[`an authority killed ${step}, while it makes a change, does not affect the others`] = async (
    t,
    members,
  ) => {
    const [here, dead] = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    here.guard();
    dead.guard();
    await members.grant(here);
    const killed = killAt(dead.store, step, t);
    const deleting = dead.call(RulesService.delete, { id: RULE }, members.token).catch((error: unknown) => error);
    await killed;
    const outcome = await members.revoke(here).catch((error: unknown) => error);
    if (outcome instanceof StatusError) t.equal(outcome.code, Code.NOT_FOUND, "it was deleted before the kill");
    await members
      .grant(here, [members.guards[0]!])
      .catch((error: StatusError) => t.equal(error.code, Code.ALREADY_EXISTS));
    await members.revoke(here);
    void deleting;
  };
}

/**
 * @param openStore returns a function that opens one shared store, empty at first, once for each
 * authority
 * @param options `allSteps: false` kills and stops authorities only at the first step of each kind
 */
export function settlingContract(
  t: Test,
  openStore: (t: Test) => Promise<() => Promise<KeyValueStore>>,
  { allSteps = true } = {},
): void {
  const later = [...STEPS.ping.slice(1), ...STEPS.change.slice(1)];
  for (const [behaviour, check] of Object.entries(BEHAVIOURS)) {
    if (!allSteps && later.some((step) => behaviour.includes(` ${step},`))) continue;
    t.test(behaviour, async (t) => check(t, new Members(t, await openStore(t))));
  }
}
