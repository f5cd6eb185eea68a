// An administrator takes back that an account is a person: when the command returns, nothing that
// came of the link counts, and what the account has otherwise stays.
import t, { type Test } from "tap";
import { type Door, openDoor } from "./browser.js";
import { allow, Browser, PUBLIC, reasonOn, refresh, registerApp, signInAs } from "./people.js";
import { CLIENT, openProvider } from "./provider.js";

const ANN = { name: "ann", password: "a password of one's own", scopes: ["own"] };

async function linked(t: Test): Promise<Door> {
  const door = await openDoor(t, { flags: { publicUrl: PUBLIC } });
  const provider = await openProvider(t, `${PUBLIC}/oauth/callback/company`);
  const { clientId, clientSecret } = CLIENT;
  for (const name of ["company", "other"]) {
    const signIn = { clientId, map: [{ group: "staff", scope: "employee" }] };
    await door.auth("Issuers/Create", { name, url: provider.url, signIn, clientSecret });
  }
  await registerApp(door);
  await door.auth("Accounts/Create", ANN);
  await door.auth("Accounts/Link", { name: "ann", issuer: "company", subject: "ann1" });
  await door.auth("Accounts/Link", { name: "ann", issuer: "other", subject: "ann1" });
  provider.people.ann1 = { groups: ["staff"] };
  return door;
}

async function scopesOf(door: Door): Promise<unknown> {
  const { accounts } = await door.auth<{ accounts: { name: string; scopes: string[] }[] }>("Accounts/List");
  return accounts.find(({ name }) => name === "ann")?.scopes;
}

t.test("what came of the link ends, and the rest of the account stays", async (t) => {
  const door = await linked(t);
  const browser = new Browser(door);
  const tokens = await allow(door, browser, await signInAs(browser, "ann1"));
  const waiting = await signInAs(browser, "ann1");
  const { accessToken } = await door.auth<{ accessToken: string }>("Login", { account: "ann", password: ANN.password });
  const { secret } = await door.auth<{ secret: string }>("Keys/Create", { name: "ci" }, accessToken);
  t.same(await scopesOf(door), ["own", "employee"]);

  t.same(await door.auth("Accounts/Unlink", { name: "ann", issuer: "company" }), { people: 1 });
  t.equal(await door.statusOf(tokens.access_token), 401);
  t.match(await refresh(door, tokens), { error: "invalid_grant" });
  t.match(reasonOn(await browser.submit(waiting, { decision: "allow" })), /too old/, "a consent page that is open");
  t.same(await scopesOf(door), ["own"], "the scopes of groups");
  for (const token of [accessToken, secret]) t.equal(await door.statusOf(token), 200, "the password and the key");
  t.equal((await signInAs(browser, "ann1")).status, 400, "nobody signs in by it");
  const { records } = await door.auth<{ records: { action: string; subject: string }[] }>("Audit/List");
  t.ok(records.some(({ action, subject }) => action === "account unlinked" && subject === "ann: company:ann1"));
});

t.test("a person who is unlinked can be another account", async (t) => {
  const door = await linked(t);
  await door.auth("Accounts/Create", { name: "ann-two", withoutPassword: true });
  const link = { name: "ann-two", issuer: "company", subject: "ann1" };
  await t.rejects(door.auth("Accounts/Link", link), /company:ann1 is the account ann; unlink it first/);
  await door.auth("Accounts/Unlink", { name: "ann", issuer: "company" });
  await door.auth("Accounts/Link", link);
  t.match((await signInAs(new Browser(door), "ann1")).text, /<strong>ann-two<\/strong>/);
});

t.test("without an issuer, all links of the account end", async (t) => {
  const door = await linked(t);
  t.same(await door.auth("Accounts/Unlink", { name: "ann" }), { people: 2 });
  await t.rejects(door.auth("Accounts/Unlink", { name: "ann" }), /ann is linked to no person/);
  await t.rejects(door.auth("Accounts/Unlink", { name: "bob" }), /no account with the name bob/);
});
