/**
 * Lists in pages: together they have each item once, in order, whatever changes between two pages.
 */
import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { Access, ListRulesResponse, type Rule, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { openStore } from "../../../src/store/open.js";
import { toTimestamp } from "../../../src/time.js";
import { temporaryFolder } from "../../support/temporary.js";
import { HASH, type Open, open, openJournal } from "./open.js";

const ACCOUNTS = 30;
const KEYS_OF_ACCOUNT = 3;
const nameOf = (account: number) => `user${String(account).padStart(3, "0")}`;

/** An authority with several accounts beside `admin`, each with keys. The last keys are large. */
async function filled(t: Parameters<typeof open>[0]): Promise<Open> {
  const folder = temporaryFolder(t);
  const first = await open(t, { folder });
  await first.close();
  const store = await openStore("sqlite:", folder);
  const journal = await openJournal(store);
  const namespace = "default";
  // In reverse, so that the order of names differs from the order of creation.
  for (let account = ACCOUNTS - 1; account >= 0; account--) {
    const name = nameOf(account);
    const keys = Array.from({ length: KEYS_OF_ACCOUNT }, (_, index) => ({
      sha256: hashToken(`${name} ${index}`),
      // The order of prefixes also differs from the order of creation.
      prefix: `ptk_${name.slice(-3)}${9 - index}`,
      ...{ namespace, account: name, name: `key ${index}`, lastUsed: undefined, lifetimeMs: 0n, from: [] },
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

t.test("the pages of keys have each key once, by account and time of creation", async (t) => {
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

t.test("deleting items between two pages hides no other items", async (t) => {
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
  // The token of another account's list gives no access to its keys.
  const ofOthers = Buffer.from(JSON.stringify(["user000", "0", ""])).toString("base64url");
  const listed = await call(KeysService.list, { pageSize: 0, pageToken: ofOthers }, own);
  t.ok(listed.keys.every(({ account }) => account === "user007"));
});

/**
 * An authority with rules of three priorities, in addition to its first rule. Each rule has `bytes`
 * to 1.5 × `bytes` bytes.
 */
async function filledWithRules(t: Parameters<typeof open>[0], count: number, bytes: number): Promise<Open> {
  const folder = temporaryFolder(t);
  await (await open(t, { folder })).close();
  const store = await openStore("sqlite:", folder);
  const journal = await openJournal(store);
  const rules = Array.from({ length: count }, (_, index): Rule => {
    // In reverse, so that the order of IDs differs from the order of creation.
    const id = `rule${String(count - index).padStart(5, "0")}`;
    const resource = `service:${"x".repeat(bytes)}:*`;
    return {
      id,
      scope: "s".repeat(bytes / 2),
      access: Access.GRANTED,
      resource,
      priority: [-1, 0, 20][index % 3]!,
      disabled: false,
    };
  });
  while (rules.length > 0) {
    const some = rules.splice(0, 500);
    await journal.commit(PORTICO, () =>
      some.map((rule) => ({ $case: "ruleCreated", value: { namespace: "default", rule } })),
    );
  }
  await journal.close();
  await store.close();
  return open(t, { folder });
}

/** The pages of the rules. */
async function pagesOfRules({ call }: Open, token: string, pageSize: number): Promise<ListRulesResponse[]> {
  const pages: ListRulesResponse[] = [];
  for (let pageToken = ""; pages.length === 0 || pageToken !== ""; pageToken = pages.at(-1)!.nextPageToken) {
    pages.push(await call(RulesService.list, { pageSize, pageToken }, token));
  }
  return pages;
}

const isInOrder = (a: Rule | undefined, b: Rule): boolean =>
  a === undefined || a.priority > b.priority || (a.priority === b.priority && a.id < b.id);

t.test("the pages of rules have each rule once, by descending priority and then by ID", async (t) => {
  const authority = await filledWithRules(t, 1_500, 10);
  const token = await authority.login();
  for (const [pageSize, count] of [
    [0, 1],
    [100, 16],
    [1_000, 2],
  ] as const) {
    const pages = await pagesOfRules(authority, token, pageSize);
    const rules = pages.flatMap(({ rules }) => rules);
    t.equal(pages.length, count, `pages of ${pageSize}`);
    t.equal(new Set(rules.map(({ id }) => id)).size, 1_501);
    t.ok(rules.every((rule, index) => isInOrder(rules[index - 1], rule)));
  }
});

t.test("rules that exceed a message are returned in pages, even if the request gives no page size", async (t) => {
  const authority = await filledWithRules(t, 9_000, 240);
  const token = await authority.login();
  const pages = await pagesOfRules(authority, token, 0);
  t.equal(pages.length, 2);
  t.equal(pages.flatMap(({ rules }) => rules).length, 9_001);
  for (const page of pages) t.ok(ListRulesResponse.encode(page).finish().length < 4 * 1024 ** 2);
});

t.test("deleting a rule between two pages hides no other rule", async (t) => {
  const authority = await filledWithRules(t, 6, 10);
  const token = await authority.login();
  const all = (await pagesOfRules(authority, token, 0))[0]!.rules;
  const first = await authority.call(RulesService.list, { pageSize: 2, pageToken: "" }, token);
  for (const { id } of [first.rules[1]!, all[2]!]) await authority.call(RulesService.delete, { id }, token);
  const next = await authority.call(RulesService.list, { pageSize: 2, pageToken: first.nextPageToken }, token);
  t.same(next.rules, all.slice(3, 5));
});

t.test("invalid page sizes and page tokens are refused", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const cases: [pageSize: number, pageToken: string, message: RegExp][] = [
    [-1, "", /^page_size: must be from 1 to 1000, or 0 for (?:1000|all that fit)$/],
    [1_001, "", /^page_size: /],
    [0, "x", /^page_token: must be the next_page_token of a list, unchanged$/],
    [0, Buffer.from("{}").toString("base64url"), /^page_token: /],
  ];
  for (const [pageSize, pageToken, message] of cases) {
    for (const method of [KeysService.list, AccountsService.list, RulesService.list]) {
      await t.rejects(call<typeof cases, unknown>(method as never, { pageSize, pageToken } as never, token), {
        code: Code.INVALID_ARGUMENT,
        message,
      });
    }
  }
});
