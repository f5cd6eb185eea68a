/**
 * What two authorities on one store promise about sign-ins: what counts once counts once at both
 * together, and what one ends does not count at the other.
 */
import type { Test } from "tap";
import { SYSTEM } from "../../src/access/guard.js";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { GrantsService } from "../../src/gen/portico/auth/v1/grants.js";
import { OAuthService } from "../../src/gen/portico/auth/v1/oauth.js";
import { PolicyService } from "../../src/gen/portico/auth/v1/policy.js";
import { SessionsService } from "../../src/gen/portico/auth/v1/sessions.js";
import { TrustsService } from "../../src/gen/portico/auth/v1/trusts.js";
import type { CallOptions } from "../../src/rpc/client.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { call as endpoint } from "../access/endpoints.js";
import { codeOf, joinAt } from "../access/test-gateway.js";
import { AUDIENCE, KINDS, type Kind, renews, type TokensOfOne, tokenOf, tokensOfOne } from "../access/tokens-of-one.js";
import { consent, consentToDevice, exchange } from "../oauth/at-the-authority.js";
import { createKey, openIssuer } from "../oauth/issuer.js";
import { isGood, type Open, open, PASSWORD } from "../services/auth/open.js";
import { proven, signIn, signOut } from "../services/auth/page-browser.js";

const ROUNDS = 5;
/** Longer than any stall of the machine: a guard without a lease grants nothing for that reason. */
const LONG = { leaseMs: 60_000 };
const system: CallOptions = { admission: SYSTEM };
const login = { account: "admin", password: PASSWORD, namespace: "" };

/** Makes a store, and returns a function that opens it once more, as each process does. */
type OpenDatabase = (t: Test) => Promise<() => Promise<KeyValueStore>>;
type Two = readonly [Open, Open];

/** A use of what counts once; the token that it gives. */
type Use = (at: Open) => Promise<string | undefined>;

const withGrant = (credential: Parameters<typeof exchange>[1]) => async (at: Open) =>
  (await exchange(at, credential)).accessToken || undefined;

/** Makes something that counts once, at the first authority. */
const ONCE: Record<string, (two: Two) => Promise<Use>> = {
  "a code": async ([one]) => withGrant({ $case: "code", value: await consent(one) }),
  "a refresh token of a grant": async ([one]) => {
    const { refreshToken } = await exchange(one, { $case: "code", value: await consent(one) });
    return withGrant({ $case: "refreshToken", value: refreshToken });
  },
  "a refresh token of a login": async ([one]) => {
    const { refreshToken } = await one.call(AuthService.login, login);
    return ({ call }) =>
      call(AuthService.refresh, { refreshToken }).then(
        ({ accessToken }) => accessToken,
        () => undefined,
      );
  },
  "a device code that another authority allowed": async ([one, other]) => {
    const asked = { clientId: "portico-cli", clientSecret: "", clientName: "", scopes: [], resource: "" };
    const request = { ...asked, address: "192.0.2.1", requestId: "" };
    const { deviceCode, userCode } = await one.call(OAuthService.startDevice, request, undefined, system);
    await consentToDevice(other, userCode);
    return withGrant({ $case: "deviceCode", value: deviceCode });
  },
};

/** Ways to end some kinds, at the first authority. */
const ENDS: Record<
  string,
  readonly [ends: readonly Kind[], by: (at: Open, one: TokensOfOne, admin: string) => unknown]
> = {
  "a page signs out": [["a session of the pages"], (at, { page }) => signOut(at, page)],
  "a grant is deleted": [
    ["a grant"],
    ({ call }, { grant: { id } }, admin) => call(GrantsService.delete, { id }, admin),
  ],
  "a trust is deleted": [
    ["a JWT", "a token for a JWT"],
    ({ call }, { name }, admin) => call(TrustsService.delete, { name }, admin),
  ],
  "an account is disabled": [
    KINDS,
    ({ call }, { name }, admin) => call(AccountsService.setDisabled, { name, disabled: true }, admin),
  ],
};

export function signInsContract(t: Test, openDatabase: OpenDatabase): void {
  /** Two authorities; `elapsed` is how much later it is by their monotonic clocks. */
  const openTwo = async (t: Test, elapsed = () => 0): Promise<Two> => {
    const openStore = await openDatabase(t);
    const clocks = { wall: Date.now, elapsed: () => performance.now() + elapsed() };
    const openOne = async (): Promise<Open> => {
      const store = await openStore();
      t.teardown(() => store.close());
      return open(t, { store, clocks, ...LONG });
    };
    return [await openOne(), await openOne()];
  };

  for (const [what, make] of Object.entries(ONCE)) {
    t.test(`${what} that two authorities get at the same moment gives tokens once, which then end`, async (t) => {
      const two = await openTwo(t);
      for (let round = 0; round < ROUNDS; round++) {
        const use = await make(two);
        const given = (await Promise.all(two.map(use))).filter((token) => token !== undefined);
        t.equal(given.length, 1);
        for (const at of two) t.notOk(await isGood(at, given[0]!), "the second use has ended it");
        for (const at of two) t.equal(await use(at), undefined);
      }
    });
  }

  t.test("a proof of a page counts once at each authority, and for no longer than its session", async (t) => {
    const two = await openTwo(t);
    const browser = await signIn(two[0]);
    const proof = await proven(two[0], browser);
    const create = ({ call }: Open) => call(SessionsService.createToken, proof, undefined, system);
    const tokens = [await create(two[0]), await create(two[1])].map(({ accessToken }) => accessToken);
    for (const at of two) await t.rejects(create(at), { code: Code.PERMISSION_DENIED });
    await signOut(two[1], browser);
    for (const at of two) for (const token of tokens) t.notOk(await isGood(at, token));
  });

  t.test("what one authority ends, no guard of the other grants", async (t) => {
    const two = await openTwo(t);
    const [at, other] = two;
    const admin = await at.login();
    const { secret } = await at.call(EnrolmentsService.create, { name: "gateway", replace: true }, admin);
    const issuer = await openIssuer(t);
    const guards = [await joinAt(t, at.channel, secret), await joinAt(t, other.channel, secret)];
    for (const [index, [what, [ends, by]]] of Object.entries(ENDS).entries()) {
      const one = await tokensOfOne({ at, admin, issuer }, `n${index}`);
      const granted = async (): Promise<Kind[][]> => {
        const shown = (kind: Kind) => ({ token: tokenOf(one, kind), tokenRequired: true });
        const codes = guards.map((guard) => Promise.all(KINDS.map((kind) => codeOf(guard, endpoint, shown(kind)))));
        return (await Promise.all(codes)).map((all) => KINDS.filter((_, number) => all[number] === Code.OK));
      };
      t.same(await granted(), [KINDS, KINDS], what);
      await by(at, one, admin);
      const goOn = KINDS.filter((kind) => !ends.includes(kind));
      t.same(await granted(), [goOn, goOn], what);
      for (const kind of ends) t.notOk(await renews(one, kind, other), `${what}: ${kind}`);
    }
  });

  t.test("an issuer's new key counts at both authorities, and its old one at neither", async (t) => {
    let later = 0;
    const two = await openTwo(t, () => later);
    const [at] = two;
    const issuer = await openIssuer(t);
    await tokensOfOne({ at, admin: await at.login(), issuer }, "one");
    const [old] = issuer.published;
    let count = 0;
    const accept = async ({ call }: Open, key = issuer.published[0]!): Promise<boolean> => {
      const jwt = await issuer.sign({ sub: "one", aud: AUDIENCE, jti: `${count++}` }, {}, key);
      return (await call(PolicyService.acceptJwt, { jwt }, undefined, system)).accepted;
    };
    for (const authority of two) t.ok(await accept(authority));
    issuer.published = [await createKey("second")];
    later = 12_001;
    for (const authority of two) t.ok(await accept(authority), "the new key");
    for (const authority of two) t.notOk(await accept(authority, old), "the old one");
  });
}
