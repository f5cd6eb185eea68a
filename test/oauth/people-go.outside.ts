// People sign in by an issuer that is written in Go, with the OpenID Connect library of Zitadel.
// Its URL ends with a slash, and only its UserInfo endpoint has the person's e-mail address.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import t, { type Test } from "tap";
import { goModule } from "../outside/tools.js";
import { type Door, openDoor } from "./browser.js";
import { allow, Browser, goToIssuer, PUBLIC, reasonOn, refresh, registerApp } from "./people.js";

t.setTimeout(300_000);

const program = goModule("issuer", "test/oauth/go-issuer");
const PERSON = { username: "test-user2", password: "verysecure" };

/** @returns its URL */
async function openIssuer(t: Test): Promise<string> {
  const child = spawn(program!, [`${PUBLIC}/oauth/callback/company`], { stdio: ["ignore", "pipe", "ignore"] });
  t.teardown(() => child.kill());
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return url;
}

async function company(t: Test): Promise<{ door: Door; url: string }> {
  const door = await openDoor(t, { flags: { publicUrl: PUBLIC } });
  const url = await openIssuer(t);
  const signIn = { clientId: "portico", createAccounts: true };
  await door.auth("Issuers/Create", { name: "company", url, signIn, clientSecret: "secret" });
  await registerApp(door);
  return { door, url };
}

async function signIn(browser: Browser, filled: Record<string, string>) {
  const page = await browser.open((await goToIssuer(browser)).headers.get("location") ?? "");
  const form = new URLSearchParams(filled);
  form.set("id", /name="id" value="([^"]*)"/.exec(page.text)?.[1] ?? "");
  return browser.open(new URL("/login/username", page.url).href, form);
}

t.test("an issuer in Go", { skip: program === undefined && "there is no Go here" }, async (t) => {
  t.test("a person signs in, allows, and refreshes as long as the issuer does", async (t) => {
    const { door } = await company(t);
    const browser = new Browser(door);
    const page = await signIn(browser, PERSON);
    t.match(page.text, /You are signed in as <strong>test-user2@zitadel\.ch<\/strong>/, reasonOn(page));
    const tokens = await allow(door, browser, page);
    t.equal(await door.statusOf(tokens.access_token), 200);
    const next = await refresh(door, tokens);
    t.equal(await door.statusOf(next.access_token), 200);
    const account = await door.auth("WhoAmI", {}, next.access_token);
    t.match(account, { account: "test-user2@zitadel.ch", namespace: "default" });
  });

  t.test("a wrong password leads nowhere", async (t) => {
    const { door } = await company(t);
    const page = await signIn(new Browser(door), { ...PERSON, password: "wrong" });
    t.match(page.text, /<form method="POST" action="\/login\/username"/, "the issuer asks again");
    t.match(await door.auth("Accounts/List"), { accounts: [{ name: "admin" }] });
  });

  t.test("its tokens end with the issuer", async (t) => {
    const { door } = await company(t);
    const browser = new Browser(door);
    const tokens = await allow(door, browser, await signIn(browser, PERSON));
    await door.auth("Issuers/Delete", { name: "company" });
    t.equal(await door.statusOf(tokens.access_token), 401);
    t.match(await refresh(door, tokens), { error: "invalid_grant" });
  });
});
