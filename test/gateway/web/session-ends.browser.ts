// When a session ends, the page asks to sign in again, and keeps what was typed.
import type { Page } from "playwright-core";
import t from "tap";
import { ADMIN_PASSWORD, checkClean, open, screenshot, signIn, untilTrue, visit } from "./browser.js";

const ENDED = "Your session was ended. Sign in again to go on.";

t.test("a session that ends", { timeout: 200_000 }, async (t) => {
  const setting = await open(t);
  const post = (path: string, body: unknown, authorization: string) =>
    fetch(setting.origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify(body),
    });
  /** Signs in at a page. Returns a function that revokes that session from elsewhere. */
  const enter = async (page: Page) => {
    const told = page.waitForResponse("**/session/start");
    await signIn(page);
    const { accessToken } = (await (await told).json()) as { accessToken: string };
    const authorization = `Bearer ${accessToken}`;
    return { authorization, revoke: () => post("/v1/auth/Auth/Logout", {}, authorization) };
  };
  const again = async (page: Page, account = "admin") => {
    const dialog = page.getByRole("dialog", { name: "Sign in" });
    await dialog.getByText(ENDED).waitFor();
    await dialog.getByLabel("Account").fill(account);
    await dialog.getByLabel("Password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  };

  t.test("keeps a request that was being written", async (t) => {
    const watched = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const { page } = watched;
    const { revoke } = await enter(page);
    const name = page.getByRole("textbox", { name: "name" });
    await name.fill("written for long");
    await revoke();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("dialog").getByText(ENDED).waitFor();
    t.equal(await page.getByRole("dialog").getByLabel("Account").inputValue(), "admin", "whose session it was");
    await screenshot(page, "session-ended-light");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 360, height: 640 });
    await screenshot(page, "session-ended-phone-dark");
    await again(page);
    t.equal(await name.inputValue(), "written for long");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Hello written for long").first().waitFor();
    checkClean(t, watched);
  });

  t.test("keeps an open dialog of the console, which works after signing in again", async (t) => {
    const watched = await visit(t, setting, "/console/keys");
    const { page } = watched;
    const { revoke } = await enter(page);
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog").filter({ hasText: "For whom" });
    await dialog.getByRole("textbox", { name: "Name" }).fill("nightly report");
    await revoke();
    await dialog.getByRole("button", { name: "Create key" }).click();
    await again(page);
    t.equal(await dialog.getByRole("textbox", { name: "Name" }).inputValue(), "nightly report");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await page.getByText("It cannot be shown again").waitFor();
    checkClean(t, watched);
  });

  t.test("the dialog may be closed: then nothing is sent until an account signs in", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call", { width: 360, height: 640 });
    const { revoke } = await enter(page);
    const name = page.getByRole("textbox", { name: "name" });
    await name.fill("later");
    await revoke();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("dialog").getByText(ENDED).waitFor();
    await page.keyboard.press("Escape");
    t.equal(await name.inputValue(), "later");
    const calls: string[] = [];
    // Chromium reads the icon again when the fragment of the address changes. The dialog asks which
    // issuers it may offer.
    const besides = /\/assets\/icon-|\/session\/issuers$/;
    page.on("request", (request) => besides.test(request.url()) || calls.push(request.url()));
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("dialog").getByText(ENDED).waitFor();
    t.same(calls, [], "and asks again");
    await page.keyboard.press("Escape");
    t.ok((await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")) <= 0);
    await page.getByRole("button", { name: "Sign in again" }).click();
    await again(page);
    t.equal(await name.inputValue(), "later");
  });

  t.test("shows nothing of the ended session to another account, or after signing out", async (t) => {
    for (const next of ["bob", undefined]) {
      const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
      const { authorization, revoke } = await enter(page);
      if (next !== undefined) {
        const made = await post("/v1/auth/Accounts/Create", { name: next, password: ADMIN_PASSWORD }, authorization);
        t.equal(made.status, 200);
      }
      const name = page.getByRole("textbox", { name: "name" });
      await name.fill("the former's");
      await revoke();
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("dialog").getByText(ENDED).waitFor();
      if (next !== undefined) await again(page, next);
      else await page.getByRole("dialog").getByRole("button", { name: "Sign out instead" }).click();
      const shown = page.getByRole("banner");
      if (next !== undefined) await shown.getByText(next).waitFor();
      else await shown.getByRole("button", { name: "Sign in", exact: true }).waitFor();
      await untilTrue(page, `document.querySelector(".form input")?.value === ""`);
      t.equal(await name.inputValue(), "", next ?? "nobody");
    }
  });
});
