// A sign-in on the pages survives a reload and counts in every tab, until one of them signs out or
// the authority ends it.
import type { Page } from "playwright-core";
import t from "tap";
import { ADMIN_PASSWORD, checkClean, open, signIn, signOut, visit } from "./browser.js";

const HELLO = "/explore/helloworld/Helloworld.Call";

t.test("the session of a browser", { timeout: 200_000 }, async (t) => {
  const setting = await open(t);
  const send = async (page: Page) => {
    const sent = page.waitForRequest("**/v1/helloworld/Call");
    await page.getByRole("button", { name: "Send" }).click();
    return (await (await sent).headerValue("authorization")) as string;
  };
  const statusOf = async (authorization: string) =>
    (await fetch(`${setting.origin}/v1/auth/Auth/WhoAmI`, { method: "POST", headers: { authorization } })).status;
  const signedOut = (page: Page) =>
    page.getByRole("banner").getByRole("button", { name: "Sign in", exact: true }).waitFor();
  /** A second tab of the same browser, where the first one has signed in. */
  const tabs = async () => {
    const watched = await visit(t, setting, HELLO);
    await signIn(watched.page);
    const second = await watched.page.context().newPage();
    await second.goto(HELLO);
    await second.locator(".who").waitFor();
    return { watched, first: watched.page, second };
  };

  await t.test("a reload and a second tab stay signed in; a sign-out of one ends both", async (t) => {
    const { watched, first, second } = await tabs();
    await first.reload();
    await first.locator(".who").getByText("admin").waitFor();
    const tokens = [await send(first), await send(second)];
    t.not(tokens[0], tokens[1], "each tab has a token of its own");
    for (const token of tokens) t.equal(await statusOf(token), 200);
    const told = first.waitForResponse("**/session/end");
    await signOut(first);
    t.equal((await told).status(), 200);
    await signedOut(second);
    for (const token of tokens) t.equal(await statusOf(token), 401);
    t.same(await first.context().cookies(), []);
    await first.reload();
    await signedOut(first);
    checkClean(t, watched);
  });

  await t.test("no script can read the cookie or export the key", async (t) => {
    const { first } = await tabs();
    const cookies = await first.context().cookies();
    t.match(cookies, [{ httpOnly: true, sameSite: "Strict", path: "/session", name: /^portico-[0-9a-f-]{36}$/ }]);
    t.equal(await first.evaluate("document.cookie"), "");
    const extractable = await first.evaluate(`new Promise((resolve, reject) => {
      const opening = indexedDB.open("portico-session");
      opening.onerror = reject;
      opening.onsuccess = () => {
        const asked = opening.result.transaction("keys").objectStore("keys").get("key");
        asked.onsuccess = () => resolve(asked.result.key.extractable);
      };
    })`);
    t.equal(extractable, false);
  });

  await t.test("a session that the authority has ended asks to sign in again", async (t) => {
    const { first, second } = await tabs();
    const authorization = await send(first);
    const headers = { authorization, "content-type": "application/json" };
    const left = await fetch(`${setting.origin}/v1/auth/Auth/Logout`, { method: "POST", headers, body: "{}" });
    t.equal(left.status, 200);
    await send(second);
    await second.getByRole("dialog").getByText("Your session was ended. Sign in again to go on.").waitFor();
    await first.reload();
    await signedOut(first);
  });

  /** Two tabs whose session has ended. The second has noticed; a request is being written there. */
  const endedTabs = async () => {
    const { first, second } = await tabs();
    const name = second.getByRole("textbox", { name: /^name\b/ });
    await name.fill("written for long");
    const headers = { authorization: await send(first), "content-type": "application/json" };
    const ask = (path: string, body: object) =>
      fetch(`${setting.origin}/v1/auth/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    await ask("Accounts/Create", { name: "bob", password: ADMIN_PASSWORD });
    await ask("Auth/Logout", {});
    await send(second);
    const dialog = second.getByRole("dialog", { name: "Sign in" });
    await dialog.getByText("Your session was ended. Sign in again to go on.").waitFor();
    return { first, second, name, dialog };
  };

  await t.test("a tab that learns of the end when it is loaded again takes nothing from the others", async (t) => {
    const { first, name, dialog } = await endedTabs();
    await first.reload();
    await signedOut(first);
    await signIn(first);
    await dialog.waitFor({ state: "detached" });
    t.equal(await name.inputValue(), "written for long");
  });

  await t.test("after the end, another account in another tab takes nothing, and is not signed out", async (t) => {
    const { first, second, name, dialog } = await endedTabs();
    await first.reload();
    await signIn(first, "bob");
    await dialog.getByText("Another account has signed in in this browser.").waitFor();
    t.equal(await name.inputValue(), "written for long");
    await dialog.getByRole("button", { name: "Sign out instead" }).click();
    await signedOut(second);
    await first.reload();
    await first.locator(".who").getByText("bob").waitFor();
  });

  await t.test("signing out everywhere ends the sessions of other browsers", async (t) => {
    const { first, second } = await tabs();
    const { page: other } = await visit(t, setting, HELLO);
    await signIn(other);
    const token = await send(other);
    await first
      .getByRole("banner")
      .getByRole("button", { name: /^Account / })
      .click();
    await first.getByRole("button", { name: "Sign out everywhere" }).click();
    await first.getByText("Signed out everywhere").waitFor();
    t.equal(await statusOf(token), 401);
    await signedOut(second);
  });

  await t.test("a tab that is signed out follows a sign-in in another one", async (t) => {
    const { page: first } = await visit(t, setting, HELLO);
    const second = await first.context().newPage();
    await second.goto(HELLO);
    await signedOut(second);
    await signIn(first);
    await t.resolves(second.locator(".who").getByText("admin").waitFor());
  });

  await t.test("where there is no WebCrypto, the page logs in for itself", async (t) => {
    const { page } = await visit(t, setting, HELLO);
    await page.addInitScript("Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })");
    await page.reload();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await signIn(page);
    t.ok(asked.includes("/auth/Auth/Login"));
    t.notOk(asked.some((path) => path.startsWith("/session")));
    t.same(await page.context().cookies(), []);
    await page.reload();
    await signedOut(page);
  });

  await t.test("a wrong password is told, and no session begins", async (t) => {
    const { page } = await visit(t, setting, HELLO);
    await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Account").fill("admin");
    await dialog.getByLabel("Password").fill(`${ADMIN_PASSWORD}!`);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.getByRole("alert").getByText("Wrong account or password").waitFor();
    t.same(await page.context().cookies(), []);
  });
});
