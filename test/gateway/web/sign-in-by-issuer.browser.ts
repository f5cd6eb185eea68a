// A person signs in on the pages by a real issuer, oidc-provider, at another site: by keyboard, in
// light and dark, on a desk and on a phone. The page comes back to where it was, and nothing of the
// sign-in is in its address.
import { join } from "node:path";
import type { Page } from "playwright-core";
import t from "tap";
import { CLIENT, openProvider } from "../../oauth/provider.js";
import { installation } from "../../support/installation.js";
import { answered, call, start } from "../../support/process.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, launch, screenshot, visit } from "./browser.js";
import { overflow } from "./console-browser.js";

/** Browsers have keys at localhost and below it, over http too. */
const PUBLIC = "http://portico.localhost";
const CALL = "/explore/helloworld/Helloworld.Call#request=%7B%22name%22%3A%22Ada%22%7D";

async function post(origin: string, path: string, body: unknown, token?: string): Promise<Record<string, string>> {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Record<string, string>;
}

/** Moves the focus on until it is at the element. */
async function tabTo(page: Page, name: string): Promise<void> {
  const wanted = page.getByRole("button", { name });
  await wanted.waitFor();
  const isFocused = () => wanted.evaluate((element) => element === element.ownerDocument.activeElement);
  for (let tabs = 0; tabs < 30 && !(await isFocused()); tabs++) await page.keyboard.press("Tab");
  if (!(await isFocused())) throw new Error(`the keyboard does not reach ${name}`);
}

t.test("a person signs in by an issuer", { timeout: 120_000 }, async (t) => {
  const provider = await openProvider(t, `${PUBLIC}/oauth/callback/company`);
  provider.people.ann1 = { email: "ann@acme.example", email_verified: true };
  const portico = await start(["server"], {
    PORTICO_DATA: await installation(join(t.testdir({}), "data")),
    PORTICO_OWN_SERVICES: "helloworld",
    PORTICO_PUBLIC_URL: PUBLIC,
    PORTICO_HTTP_HOSTS: "portico.localhost",
  });
  t.teardown(() => portico.stop());
  const at = portico.address("HTTP");
  await answered(() => call(`${at}/helloworld/Call`), 200);
  const { accessToken } = await post(at, "/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const signIn = { clientId: CLIENT.clientId, createAccounts: true };
  const issuer = { name: "company", url: provider.url, signIn, clientSecret: CLIENT.clientSecret };
  await post(at, "/v1/auth/Issuers/Create", issuer, accessToken);
  const browser = await launch(t, [`--host-resolver-rules=MAP portico.localhost 127.0.0.1:${new URL(at).port}`]);
  const setting = { browser, origin: PUBLIC };

  await t.test("from a dialog, on a phone and in the dark, by keyboard", async (t) => {
    const watched = await visit(t, setting, CALL, { width: 360, height: 640, scheme: "dark" });
    const { page } = watched;
    await page.getByRole("banner").getByRole("button", { name: "Sign in" }).press("Enter");
    await tabTo(page, "Continue with company");
    const box = await page.getByRole("button", { name: "Continue with company" }).boundingBox();
    t.ok(box !== null && box.height >= 36 && box.x >= 0 && box.x + box.width <= 360, "it fits the screen");
    t.same(await seriousFaults(page), []);
    await screenshot(page, "sign-in-by-issuer-dark-phone");
    await page.keyboard.press("Enter");
    await page.locator("input[name=login]").fill("ann1");
    await page.locator("input[name=password]").fill("of the issuer");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Continue" }).press("Enter");
    await page.getByRole("banner").getByRole("button", { name: "Account ann@acme.example" }).waitFor();
    t.equal(page.url(), PUBLIC + CALL, "where the person was");
    t.equal(await page.getByRole("textbox", { name: "name" }).inputValue(), "Ada");
    t.match(await page.context().cookies(`${PUBLIC}/session`), [
      { name: /^portico-[0-9a-f-]{36}$/, httpOnly: true, sameSite: "Strict", path: "/session" },
    ]);
    t.same([watched.violations, watched.failures], [[], []]);
    await page.reload();
    await t.resolves(page.locator(".who").waitFor(), "the session survives a reload");
  });

  await t.test("at the console, on a desk: a person who changes his mind gets back, and signs in", async (t) => {
    const { page } = await visit(t, setting, "/console/keys");
    await tabTo(page, "Continue with company");
    t.same(await seriousFaults(page), []);
    await screenshot(page, "sign-in-by-issuer-light-desk");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Cancel" }).press("Enter");
    await page.getByRole("alert").getByText("You have not signed in at company").waitFor();
    t.same(await seriousFaults(page), []);
    await screenshot(page, "sign-in-by-issuer-refused");
    await page.getByRole("link", { name: "Back, to try again" }).press("Enter");
    await page.getByRole("alert").getByText("You have not been signed in").waitFor();
    t.equal(page.url(), `${PUBLIC}/console/keys`);
    t.same(await seriousFaults(page), []);
    t.equal(await overflow(page), 0);
    await page.getByLabel("Account").fill("admin");
    await page.getByLabel("Password").fill(ADMIN_PASSWORD);
    await page.keyboard.press("Enter");
    await t.resolves(page.getByRole("heading", { name: "API keys" }).waitFor());
  });

  await t.test("at another address of the gateway, the page names the one to go to", async (t) => {
    const watched = await visit(t, { browser, origin: at }, "/console");
    const { page } = watched;
    await page.getByRole("link", { name: PUBLIC }).waitFor();
    t.equal(await page.getByRole("button", { name: /^Continue/ }).count(), 0);
    await screenshot(page, "sign-in-by-issuer-elsewhere");
    checkClean(t, watched);
  });
});
