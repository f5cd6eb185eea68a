// What an issuer may say about people, and who may let it.
import t, { type Test } from "tap";
import { openDoor } from "../../oauth/browser.js";

const NAMED = { clientId: "portico", map: [] as { group: string; scope: string }[] };
const map = (scope: string, group = "staff") => [{ group, scope }];

const SETTINGS: readonly (readonly [signIn: object, refusal: RegExp | undefined])[] = [
  [NAMED, undefined],
  [{ ...NAMED, map: map("employee") }, undefined],
  [{ ...NAMED, map: map("administrative-staff") }, /may give no scope that begins with admin/],
  [{ ...NAMED, map: map("admin") }, /sign_in\.map\[0\]: the issuer may give no scope that begins with admin/],
  [{ ...NAMED, map: map("admin:keys") }, /may give no scope/],
  [{ ...NAMED, map: map("service:orders") }, /may give no scope/],
  [{ ...NAMED, map: map("agent:claude.ai") }, /may give no scope/],
  [{ ...NAMED, map: map("admin"), mayAdminister: true }, undefined],
  [{ ...NAMED, map: map("admin:keys"), mayAdminister: true }, undefined],
  [{ ...NAMED, map: map("admin:on:service:orders:*") }, /may give no scope/],
  [{ ...NAMED, map: map("admin:on:service:orders:*"), mayAdminister: true }, undefined],
  [{ ...NAMED, map: map("admin:on:*:*:*"), mayAdminister: true }, /must begin with service:/],
  [{ ...NAMED, map: map("admin:everything"), mayAdminister: true }, /gives no part of administration/],
  [{ ...NAMED, map: map("<public>") }, /without < > \*/],
  [{ ...NAMED, map: map("*") }, /without < > \*/],
  [{ ...NAMED, map: map("employee", "") }, /the group must have 1 to 500 characters/],
  [{ ...NAMED, accountClaim: "email" }, undefined],
  [{ ...NAMED, accountClaim: "preferred_username" }, /set trust_claim/],
  [{ ...NAMED, accountClaim: "preferred_username", trustClaim: true }, undefined],
  [{ ...NAMED, accountClaim: "aud", trustClaim: true }, /names nobody/],
  [{ ...NAMED, accountClaim: "email_verified", trustClaim: true }, /names nobody/],
  [{ ...NAMED, clientId: "" }, /sign_in\.client_id: must have/],
  [{ ...NAMED, clientId: "a b" }, /sign_in\.client_id: must have/],
];

t.test("settings of an issuer", async (t) => {
  const door = await openDoor(t);
  for (const [index, [signIn, refusal]] of SETTINGS.entries()) {
    const request = { name: `issuer-${index}`, url: "https://issuer.example", signIn };
    const created = door.auth("Issuers/Create", request);
    if (refusal === undefined) t.match(await created, { callbackPath: `/oauth/callback/issuer-${index}` });
    else await t.rejects(created, refusal, JSON.stringify(signIn));
  }
  const secret = { name: "programs", url: "https://issuer.example", clientSecret: "s" };
  await t.rejects(door.auth("Issuers/Create", secret), /client_secret: needs sign_in/);
});

/** A token of an account with a scope. */
async function administrator(t: Test, scope: string) {
  const door = await openDoor(t);
  const person = { account: "dora", password: "a long password" };
  await door.auth("Accounts/Create", { name: person.account, password: person.password, scopes: [scope] });
  const body = JSON.stringify(person);
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${door.url}/auth/login`, { method: "POST", headers, body });
  return { door, secret: ((await response.json()) as { accessToken: string }).accessToken };
}

t.test("an administrator of accounts links and unlinks none that administers, and creates no issuer", async (t) => {
  const { door, secret } = await administrator(t, "admin:accounts");
  await door.auth("Issuers/Create", { name: "company", url: "https://issuer.example", signIn: NAMED });
  await door.auth("Accounts/Create", { name: "bob", withoutPassword: true, scopes: ["employee"] });
  const link = (name: string, issuer = "company", subject = "1") =>
    door.auth("Accounts/Link", { name, issuer, subject }, secret);
  await t.rejects(link("admin"), /only an account with the scope admin may do this/);
  await t.rejects(link("nobody"), /no account with the name nobody/);
  await t.rejects(link("bob", "other"), /no issuer with the name other/);
  await t.rejects(link("bob", "company", ""), /subject: must have/);
  await link("bob");
  await link("bob");
  await door.auth("Accounts/Link", { name: "admin", issuer: "company", subject: "2" });
  const unlink = (name: string) => door.auth("Accounts/Unlink", { name }, secret);
  await t.rejects(unlink("admin"), /only an account with the scope admin may do this/);
  t.same(await unlink("bob"), { people: 1 });
  await t.rejects(door.auth("Issuers/Create", { name: "own", url: "https://issuer.example" }, secret), /admin/);
});
