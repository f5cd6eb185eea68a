// Authorities forget at different times what has expired. When a new grant, session or JWT ends the
// oldest one, they end the same one all the same.
import t from "tap";
import { fold } from "../../../services/auth/log/state/fold.js";
import { MAX_GRANTS } from "../../../services/auth/log/state/oauth-table.js";
import { MAX_SESSIONS } from "../../../services/auth/log/state/session-table.js";
import { State } from "../../../services/auth/log/state/state.js";
import { MAX_TRUST_TOKENS } from "../../../services/auth/log/state/trust-table.js";
import { hashToken } from "../../../src/call/token.js";
import {
  AccountTrust,
  type Event,
  Grant,
  PageSession,
  TrustToken,
  VouchingIssuer,
} from "../../../src/gen/portico/auth/log/v1/log.js";
import { toTimestamp } from "../../../src/time.js";
import { restored } from "./restored.js";

type LogEvent = NonNullable<Event["event"]>;

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const OWNER = { namespace: "default", account: "bob" };
const TRUST = { ...OWNER, issuer: "ci", audience: "api", subject: "bob" };

interface Kind {
  /** How many there may be. */
  readonly max: number;
  readonly create: (name: string, expires: number) => LogEvent;
  readonly namesIn: (state: State, names: readonly string[]) => readonly string[];
}

const kinds: Record<string, Kind> = {
  "a grant": {
    max: MAX_GRANTS,
    create: (id, expires) => ({
      $case: "grantCreated",
      value: { grant: Grant.fromPartial({ ...OWNER, id, clientId: "app", expires: toTimestamp(expires) }) },
    }),
    namesIn: ({ oauth }, names) => names.filter((name) => oauth.grant(name) !== undefined),
  },
  "a session of the pages": {
    max: MAX_SESSIONS,
    create: (name, expires) => ({
      $case: "pageSessionStarted",
      value: {
        session: PageSession.fromPartial({ ...OWNER, sha256: hashToken(name), expires: toTimestamp(expires) }),
      },
    }),
    namesIn: ({ sessions }, names) => names.filter((name) => sessions.session(hashToken(name)) !== undefined),
  },
  "a JWT": {
    max: MAX_TRUST_TOKENS,
    create: (name, expires) => {
      const ends = { expires: toTimestamp(expires), jwtExpires: toTimestamp(expires) };
      const token = { ...OWNER, ...ends, trust: "ci", sha256: hashToken(name), signedSha256: hashToken(`of ${name}`) };
      return { $case: "trustTokenSet", value: { token: TrustToken.fromPartial(token) } };
    },
    namesIn: ({ trusts }, names) => names.filter((name) => trusts.token(hashToken(name)) !== undefined),
  },
};

function apply(state: State, time: number, ...events: readonly LogEvent[]): void {
  const entry = { time: toTimestamp(time), actor: "portico", namespace: "default" };
  fold(state, { ...entry, events: events.map((event) => ({ event })) });
}

for (const [kind, { max, create, namesIn }] of Object.entries(kinds)) {
  t.test(`${kind} ends for a new one at an authority that has just started as at one that runs`, async (t) => {
    const running = new State();
    apply(
      running,
      NOW,
      { $case: "namespaceCreated", value: { name: "default", id: "" } },
      { $case: "accountCreated", value: { namespace: "default", name: "bob", scopes: [], password: undefined } },
      { $case: "issuerCreated", value: { issuer: VouchingIssuer.fromPartial({ namespace: "default", name: "ci" }) } },
      { $case: "trustCreated", value: { trust: AccountTrust.fromPartial({ ...TRUST, name: "ci" }) } },
    );
    const names = Array.from({ length: max }, (_, index) => `${index}`);
    const lifeOf = (name: string): number => (name === "1" ? MINUTE : 60 * MINUTE);
    apply(running, NOW, ...names.map((name) => create(name, NOW + lifeOf(name))));
    const started = await restored(running);
    for (const state of [running, started]) {
      apply(state, NOW + 2 * MINUTE);
      apply(state, NOW + 3 * MINUTE, create("new", NOW + 60 * MINUTE));
    }
    const left = names.filter((name) => name !== "1");
    t.same(namesIn(running, [...names, "new"]), [...left, "new"], "one had expired, so no other ends");
    t.same(namesIn(started, names), namesIn(running, names));
    for (const state of [running, started]) apply(state, NOW + 4 * MINUTE, create("newer", NOW + 60 * MINUTE));
    t.same(namesIn(running, left), left.slice(1), "the oldest ends for one more");
    t.same(namesIn(started, left), left.slice(1));
  });
}
