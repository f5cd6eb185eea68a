// The signed-in account: tokens stay in the page's memory, and each account sees only what it may
// see.
import t from "tap";
import { ADMIN_PASSWORD, checkClean, screenshot, signOut } from "./browser.js";
import { chooseFor, visitConsole } from "./console-browser.js";

t.test("the session", { timeout: 120_000 }, async (t) => {
  const { page, watched, post, signIn, go } = await visitConsole(t, "/console/keys");
  const context = page.context();
  const shownTokens: string[] = [];
  page.on("response", async (response) => {
    if (!/\/session(?:\/start)?$/.test(response.url()) || !response.ok()) return;
    const { accessToken } = await response.json();
    shownTokens.push(accessToken);
  });
  const addresses: string[] = [];
  page.on("request", (request) => addresses.push(request.url()));

  await t.test("a wrong password is reported, and no account is signed in", async (t) => {
    await page.getByLabel("Account").fill("admin");
    await page.getByLabel("Password").fill("wrong horse battery");
    await page.locator("form").getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    t.notOk(await page.locator(".who").isVisible());
    await screenshot(page, "console-session-wrong-password");
    const where = page.getByText("The first start of Portico printed the password");
    t.ok(await where.isVisible());
    await page.getByLabel("Account").fill("bob");
    await page.locator("form").getByRole("button", { name: "Sign in" }).click();
    await where.waitFor({ state: "detached" });
    t.match(await page.getByRole("alert").innerText(), /password/, "only admin's was printed");
  });

  await t.test("tokens are in no address and no storage, and no script sees the cookie", async (t) => {
    await signIn();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    for (const title of ["Rules", "Accounts", "Usage", "Audit trail", "API keys"]) await go(title);
    t.equal(shownTokens.length, 1);
    const kept = await page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
    const everywhere = [kept, ...addresses, page.url()];
    for (const token of shownTokens) {
      t.match(token, /^pta_/);
      t.notOk(
        everywhere.some((text) => text.includes(token)),
        "not kept",
      );
    }
    t.equal(await page.evaluate("document.cookie"), "");
    t.match(await context.cookies(), [{ httpOnly: true, path: "/session" }]);
  });

  await t.test("a reload stays signed in, at the same page", async (t) => {
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    t.equal(new URL(page.url()).pathname, "/console/keys");
  });

  await t.test("signing out revokes the token", async (t) => {
    const token = shownTokens.at(-1);
    t.equal((await post("/v1/auth/Auth/WhoAmI", {}, token)).status, 200);
    const left = page.waitForResponse((response) => response.url().endsWith("/session/end"));
    await signOut(page);
    await left;
    t.equal((await post("/v1/auth/Auth/WhoAmI", {}, token)).status, 401);
  });

  await t.test("an administrator makes an account, and sets its scopes", async (t) => {
    await signIn();
    await go("Accounts");
    await page.getByRole("button", { name: "New account" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("bob");
    await dialog.getByLabel("Password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Create account" }).click();
    await chooseFor(page, "bob", "Set scopes");
    await dialog.getByRole("textbox", { name: "Scopes" }).fill("greeters, billing");
    await dialog.getByRole("button", { name: "Set scopes" }).click();
    await t.resolves(page.getByRole("row").filter({ hasText: "bob" }).getByText("billing").waitFor());
  });

  await t.test("a session that was ended elsewhere asks to sign in again, and says why", async (t) => {
    await chooseFor(page, "admin", "Set password");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("New password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Set password" }).click();
    const again = page.getByRole("dialog", { name: "Sign in" });
    await t.resolves(again.getByText("Your session was ended. Sign in again to go on.").waitFor());
    await again.getByRole("button", { name: "Sign out instead" }).click();
  });

  await t.test("an account without the scope admin manages its own keys and apps, and sees nothing else", async (t) => {
    await signIn("bob");
    await page.getByRole("heading", { name: "Accounts: for administrators only" }).waitFor();
    t.same(await page.getByRole("navigation", { name: "Console" }).getByRole("link").allInnerTexts(), [
      "Overview",
      "API keys",
      "Connected apps",
      "Refusals",
    ]);
    await screenshot(page, "console-session-not-for-you");
    await go("Overview");
    await screenshot(page, "console-session-overview-of-bob");
    await go("API keys");
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("mine");
    await dialog.getByLabel("Only what is ticked").check();
    await dialog.getByLabel("Patterns").fill("service:helloworld:Helloworld.Call");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const key = (await dialog.locator(".secret code").textContent()) ?? "";
    await dialog.getByRole("button", { name: "I have copied the key" }).click();
    t.equal((await post("/v1/helloworld/Call", { name: "Bob" }, key)).status, 200);
    t.equal((await post("/v1/helloworld/Stream", { name: "Bob" }, key)).status, 403, "as limited");

    await chooseFor(page, "mine", "Rotate");
    await dialog.getByRole("button", { name: "Rotate key" }).click();
    const next = (await dialog.locator(".secret code").textContent()) ?? "";
    await dialog.getByRole("button", { name: "I have copied the key" }).click();
    t.not(next, key);
    for (const one of [key, next]) t.equal((await post("/v1/helloworld/Call", {}, one)).status, 200, "both live");
    const listed = page.getByRole("rowheader", { name: "mine" });
    await listed.nth(1).waitFor();
    t.equal(await listed.count(), 2);
    await screenshot(page, "console-session-rotated");
  });

  checkClean(t, watched);
});
