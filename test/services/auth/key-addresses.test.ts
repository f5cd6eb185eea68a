// API keys that are only for clients at some addresses, as the guard of an authority sees them.
import t from "tap";
import { CLIENT_ADDRESS } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { type CreateKeyRequest, KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { open } from "./open.js";

const newKey = { name: "deploy", lifetime: undefined, resources: [], from: ["192.0.2.0/24", "2001:db8::/32"] };
const HERE = { clientAddress: "192.0.2.7" };
const DAY = { seconds: 86_400n, nanos: 0 };

t.test("a key counts only for clients at its addresses", async (t) => {
  const { call, login } = await open(t);
  const { secret, key } = await call(KeysService.create, newKey, await login());
  t.same(key?.from, newKey.from);
  const cases: [address: string, isGood: boolean][] = [
    ["192.0.2.7", true],
    ["::ffff:192.0.2.7", true],
    ["2001:db8::1", true],
    ["192.0.3.7", false],
    ["2001:db9::1", false],
    ["::1", false],
    ["", false],
    ["unix", false],
  ];
  for (const [clientAddress, isGood] of cases) {
    const asked = call(AuthService.whoAmI, {}, secret, { clientAddress });
    if (isGood) t.match(await asked, { account: "admin" }, clientAddress);
    else {
      const message =
        `Unauthorized call made to auth:Auth.WhoAmI: the API key ${key?.prefix} is for clients at other addresses; ` +
        "call from one of them, or create a key for yours";
      await t.rejects(asked, { code: Code.UNAUTHENTICATED, message }, clientAddress);
    }
  }
});

t.test("the address that a gateway forwards counts, and no other", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const { secret } = await call(KeysService.create, newKey, admin);
  const enrolled = async (name: string) =>
    (await call(EnrolmentsService.create, { name, replace: true }, admin)).secret;
  const [gateway, service] = [await enrolled("gateway"), await enrolled("shop")];
  const from = (client: string, token: string | undefined, clientAddress = "198.51.100.1") => ({
    clientAddress,
    metadata: [
      [CLIENT_ADDRESS, client] as const,
      ...(token === undefined ? [] : [["x-portico-gateway", token] as const]),
    ],
  });
  t.ok(await call(AuthService.whoAmI, {}, secret, from("192.0.2.7", gateway)));
  for (const [forged, why] of [
    [from("192.0.2.7", undefined), "no gateway"],
    [from("192.0.2.7", service), "a service"],
    [from("192.0.2.7", admin), "an account"],
    [from("192.0.2.7", secret), "the key itself"],
    [from("198.51.100.9", gateway, "192.0.2.7"), "a gateway that is at one of the addresses"],
  ] as const) {
    await t.rejects(call(AuthService.whoAmI, {}, secret, forged), { code: Code.UNAUTHENTICATED }, why);
  }
});

t.test("a key for some addresses creates no key, which could be for all", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const { secret, key } = await call(KeysService.create, newKey, admin);
  const denied = { code: Code.PERMISSION_DENIED, message: "A key that is limited to addresses cannot create keys" };
  await t.rejects(call(KeysService.create, { ...newKey, from: [], lifetime: DAY }, secret, HERE), denied);
  const { prefix } = key!;
  await t.rejects(call(KeysService.rotate, { prefix, overlap: undefined }, secret, HERE), denied);
  const rotated = await call(KeysService.rotate, { prefix, overlap: undefined }, admin);
  t.same(rotated.key?.from, newKey.from, "a rotation keeps the addresses");
});

t.test("refuses what is no address", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const create = (from: string[]) => call(KeysService.create, { ...newKey, from } satisfies CreateKeyRequest, admin);
  for (const text of [
    "",
    "example.com",
    "192.0.2.0/33",
    "192.0.2.0/",
    "192.0.2",
    "2001:db8::/129",
    "fe80::1%eth0",
    "*",
  ]) {
    await t.rejects(create(["192.0.2.1", text]), {
      code: Code.INVALID_ARGUMENT,
      message: `from[1]: must be addresses and CIDR ranges such as 10.0.0.0/8 or fd00::1 (not "${text}")`,
    });
  }
  await t.rejects(create(Array(101).fill("192.0.2.1")), { message: "from: must be at most 100" });
});

t.test("explain says for which addresses a key is", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const { key } = await call(KeysService.create, newKey, admin);
  const resource = "service:helloworld:Helloworld.Call";
  const { code, chain } = await call(RulesService.explain, { account: "", key: key!.prefix, resource }, admin);
  t.equal(code, 200);
  const detail = `${key?.prefix} (deploy) is valid for clients at 192.0.2.0/24, 2001:db8::/32 alone`;
  t.match(chain[1], { name: "key", detail });
});

t.test("a key for some addresses lives and dies as any other", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const robot = { name: "robot", password: "", scopes: [], withoutPassword: true };
  await call(AccountsService.create, robot, admin);
  const { secret } = await call(KeysService.create, { ...newKey, account: "robot" }, admin);
  t.ok(await call(AuthService.whoAmI, {}, secret, HERE));
  await call(AccountsService.setDisabled, { name: "robot", disabled: true }, admin);
  await t.rejects(call(AuthService.whoAmI, {}, secret, HERE), {
    code: Code.UNAUTHENTICATED,
    message: /: the account of the API key ptk_\w+ is disabled; an administrator can enable it$/,
  });
});
