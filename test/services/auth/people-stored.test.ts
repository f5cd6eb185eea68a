// People, their links and used attempts are the same after a restart, from log and snapshot.
import t from "tap";
import { fold } from "../../../services/auth/log/state/fold.js";
import { formatOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../../services/auth/log/state/state.js";
import { hashToken } from "../../../src/call/token.js";
import type { Event } from "../../../src/gen/portico/auth/log/v1/log.js";
import { toTimestamp } from "../../../src/time.js";
import { restored } from "./restored.js";

type LogEvent = NonNullable<Event["event"]>;

const NOW = Date.parse("2026-01-01T00:00:00Z");
const ANN = { namespace: "default", issuer: "company", subject: "1 of company" };
const UNSET = { scopes: [], created: undefined, read: undefined, refreshToken: "", revision: 0n, reading: "" };
const SIGN_IN = {
  ...{ clientId: "portico", accountClaim: "email", trustClaim: false, groupsClaim: "groups", map: [] },
  ...{ createAccounts: true, mayAdminister: false },
};
const ISSUER = { namespace: "default", name: "company", url: "https://a.example", created: undefined };
const signedIn = (scopes: string[], attempt: string, refreshToken = "r"): LogEvent => ({
  $case: "personSignedIn",
  value: {
    ...{ ...ANN, scopes, refreshToken, attemptSha256: hashToken(attempt) },
    attemptExpires: toTimestamp(NOW + 600_000),
  },
});
const EVENTS: LogEvent[] = [
  { $case: "namespaceCreated", value: { name: "default", id: undefined } },
  { $case: "accountCreated", value: { namespace: "default", name: "ann", scopes: ["own"], password: undefined } },
  { $case: "issuerCreated", value: { issuer: { ...ISSUER, signIn: SIGN_IN, clientSecret: "s" } } },
  { $case: "personLinked", value: { link: { ...ANN, account: "ann", ...UNSET } } },
  signedIn(["employee", "own"], "first"),
];

function apply(state: State, ...events: LogEvent[]): void {
  fold(state, {
    ...{ time: toTimestamp(NOW), actor: "portico", namespace: "default" },
    events: events.map((event) => ({ event })),
  });
}

async function states(...more: LogEvent[]): Promise<Record<string, State>> {
  const [state, base] = [new State(), new State()];
  for (const one of [state, base]) apply(one, ...EVENTS, ...more);
  return { log: state, draft: base.draft(), snapshot: await restored(state) };
}

t.test("when the logins of an account ended is in the log, a draft and a snapshot", async (t) => {
  const ended = { namespace: "default", name: "ann", password: undefined, unchanged: true } as const;
  for (const [what, one] of Object.entries(await states({ $case: "passwordSet", value: ended }))) {
    t.equal(one.account("default", "ann")?.loginsEnded, BigInt(one.revision), what);
  }
});

t.test("a person, from the log, a draft and a snapshot", async (t) => {
  for (const [what, state] of Object.entries(await states())) {
    t.match(state.people.link(ANN), { account: "ann", scopes: ["employee"], refreshToken: "r", revision: 1n }, what);
    t.same(state.account("default", "ann")?.scopes, ["own", "employee"], what);
    t.match(state.trusts.issuer("default", "company"), { signIn: { clientId: "portico" }, clientSecret: "s" }, what);
    t.ok(state.people.isUsed(hashToken("first")), what);
    apply(state, signedIn([], "first"));
    t.same(state.account("default", "ann")?.scopes, ["own", "employee"], "an attempt counts once");
    apply(state, { $case: "personLinked", value: { link: { ...ANN, account: "bob", ...UNSET } } });
    t.equal(state.people.link(ANN)?.account, "ann", "a person stays with the first account");
    apply(state, signedIn([], "second", ""));
    t.same(state.account("default", "ann")?.scopes, ["own"], what);
    t.equal(state.people.link(ANN)?.refreshToken, "r", "kept where the issuer sends no new one");
  }
  const { log: state } = await states();
  const frozen = state!.freeze();
  t.equal(formatOf(frozen), 3, "an earlier version would lose who is who");
  frozen.release();
});

t.test("a reading goes on until it ends, or a sign-in brings another refresh token", async (t) => {
  const reading = (id: string): LogEvent => ({ $case: "personReading", value: { ...ANN, reading: id } });
  for (const [what, state] of Object.entries(await states(reading("one")))) {
    const now = () => state.people.link(ANN)?.reading;
    t.equal(now(), "one", what);
    apply(state, { $case: "personRead", value: { ...ANN, scopes: [], refreshToken: "", notAsked: true } });
    t.equal(now(), "one", "a configuration was applied");
    apply(state, signedIn([], "second", ""));
    t.equal(now(), "one", "a sign-in without a refresh token");
    apply(state, signedIn([], "third", "other"));
    t.equal(now(), "");
    apply(state, reading("two"), reading(""));
    t.equal(now(), "");
  }
});

t.test("when a person was last read is not moved by a configuration, for which no issuer is asked", async (t) => {
  for (const [what, state] of Object.entries(await states())) {
    const read = (notAsked: boolean) => {
      const value = { ...ANN, scopes: [], refreshToken: "", notAsked };
      fold(state, {
        ...{ time: toTimestamp(NOW + 60_000), actor: "portico", namespace: "default" },
        events: [{ event: { $case: "personRead", value } }],
      });
      return state.people.link(ANN)?.read;
    };
    t.same(read(true), toTimestamp(NOW), what);
    t.same(read(false), toTimestamp(NOW + 60_000), what);
  }
});

t.test("a scope of a group that an administrator took away, and gives, stays without the group", async (t) => {
  const set = (...scopes: string[]): LogEvent => ({
    $case: "scopesSet",
    value: { namespace: "default", name: "ann", scopes },
  });
  for (const [what, state] of Object.entries(await states(set("own"), set("own", "employee"), signedIn([], "second"))))
    t.same(state.account("default", "ann")?.scopes, ["own", "employee"], what);
});

const ENDS: readonly LogEvent[] = [
  { $case: "issuerDeleted", value: { namespace: "default", name: "company" } },
  { $case: "accountDeleted", value: { namespace: "default", name: "ann", disabled: undefined } },
  { $case: "namespaceDeleted", value: { name: "default" } },
];

for (const event of ENDS) {
  t.test(`no link is left after ${event.$case}`, async (t) => {
    for (const [what, state] of Object.entries(await states(event))) {
      t.equal(state.people.link(ANN), undefined, what);
      t.notOk(state.account("default", "ann")?.scopes.includes("employee"), what);
      t.ok(state.people.isUsed(hashToken("first")), "the attempt does not count again");
    }
  });
}

t.test("used attempts are forgotten when they would be too old anyway", async (t) => {
  const { log: state } = await states();
  state!.forget(NOW + 600_000);
  t.notOk(state!.people.isUsed(hashToken("first")));
});
