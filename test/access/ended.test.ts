// What ends tokens: when the command returns, no guard of any authority on the store grants a call
// by them, no stream that they opened goes on, and nothing that their holder kept gives another.
// All else goes on. A restart changes none of it.
import t, { type Test } from "tap";
import type { OpenGuard } from "../../src/access/guard.js";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { ClientsService } from "../../src/gen/portico/auth/v1/clients.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { GrantsService } from "../../src/gen/portico/auth/v1/grants.js";
import { IssuersService } from "../../src/gen/portico/auth/v1/issuers.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import { TrustsService } from "../../src/gen/portico/auth/v1/trusts.js";
import { exchange, revoke } from "../oauth/at-the-authority.js";
import { openIssuer } from "../oauth/issuer.js";
import { type Open, open } from "../services/auth/open.js";
import { signOut } from "../services/auth/page-browser.js";
import { openMemoryStore } from "../support/memory-store.js";
import { call as endpoint } from "./endpoints.js";
import { ask, codeOf, joinAt } from "./test-gateway.js";
import { CLI, KINDS, type Kind, renews, type TokensOfOne, tokenOf, tokensOfOne } from "./tokens-of-one.js";

/** Longer than any stall of the machine: a guard without a lease grants nothing for that reason. */
const LEASE = { leaseMs: 60_000 };

interface Scene {
  readonly at: Open;
  readonly admin: string;
  readonly one: TokensOfOne;
}

interface Way {
  readonly ends: readonly Kind[];
  /** Whether the holder can get another token none the less. */
  readonly renews?: true;
  readonly by: (scene: Scene) => Promise<unknown>;
}

const OF_THE_PERSON = KINDS.filter((kind) => kind !== "a key");
const OF_JWTS = ["a JWT", "a token for a JWT"] as const;

const logOut = ({ at }: Scene, token: string, everywhere = false) => at.call(AuthService.logout, { everywhere }, token);

const ways: Record<string, Way> = {
  "the grant is deleted": {
    ends: ["a grant"],
    by: ({ at, admin, one }) => at.call(GrantsService.delete, { id: one.grant.id }, admin),
  },
  "the client is deleted": {
    ends: ["a grant", "a grant by an issuer"],
    by: ({ at, admin, one }) => at.call(ClientsService.delete, { id: one.name }, admin),
  },
  "the code is used again": {
    ends: ["a grant"],
    by: ({ at, one }) => exchange(at, { $case: "code", value: one.grant.code }, one.name),
  },
  "a refresh token of the grant is used again": {
    ends: ["a grant"],
    by: async ({ at, one }) => {
      for (let time = 0; time < 2; time++)
        await exchange(at, { $case: "refreshToken", value: one.grant.refreshToken }, one.name);
    },
  },
  "the client revokes its refresh token": {
    ends: ["a grant"],
    by: ({ at, one }) => revoke(at, one.grant.refreshToken, one.name),
  },
  "the client revokes its access token": {
    ends: ["a grant"],
    renews: true,
    by: ({ at, one }) => revoke(at, one.grant.accessToken, one.name),
  },
  "the token of a grant is logged out": {
    ends: ["a grant"],
    by: (scene) => logOut(scene, scene.one.grant.accessToken),
  },
  "the login by the browser is logged out": {
    ends: ["a login by the browser"],
    by: (scene) => logOut(scene, scene.one.browserLogin.accessToken),
  },
  "a refresh token of the login by the browser is used again": {
    ends: ["a login by the browser"],
    by: async ({ at, one }) => {
      for (let time = 0; time < 2; time++)
        await exchange(at, { $case: "refreshToken", value: one.browserLogin.refreshToken }, CLI);
    },
  },
  "the login is logged out": {
    ends: ["a login"],
    by: (scene) => logOut(scene, scene.one.login.accessToken),
  },
  "a refresh token of the login is used again": {
    ends: ["a login"],
    by: async ({ at, one }) => {
      const { refreshToken } = one.login;
      await at.call(AuthService.refresh, { refreshToken });
      await at.call(AuthService.refresh, { refreshToken }).catch(() => {});
    },
  },
  "the page signs out": {
    ends: ["a session of the pages"],
    by: ({ at, one }) => signOut(at, one.page),
  },
  "the page's token is logged out": {
    ends: ["a session of the pages"],
    by: (scene) => logOut(scene, scene.one.page.token),
  },
  "the person signs out everywhere": {
    ends: OF_THE_PERSON,
    by: (scene) => logOut(scene, scene.one.login.accessToken, true),
  },
  "the person has a new password": {
    ends: OF_THE_PERSON,
    by: ({ at, admin, one }) =>
      at.call(
        AccountsService.setPassword,
        { name: one.name, currentPassword: "", newPassword: "another password" },
        admin,
      ),
  },
  "the account is disabled": {
    ends: KINDS,
    by: ({ at, admin, one }) => at.call(AccountsService.setDisabled, { name: one.name, disabled: true }, admin),
  },
  "the account is deleted": {
    ends: KINDS,
    by: ({ at, admin, one }) => at.call(AccountsService.delete, { name: one.name }, admin),
  },
  "the jti is revoked": {
    ends: OF_JWTS,
    by: ({ at, admin, one }) => at.call(TrustsService.revokeToken, { jti: one.name }, admin),
  },
  "the trust is deleted": {
    ends: OF_JWTS,
    by: ({ at, admin, one }) => at.call(TrustsService.delete, { name: one.name }, admin),
  },
  "the issuer is deleted": {
    ends: [...OF_JWTS, "a session by an issuer", "a grant by an issuer"],
    by: ({ at, admin, one }) => at.call(IssuersService.delete, { name: one.name }, admin),
  },
  "the person is unlinked": {
    ends: ["a session by an issuer", "a grant by an issuer"],
    by: ({ at, admin, one }) => at.call(AccountsService.unlink, { name: one.name, issuer: one.name }, admin),
  },
  "the person signs out in the browser of the issuer": {
    ends: ["a session by an issuer"],
    by: ({ at, one }) => signOut(at, one.issuerPage),
  },
  "the key is revoked": {
    ends: ["a key"],
    by: ({ at, admin, one }) => at.call(KeysService.revoke, { prefix: one.key.prefix }, admin),
  },
};

const shown = (one: TokensOfOne, kind: Kind) => ({ token: tokenOf(one, kind), tokenRequired: true });

/** Opens a stream; the result says whether messages pass. */
async function openStream(t: Test, guard: OpenGuard, one: TokensOfOne, kind: Kind): Promise<() => boolean> {
  let refused = false;
  const stream = guard.follow(await ask(guard, endpoint, shown(one, kind)), {
    onRefused: () => {
      refused = true;
    },
    onResumed: () => undefined,
  });
  t.teardown(() => stream.end());
  return () => !refused && stream.mayPass();
}

/** The kinds of tokens by which the guard grants calls. */
async function granted(guard: OpenGuard, one: TokensOfOne): Promise<Kind[]> {
  const codes = await Promise.all(KINDS.map((kind) => codeOf(guard, endpoint, shown(one, kind))));
  const other = codes.find((code) => code !== Code.OK && code !== Code.UNAUTHENTICATED);
  if (other !== undefined) throw new Error(`a call had the code ${other}`);
  return KINDS.filter((_, index) => codes[index] === Code.OK);
}

async function renewing(at: Open, one: TokensOfOne, kinds: readonly Kind[]): Promise<Kind[]> {
  const results: Kind[] = [];
  for (const kind of kinds) if (await renews(one, kind, at)) results.push(kind);
  return results;
}

interface Ended {
  readonly one: TokensOfOne;
  readonly goOn: readonly Kind[];
  readonly renewing: readonly Kind[];
}

t.test("what ends tokens", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  t.teardown(() => store.close());
  const [at, other] = [await open(t, { store, ...LEASE }), await open(t, { store, ...LEASE })];
  const admin = await at.login();
  const { secret } = await at.call(EnrolmentsService.create, { name: "gateway", replace: true }, admin);
  const issuer = await openIssuer(t);
  // A JWT comes to the other authority first.
  const guards = [await joinAt(t, other.channel, secret), await joinAt(t, at.channel, secret)];
  const all: Ended[] = [];
  for (const [index, [what, { ends, renews, by }]] of Object.entries(ways).entries()) {
    await t.test(what, async (t) => {
      const one = await tokensOfOne({ at, admin, issuer }, `n${index}`);
      const streams: { kind: Kind; passes: () => boolean }[] = [];
      for (const guard of guards) {
        t.same(await granted(guard, one), KINDS, "all is granted before");
        for (const kind of KINDS) streams.push({ kind, passes: await openStream(t, guard, one, kind) });
      }
      t.ok(streams.every(({ passes }) => passes()));

      await by({ at, admin, one });
      const passing = streams.filter(({ passes }) => passes()).map(({ kind }) => kind);
      const goOn = KINDS.filter((kind) => !ends.includes(kind));
      t.same(passing, [...goOn, ...goOn], "streams");
      const rounds = new Set<string>();
      for (let round = 0; round < 20; round++) {
        for (const guard of guards) rounds.add(`${await granted(guard, one)}`);
      }
      t.same([...rounds], [`${goOn}`], "calls");
      if (!renews) for (const authority of [other, at]) t.same(await renewing(authority, one, ends), []);
      const isGiven = (kind: Kind): boolean => kind !== "a key" && (renews || goOn.includes(kind));
      all.push({ one, goOn, renewing: KINDS.filter(isGiven) });
    });
  }

  await t.test("a restart changes none of it", async (t) => {
    await Promise.all(guards.map((guard) => guard.close()));
    await Promise.all([at, other].map((authority) => authority.close()));
    const later = await open(t, { store, ...LEASE });
    const guard = await joinAt(t, later.channel, secret);
    for (const { one, goOn, renewing: given } of all) {
      t.same(await granted(guard, one), goOn, one.name);
      t.same(await renewing(later, one, KINDS), given, one.name);
    }
  });
});
