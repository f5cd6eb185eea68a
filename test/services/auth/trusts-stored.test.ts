// Issuers, trusts and their tokens are the same after a restart, from the log and from a snapshot.
import t from "tap";
import { fold } from "../../../services/auth/log/state/fold.js";
import { formatOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../../services/auth/log/state/state.js";
import { MAX_TRUST_TOKENS, TrustTable } from "../../../services/auth/log/state/trust-table.js";
import { hashToken } from "../../../src/call/token.js";
import type { Entry, Event, TrustToken } from "../../../src/gen/portico/auth/log/v1/log.js";
import { toTimestamp } from "../../../src/time.js";
import { restored } from "./restored.js";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const HOUR = 3_600_000;

const token = (jti: string, given: Partial<TrustToken> = {}): TrustToken => ({
  ...{
    sha256: hashToken(jti),
    namespace: "default",
    trust: "deploy",
    account: "deployer",
    jti,
    subject: "repo:acme/shop",
  },
  ...{
    expires: toTimestamp(NOW + HOUR),
    jwtExpires: toTimestamp(NOW + HOUR),
    signedSha256: hashToken(`signed ${jti}`),
  },
  ...{ resources: [], bearer: true, revoked: false, ...given },
});

const DEPLOYER = { namespace: "default", name: "deployer", scopes: ["staff"], password: undefined };
const TRUST = { namespace: "default", name: "deploy", issuer: "platform", audience: "a", subject: "repo:acme/*" };
const NO_SIGN_IN = { signIn: undefined, clientSecret: "" };
const EVENTS: NonNullable<Event["event"]>[] = [
  { $case: "namespaceCreated", value: { name: "default", id: undefined } },
  { $case: "accountCreated", value: DEPLOYER },
  {
    $case: "issuerCreated",
    value: {
      issuer: { namespace: "default", name: "platform", url: "https://a.example", created: undefined, ...NO_SIGN_IN },
    },
  },
  { $case: "trustCreated", value: { trust: { ...TRUST, account: "deployer", bearer: true, created: undefined } } },
  { $case: "trustTokenSet", value: { token: token("valid") } },
  { $case: "trustTokenSet", value: { token: token("limited", { bearer: false, resources: ["service:orders:*"] }) } },
  { $case: "trustTokenSet", value: { token: token("revoked") } },
  { $case: "trustTokenSet", value: { token: token("revoked", { revoked: true }) } },
];

function apply(state: State, ...events: NonNullable<Event["event"]>[]): void {
  const entry: Entry = {
    time: toTimestamp(NOW),
    actor: "portico",
    namespace: "default",
    events: events.map((event) => ({ event })),
  };
  fold(state, entry);
}

const callerOf = (state: State, jti: string) => state.callerOf(hashToken(jti), NOW);

t.test("tokens of trusts, from the log, a draft and a snapshot", async (t) => {
  const state = new State();
  apply(state, ...EVENTS);
  const frozen = state.freeze();
  t.equal(formatOf(frozen), 3, "an earlier version would lose what was revoked");
  frozen.release();
  for (const [what, one] of Object.entries({ log: state, draft: state.draft(), snapshot: await restored(state) })) {
    t.match(callerOf(one, "valid"), { account: "deployer", scopes: ["staff"], resources: [], callsOnly: true }, what);
    t.match(callerOf(one, "limited"), { resources: ["service:orders:*"] }, what);
    t.same(one.restrictions, ["limited-keys"], what);
    t.equal(callerOf(one, "revoked"), undefined, what);
    t.ok(one.trusts.isRevoked(hashToken("signed revoked")), what);
    t.equal(one.callerOf(hashToken("valid"), NOW + HOUR), undefined, "an expired token");
    apply(one, { $case: "trustTokenSet", value: { token: token("revoked") } });
    t.equal(callerOf(one, "revoked"), undefined, "it stays revoked");
    t.same(
      one.trusts.freeze().map(({ record }) => record?.$case),
      ["issuer", "trust", "token", "token", "token"],
      what,
    );
  }
});

t.test("what is gone takes its tokens along, and they stay known", async (t) => {
  for (const event of [
    { $case: "issuerDeleted", value: { namespace: "default", name: "platform" } },
    { $case: "trustDeleted", value: { namespace: "default", name: "deploy" } },
    { $case: "accountDeleted", value: { namespace: "default", name: "deployer", disabled: undefined } },
    { $case: "accountDeleted", value: { namespace: "default", name: "deployer", disabled: true } },
    { $case: "namespaceDeleted", value: { name: "default" } },
  ] as const) {
    const state = new State();
    apply(state, ...EVENTS, event);
    for (const one of [state, await restored(state)]) {
      for (const jti of ["valid", "limited"]) {
        t.equal(callerOf(one, jti), undefined, event.$case);
        t.ok(one.trusts.isRevoked(hashToken(`signed ${jti}`)), event.$case);
      }
    }
    state.forget(NOW + HOUR);
    t.notOk(state.trusts.isRevoked(hashToken("signed valid")), "until the JWT has expired");
  }
});

t.test("a trust has a limited number of tokens; the oldest ends", async (t) => {
  const table = new TrustTable();
  table.putToken(token("revoked", { revoked: true }));
  for (let index = 1; index < MAX_TRUST_TOKENS; index++) table.putToken(token(`${index}`));
  t.same(table.putToken(token("one more")), [hashToken("1")]);
  t.ok(table.isRevoked(hashToken("signed revoked")));
});
