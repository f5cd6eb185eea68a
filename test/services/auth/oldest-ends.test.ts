// An account has a limited number of logins, sessions, grants and tokens. The oldest one ends for a
// new one: when the response with the new one comes, no guard grants calls by the oldest.
import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { MAX_ACCESS, MAX_LOGINS } from "../../../services/auth/log/state/fold.js";
import { MAX_GRANT_ACCESS, MAX_GRANTS } from "../../../services/auth/log/state/oauth-table.js";
import { MAX_SESSION_ACCESS, MAX_SESSIONS } from "../../../services/auth/log/state/session-table.js";
import { createToken, hashToken } from "../../../src/call/token.js";
import { type Event, Grant, PageSession } from "../../../src/gen/portico/auth/log/v1/log.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { toTimestamp } from "../../../src/time.js";
import { consent, exchange } from "../../oauth/at-the-authority.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { isGood, type Open, open, openJournal, PASSWORD } from "./open.js";
import { renew, signIn } from "./page-browser.js";
import { Watch } from "./watch.js";

type LogEvent = NonNullable<Event["event"]>;

/** Longer than any stall of the machine. */
const LONG = { leaseMs: 60_000 };
const CLI = "portico-cli";
const OWNER = { namespace: "default", account: "admin" };
const expires = toTimestamp(Date.now() + 24 * 60 * 60_000);
const credentials = { account: "admin", password: PASSWORD, namespace: "" };

const token = (text = createToken("access")) => ({ sha256: hashToken(text), expires });

interface Kind {
  /** How many others of the kind the account has already, which events of the log make. */
  readonly others?: readonly [count: number, create: () => LogEvent];
  /** Makes the oldest, and returns its access token and what makes a new one. */
  readonly begin: (opened: Open) => Promise<readonly [oldest: string, create: () => Promise<unknown>]>;
}

const newLogin = (): LogEvent => ({
  $case: "loggedIn",
  value: { ...OWNER, login: hashToken(createToken("refresh")), access: token(), refresh: token() },
});
const newSession = (): LogEvent => ({
  $case: "pageSessionStarted",
  value: { session: PageSession.fromPartial({ ...OWNER, ...token(), publicKey: Buffer.from("key"), access: [] }) },
});
const newGrant = (): LogEvent => ({
  $case: "grantCreated",
  value: { grant: Grant.fromPartial({ ...OWNER, id: createToken("code"), clientId: CLI, expires }) },
});

const kinds: Record<string, Kind> = {
  "a login": {
    others: [MAX_LOGINS - 1, newLogin],
    begin: async ({ call, login }) => [await login(), () => call(AuthService.login, credentials)],
  },
  "a session of the pages": {
    others: [MAX_SESSIONS - 1, newSession],
    begin: async (opened) => [(await signIn(opened)).token, () => signIn(opened)],
  },
  "a grant": {
    others: [MAX_GRANTS - 1, newGrant],
    begin: async (opened) => {
      const { accessToken } = await exchange(opened, { $case: "code", value: await consent(opened) });
      return [accessToken, () => consent(opened)];
    },
  },
  "a token of a login": {
    begin: async ({ call }) => {
      let tokens = await call(AuthService.login, credentials);
      const { accessToken } = tokens;
      const refresh = async () => {
        tokens = await call(AuthService.refresh, { refreshToken: tokens.refreshToken });
      };
      for (let count = 1; count < MAX_ACCESS; count++) await refresh();
      return [accessToken, refresh];
    },
  },
  "a token of a session of the pages": {
    begin: async (opened) => {
      const browser = await signIn(opened);
      for (let count = 1; count < MAX_SESSION_ACCESS; count++) await renew(opened, browser);
      return [browser.token, () => renew(opened, browser)];
    },
  },
  "a token of a grant": {
    begin: async (opened) => {
      let tokens = await exchange(opened, { $case: "code", value: await consent(opened) });
      const { accessToken } = tokens;
      const refresh = async () => {
        tokens = await exchange(opened, { $case: "refreshToken", value: tokens.refreshToken });
      };
      for (let count = 1; count < MAX_GRANT_ACCESS; count++) await refresh();
      return [accessToken, refresh];
    },
  },
};

for (const [kind, { others: [count, createOther] = [0, newLogin], begin }] of Object.entries(kinds)) {
  t.test(`${kind} that ends for a new one ends at every guard before the response`, async (t) => {
    const store = openMemoryStore({ mayBeStale: true, time: Date.now });
    const opened = await open(t, { store, ...LONG });
    const [oldest, create] = await begin(opened);
    const journal = await openJournal(store);
    await journal.commit(PORTICO, () => Array.from({ length: count }, createOther));
    await journal.close();
    const guard = new Watch(t, opened.channel);
    guard.start();
    const { revision } = await guard.ping();
    guard.applied(revision);
    t.ok(await isGood(opened, oldest));

    let responded = false;
    const created = create().then(() => {
      responded = true;
    });
    const news = await guard.next("changes");
    t.match(news.changes, [{ change: { $case: "tokensRevoked", value: { sha256: [hashToken(oldest)] } } }]);
    // The pong comes after all that the authority sends at the change.
    await guard.ping();
    t.notOk(responded, "the guard has not applied it yet");
    guard.applied(news.revision);
    await created;
    t.notOk(await isGood(opened, oldest));
  });
}
