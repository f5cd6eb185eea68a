import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import t, { type Test } from "tap";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { type CreateKeyRequest, KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { temporaryFolder } from "../../support/temporary.js";
import { isGood, type Open, open, PASSWORD } from "./open.js";
import { Watch } from "./watch.js";

const DAY = 86_400;
const days = (count: number) => ({ seconds: BigInt(count * DAY), nanos: 0 });
const ci = { name: "ci", lifetime: undefined, resources: [], from: [] };

/** The token of a new account without scopes. */
async function account({ call, login }: Open, name: string): Promise<string> {
  await call(AccountsService.create, { name, password: PASSWORD, scopes: [] }, await login());
  return login(name);
}

t.test("a key is shown once, and listed by its prefix", async (t) => {
  const now = 1_800_000_000_000;
  const opened = await open(t, { clock: () => now });
  const { call, login } = opened;
  const token = await login();
  const request = { name: "ci", lifetime: days(30), resources: ["service:helloworld:*"], from: [] };
  const { secret, key } = await call(KeysService.create, request, token);
  t.match(secret, /^ptk_/);
  t.ok(await isGood(opened, secret));
  const { keys } = await call(KeysService.list, { pageSize: 0, pageToken: "" }, token);
  t.match(keys, [
    {
      prefix: secret.slice(0, 10),
      name: "ci",
      account: "admin",
      created: { seconds: 1_800_000_000n },
      expires: { seconds: BigInt(1_800_000_000 + 30 * DAY) },
      lastUsed: undefined,
      resources: ["service:helloworld:*"],
      from: [],
    },
  ]);
  t.same(keys, [key]);
});

t.test("refuses invalid names and lifetimes of keys", async (t) => {
  let now = 1_800_000_000_000;
  const opened = await open(t, { clock: () => now });
  const { call, login } = opened;
  const token = await login();
  const refused: [request: Partial<CreateKeyRequest>, message: RegExp][] = [
    [{ lifetime: { seconds: BigInt(DAY - 1), nanos: 999_999_999 } }, /^lifetime: must be from 1 to 365 days$/],
    [{ lifetime: { seconds: BigInt(365 * DAY), nanos: 1_000_000 } }, /^lifetime: /],
    [{ lifetime: days(-1) }, /^lifetime: /],
    [{ name: "" }, /^name: must have 1 to 100 printable characters$/],
    [{ name: "x".repeat(101) }, /^name: /],
    [{ name: "a\nb" }, /^name: /],
    [{ name: "a\u2028b" }, /^name: /],
    [{ name: "a\u202eb" }, /^name: /],
    [{ name: " ci" }, /^name: must not begin or end with white space$/],
    [{ name: "ci\u00a0" }, /^name: must not begin or end with white space$/],
    [{ resources: ["*:*:*", "helloworld"] }, /^resources\[1\]: /],
  ];
  const create = (fields: Partial<CreateKeyRequest>) => call(KeysService.create, { ...ci, ...fields }, token);
  for (const [request, message] of refused) await t.rejects(create(request), { code: Code.INVALID_ARGUMENT, message });
  const shortest = await create({ lifetime: days(1) });
  t.ok(await create({ lifetime: days(365) }));
  now += DAY * 1000 - 1;
  t.ok(await isGood(opened, shortest.secret));
  now += 1;
  t.notOk(await isGood(opened, shortest.secret), "it expires to the millisecond");
});

t.test("an account manages its own keys, an administrator all keys", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const admin = await login();
  const bob = await account(opened, "bob");
  const ann = await account(opened, "ann");
  const { secret, key } = await call(KeysService.create, ci, bob);
  const prefix = key?.prefix ?? "";
  const list = async (token: string) =>
    (await call(KeysService.list, { pageSize: 0, pageToken: "" }, token)).keys.map(({ account }) => account);
  t.same(await list(bob), ["bob"]);
  t.same(await list(ann), []);
  t.same(await list(admin), ["bob"]);
  const notFound = { code: Code.NOT_FOUND, message: `no key with the prefix ${prefix}` };
  await t.rejects(call(KeysService.revoke, { prefix }, ann), notFound);
  await t.rejects(call(KeysService.rotate, { prefix, overlap: undefined }, ann), notFound);
  t.ok(await isGood(opened, secret));
  await call(KeysService.revoke, { prefix }, admin);
  t.notOk(await isGood(opened, secret));
  await t.rejects(call(KeysService.revoke, { prefix }, bob), notFound);
});

t.test("a rotated key has the same name, limits and lifetime; the old key is valid for the overlap", async (t) => {
  let now = 1_800_000_000_000;
  const opened = await open(t, { clock: () => now });
  const { call, login } = opened;
  const token = await login();
  const old = await call(
    KeysService.create,
    { name: "ci", lifetime: days(10), resources: ["service:helloworld:*"], from: [] },
    token,
  );
  now += 9 * DAY * 1000;
  const fresh = await login();
  const prefix = old.key?.prefix ?? "";
  const renewed = await call(KeysService.rotate, { prefix, overlap: { seconds: 3600n, nanos: 0 } }, fresh);
  t.match(renewed.key, {
    name: "ci",
    resources: ["service:helloworld:*"],
    expires: { seconds: BigInt(now / 1000 + 10 * DAY) },
  });
  now += 3600_000 - 1;
  t.ok(await isGood(opened, old.secret));
  now += 1;
  t.notOk(await isGood(opened, old.secret));
  t.ok(await isGood(opened, renewed.secret));

  const again = await login();
  const third = await call(KeysService.rotate, { prefix: renewed.key?.prefix ?? "", overlap: days(300) }, again);
  const listed = (await call(KeysService.list, { pageSize: 0, pageToken: "" }, again)).keys;
  t.same(
    listed.find(({ prefix }) => prefix === renewed.key?.prefix)?.expires,
    renewed.key?.expires,
    "an overlap does not prolong a key",
  );
  await call(KeysService.rotate, { prefix: third.key?.prefix ?? "", overlap: undefined }, again);
  t.notOk(await isGood(opened, third.secret), "without overlap the old key is gone at once");
});

t.test("a key that is rotated again during its overlap is replaced for its whole lifetime", async (t) => {
  const now = 1_800_000_000_000;
  const { call, login } = await open(t, { clock: () => now });
  const token = await login();
  const old = await call(KeysService.create, { ...ci, lifetime: days(365) }, token);
  const rotate = () =>
    call(KeysService.rotate, { prefix: old.key?.prefix ?? "", overlap: { seconds: 60n, nanos: 0 } }, token);
  await rotate();
  t.same((await rotate()).key?.expires, old.key?.expires);
});

t.test("a key cannot create a key that outlives it", async (t) => {
  let now = 1_800_000_000_000;
  const opened = await open(t, { clock: () => now });
  const { call, login } = opened;
  const { secret, key } = await call(KeysService.create, { ...ci, lifetime: days(10) }, await login());
  const create = (lifetime: ReturnType<typeof days> | undefined) =>
    call(KeysService.create, { ...ci, lifetime }, secret);
  for (const lifetime of [undefined, days(11)]) {
    await t.rejects(create(lifetime), { code: Code.PERMISSION_DENIED, message: /^lifetime: a key cannot create one/ });
  }
  t.same((await create(days(10))).key?.expires, key?.expires);
  now += 3_600_000;
  const rotated = await call(KeysService.rotate, { prefix: key?.prefix ?? "", overlap: undefined }, secret);
  t.same(rotated.key?.expires, key?.expires);
  const whole = await call(
    KeysService.rotate,
    { prefix: rotated.key?.prefix ?? "", overlap: undefined },
    await login(),
  );
  t.equal(whole.key?.expires?.seconds, BigInt(now / 1000 + 10 * DAY), "who logs in has the whole lifetime again");
});

t.test("a key that is limited to resources cannot create a key without limits", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const limited = await call(KeysService.create, { ...ci, resources: ["service:auth:Keys.*"], from: [] }, token);
  const other = await call(KeysService.create, ci, token);
  const denied = { code: Code.PERMISSION_DENIED, message: "A key that is limited to resources cannot create keys" };
  await t.rejects(call(KeysService.create, ci, limited.secret), denied);
  await t.rejects(
    call(KeysService.rotate, { prefix: other.key?.prefix ?? "", overlap: undefined }, limited.secret),
    denied,
  );
});

t.test("an account has at most 100 keys", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const bob = await account(opened, "bob");
  for (let count = 0; count < 100; count++) await call(KeysService.create, ci, bob);
  await t.rejects(call(KeysService.create, ci, bob), { code: Code.FAILED_PRECONDITION, message: /has 100 keys/ });
});

/**
 * Makes the next `times` random secrets begin with the same bytes; by default, until the test ends.
 */
function loadDice(t: Test, times = Number.POSITIVE_INFINITY): void {
  const { randomBytes } = crypto;
  let left = times;
  const loaded = (size: number): Buffer =>
    left-- > 0 ? Buffer.concat([Buffer.alloc(8), randomBytes(size - 8)]) : randomBytes(size);
  const load = (bytes: typeof loaded): void => {
    Object.assign(crypto, { randomBytes: bytes });
    syncBuiltinESMExports();
  };
  load(loaded);
  t.teardown(() => load(randomBytes));
}

t.test("a new key gets an unused prefix", async (t) => {
  const opened = await open(t);
  const bob = await account(opened, "bob");
  const ann = await account(opened, "ann");
  loadDice(t, 6);
  const { key: first } = await opened.call(KeysService.create, ci, bob);
  const { key: second } = await opened.call(KeysService.create, ci, ann);
  t.not(second?.prefix, first?.prefix);
  t.match(first?.prefix, /^ptk_0/, "the dice were loaded");
});

t.test("a key is not created if its prefix is in use, because the prefix identifies a key", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const bob = await account(opened, "bob");
  const ann = await account(opened, "ann");
  loadDice(t);
  const { secret, key } = await call(KeysService.create, ci, bob);
  const taken = { code: Code.ABORTED, message: "the new key's prefix is taken; try again" };
  await t.rejects(call(KeysService.create, ci, ann), taken);
  await t.rejects(call(KeysService.rotate, { prefix: key?.prefix ?? "", overlap: undefined }, bob), taken);
  t.ok(await isGood(opened, secret), "and the old one is good");
});

t.test("guards report the last use of a key, which is written when the authority closes", async (t) => {
  const folder = temporaryFolder(t);
  const now = 1_800_000_000_000;
  const before = await open(t, { folder, clock: () => now });
  const token = await before.login();
  const { secret } = await before.call(KeysService.create, ci, token);
  const watch = new Watch(t, before.channel);
  watch.start();
  await watch.ping([hashToken(secret), hashToken("of no key")]);
  const lastUsed = async ({ call }: Open, token: string) =>
    (await call(KeysService.list, { pageSize: 0, pageToken: "" }, token)).keys.map(({ lastUsed }) => lastUsed?.seconds);
  t.same(await lastUsed(before, token), [1_800_000_000n]);
  await before.close();
  const after = await open(t, { folder, clock: () => now });
  t.same(await lastUsed(after, token), [1_800_000_000n]);
});
