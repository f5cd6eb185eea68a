/** Lists in pages: together they have each item once, in order, whatever changes in between. */
import t from "tap";
import { PORTICO } from "../../../services/auth/log/journal.js";
import { hashToken } from "../../../src/access/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { openStore } from "../../../src/store/open.js";
import { toTimestamp } from "../../../src/time.js";
import { HASH, type Open, open, openJournal } from "./open.js";

const ACCOUNTS = 30;
const KEYS_OF_ACCOUNT = 3;
const nameOf = (account: number) => `user${String(account).padStart(3, "0")}`;

/** An authority whose namespace has accounts beside `admin`, each with keys of which the last ones are large. */
async function filled(t: Parameters<typeof open>[0]): Promise<Open> {
  const folder = t.testdir();
  const first = await open(t, { folder });
  await first.close();
  const store = await openStore("sqlite:", folder);
  const journal = await openJournal(store);
  const namespace = "default";
  // Last to first, so that the order of names is not that of creation.
  for (let account = ACCOUNTS - 1; account >= 0; account--) {
    const name = nameOf(account);
    const keys = Array.from({ length: KEYS_OF_ACCOUNT }, (_, index) => ({
      sha256: hashToken(`${name} ${index}`),
      // Not in the order of creation.
      prefix: `ptk_${name.slice(-3)}${9 - index}`,
      ...{ namespace, account: name, name: `key ${index}`, lastUsed: undefined, lifetimeMs: 0n },
      ...{ created: toTimestamp(Date.now() + index), expires: toTimestamp(Date.now() + 86_400_000) },
      resources: account === 5 ? Array.from({ length: 2_000 }, () => "service:helloworld:".padEnd(250, "x")) : [],
    }));
    await journal.commit(PORTICO, () => [
      { $case: "accountCreated", value: { namespace, name, scopes: [], password: HASH } },
      ...keys.map((key) => ({ $case: "keyCreated" as const, value: { key } })),
    ]);
  }
  await journal.close();
  await store.close();
  return open(t, { folder });
}

const EXPECTED = Array.from({ length: ACCOUNTS }, (_, account) =>
  Array.from({ length: KEYS_OF_ACCOUNT }, (_, index) => `${nameOf(account)} key ${index}`),
).flat();

t.test("the pages of keys have each key once, by account and in the order of creation", async (t) => {
  const { call, login } = await filled(t);
  const token = await login();
  for (const pageSize of [0, 1, 7, 1_000]) {
    const listed: string[] = [];
    let pages = 0;
    for (let pageToken = ""; pages === 0 || pageToken !== ""; pages++) {
      const page = await call(KeysService.list, { pageSize, pageToken }, token);
      t.ok(page.keys.length > 0 && page.keys.length <= (pageSize || 1_000));
      listed.push(...page.keys.map(({ account, name }) => `${account} ${name}`));
      pageToken = page.nextPageToken;
    }
    t.same(listed, EXPECTED, `pages of ${pageSize}`);
    t.ok(pages > 1, "and a page of large keys ends before it is too large for a message");
  }
});

t.test("what is deleted between two pages hides nothing else", async (t) => {
  const { call, login } = await filled(t);
  const token = await login();
  const keys = await call(KeysService.list, { pageSize: 5, pageToken: "" }, token);
  await call(KeysService.revoke, { prefix: keys.keys[4]!.prefix }, token);
  await call(AccountsService.delete, { name: nameOf(3) }, token);
  const next = await call(KeysService.list, { pageSize: 5, pageToken: keys.nextPageToken }, token);
  t.same(
    next.keys.map(({ account, name }) => `${account} ${name}`),
    EXPECTED.filter((key) => !key.startsWith(nameOf(3))).slice(5, 10),
  );
  const accounts = await call(AccountsService.list, { pageSize: 2, pageToken: "" }, token);
  t.same(
    accounts.accounts.map(({ name }) => name),
    ["admin", nameOf(0)],
  );
  await call(AccountsService.delete, { name: nameOf(0) }, token);
  const others = await call(AccountsService.list, { pageSize: 2, pageToken: accounts.nextPageToken }, token);
  t.same(
    others.accounts.map(({ name }) => name),
    [nameOf(1), nameOf(2)],
  );
});

t.test("an account without the scope admin has pages of its own keys", async (t) => {
  const { call, login } = await filled(t);
  const own = await login("user007");
  const { keys, nextPageToken } = await call(KeysService.list, { pageSize: 2, pageToken: "" }, own);
  const rest = await call(KeysService.list, { pageSize: 2, pageToken: nextPageToken }, own);
  t.same(
    [...keys, ...rest.keys].map(({ account, name }) => `${account} ${name}`),
    EXPECTED.slice(7 * KEYS_OF_ACCOUNT, 8 * KEYS_OF_ACCOUNT),
  );
  t.equal(rest.nextPageToken, "");
  // A token of another's list opens nothing.
  const ofOthers = Buffer.from(JSON.stringify(["user000", "0", ""])).toString("base64url");
  const listed = await call(KeysService.list, { pageSize: 0, pageToken: ofOthers }, own);
  t.ok(listed.keys.every(({ account }) => account === "user007"));
});

t.test("sizes and tokens that are none are refused", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const cases: [pageSize: number, pageToken: string, message: RegExp][] = [
    [-1, "", /^page_size: must be from 1 to 1000, or 0 for 1000$/],
    [1_001, "", /^page_size: /],
    [0, "x", /^page_token: must be the next_page_token of a list, unchanged$/],
    [0, Buffer.from("{}").toString("base64url"), /^page_token: /],
  ];
  for (const [pageSize, pageToken, message] of cases) {
    for (const method of [KeysService.list, AccountsService.list]) {
      await t.rejects(call<typeof cases, unknown>(method as never, { pageSize, pageToken } as never, token), {
        code: Code.INVALID_ARGUMENT,
        message,
      });
    }
  }
});
