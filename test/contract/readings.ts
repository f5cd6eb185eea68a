/**
 * What two authorities on one store promise about people whom an issuer lets them read again: the
 * issuer, which replaces its refresh token at each use, gets each of them once.
 */
import type { Test } from "tap";
import { PORTICO } from "../../services/auth/log/changelog/journal.js";
import { READING_TIME } from "../../services/auth/people/readings.js";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { IssuersService } from "../../src/gen/portico/auth/v1/issuers.js";
import { type KeyValueStore, StoreError } from "../../src/store/store.js";
import { consentAt, exchange } from "../oauth/at-the-authority.js";
import type { Door } from "../oauth/browser.js";
import { Browser, signInThere } from "../oauth/people.js";
import { CLIENT, type OpenProvider, openProvider } from "../oauth/provider.js";
import { isGood, type Open, open, openJournal } from "../services/auth/open.js";
import { deferred } from "../support/deferred.js";
import { inTime, until } from "../support/until.js";

/** Longer than any stall of the machine: a guard without a lease grants nothing for that reason. */
const LONG = { leaseMs: 60_000 };
/** To which the browser of a test is sent back. */
const BACK = "https://portico.example/oauth/callback/company";
/** No authority reads the store so often before it asks an issuer. */
const MANY = 8;

/** Makes a store, and returns a function that opens it once more, as each process does. */
type OpenDatabase = (t: Test) => Promise<() => Promise<KeyValueStore>>;

/** An authority, whose use of the store the test sees. */
interface Member {
  readonly at: Open;
  /** Resolves when the store may be written. Replaced by tests. */
  mayWrite: () => Promise<unknown>;
  /** How often it has read the store. */
  reads: number;
}

async function join(t: Test, store: KeyValueStore, elapsed: () => number): Promise<Member> {
  t.teardown(() => store.close());
  const member = { mayWrite: async () => undefined, reads: 0 } as Omit<Member, "at">;
  const watched = new Proxy(store, {
    get(target, name) {
      if (name === "range") member.reads++;
      if (name === "commit") {
        return async (...asked: Parameters<KeyValueStore["commit"]>) => {
          await member.mayWrite();
          return target.commit(...asked);
        };
      }
      const value = Reflect.get(target, name) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const at = await open(t, { store: watched, clocks: { wall: Date.now, elapsed }, ...LONG });
  return Object.assign(member, { at });
}

interface Company {
  readonly provider: OpenProvider;
  readonly one: Member;
  readonly other: Member;
  /** The refresh tokens of two grants of ann's: one for each authority. */
  readonly grants: [string, string];
  /** Their access tokens. */
  readonly tokens: readonly string[];
  /** Of none of the two. */
  readonly store: KeyValueStore;
  /** Adds to the monotonic clocks. */
  pass(ms: number): void;
}

async function company(t: Test, openDatabase: OpenDatabase): Promise<Company> {
  const openStore = await openDatabase(t);
  const store = await openStore();
  t.teardown(() => store.close());
  let later = 0;
  const elapsed = (): number => performance.now() + later;
  const one = await join(t, await openStore(), elapsed);
  const other = await join(t, await openStore(), elapsed);
  const provider = await openProvider(t, BACK);
  Object.assign(provider, { givesRefreshTokens: true, rotates: true });
  provider.people.ann1 = { email: "ann@acme.example" };
  const { at } = one;
  const admin = await at.login();
  const claims = { accountClaim: "", trustClaim: false, groupsClaim: "", map: [], mayAdminister: false };
  const signIn = { clientId: CLIENT.clientId, createAccounts: false, ...claims };
  const { clientSecret } = CLIENT;
  await at.call(IssuersService.create, { name: "company", url: provider.url, signIn, clientSecret }, admin);
  await at.call(AccountsService.create, { name: "ann", password: "a password of one's own", scopes: [] }, admin);
  await at.call(AccountsService.link, { name: "ann", issuer: "company", subject: "ann1" }, admin);
  const browser = new Browser({ url: "" } as Door);
  const grant = async () => {
    const code = await consentAt(at, "company", async (location) => {
      return new URL((await signInThere(browser, location, "ann1")).url).searchParams;
    });
    return exchange(at, { $case: "code", value: code });
  };
  const given = [await grant(), await grant()] as const;
  return {
    ...{ store, provider, one, other },
    grants: [given[0].refreshToken, given[1].refreshToken],
    tokens: given.map(({ accessToken }) => accessToken),
    pass(ms) {
      later += ms;
    },
  };
}

function refresh({ at }: Member, refreshToken: string) {
  return exchange(at, { $case: "refreshToken", value: refreshToken });
}

export function readingsContract(t: Test, openDatabase: OpenDatabase): void {
  t.test("while one authority has not written its next refresh token, the other does not use the last", async (t) => {
    const { provider, one, other, grants } = await company(t, openDatabase);
    const written = deferred();
    one.mayWrite = () => (provider.refreshes.length > 0 ? written.promise : Promise.resolve());
    const first = refresh(one, grants[0]);
    await until(() => provider.refreshes.length === 1);
    let isOver = false;
    other.reads = 0;
    const second = refresh(other, grants[1]).finally(() => {
      isOver = true;
    });
    await until(() => isOver || other.reads > MANY);
    written.resolve();
    const given = await inTime(Promise.all([first, second]), "both");
    for (const { error, accessToken } of given) {
      t.equal(error, "");
      for (const { at } of [one, other]) t.ok(await isGood(at, accessToken));
    }
    t.same(provider.refreshes, [true, true]);
    t.match(await refresh(one, given[1].refreshToken), { error: "" }, "and so on");
  });

  t.test("a reading of an authority that was killed delays the others, and ends nothing", async (t) => {
    const { provider, one, other, grants, pass, store } = await company(t, openDatabase);
    const journal = await openJournal(store);
    const value = { namespace: "default", issuer: "company", subject: "ann1", reading: "of one that was killed" };
    await journal.commit(PORTICO, () => [{ $case: "personReading", value }]);
    await journal.close();
    other.reads = 0;
    const waiting = refresh(other, grants[0]);
    await until(() => other.reads > MANY);
    pass(8_000);
    await t.rejects(waiting, { code: Code.UNAVAILABLE, message: /another authority asks/ });
    t.same(provider.refreshes, []);
    pass(READING_TIME - 8_000);
    t.match(await refresh(other, grants[0]), { error: "" });
    t.match(await refresh(one, grants[1]), { error: "" }, "which nothing delays any more");
  });

  t.test("the next refresh token is kept while the store fails", async (t) => {
    const { provider, one, other, grants } = await company(t, openDatabase);
    let failures = 0;
    one.mayWrite = async () => {
      if (provider.refreshes.length === 0 || failures === 2) return;
      failures++;
      throw new StoreError("of the test");
    };
    t.match(await refresh(one, grants[0]), { error: "" });
    t.equal(failures, 2);
    t.match(await refresh(other, grants[1]), { error: "" });
    t.same(provider.refreshes, [true, true]);
  });

  t.test("while the issuer fails nothing ends, and no authority waits for the reading of another", async (t) => {
    const { provider, one, other, grants } = await company(t, openDatabase);
    provider.fails = true;
    await t.rejects(refresh(one, grants[0]), { code: Code.UNAVAILABLE, message: /company cannot be used/ });
    provider.fails = false;
    t.match(await refresh(other, grants[1]), { error: "" });
    t.match(await refresh(one, grants[0]), { error: "" });
  });

  t.test("a person whom the issuer refuses ends at both, also if that is written late", async (t) => {
    const { provider, one, other, grants, tokens } = await company(t, openDatabase);
    await provider.rollKeys("of another issuer");
    let failures = 0;
    one.mayWrite = async () => {
      if (provider.refreshes.length === 0 || failures === 1) return;
      failures++;
      throw new StoreError("of the test");
    };
    t.match(await refresh(one, grants[0]), { error: "invalid_grant" });
    t.match(await refresh(other, grants[1]), { error: "invalid_grant" });
    for (const { at } of [one, other]) for (const token of tokens) t.notOk(await isGood(at, token));
    t.same([provider.refreshes, failures], [[false], 1]);
  });
}
