// A call from a page sends what was typed, and nothing that the page filled in. A call that removes
// something asks first.
import type { Page } from "playwright-core";
import t from "tap";
import { checkClean, open, screenshot, signIn, untilSettled, visit } from "./browser.js";

const sentBody = async (page: Page, path: string, act: () => Promise<unknown>) => {
  const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith(path));
  await act();
  return (await sent).postData();
};

t.test("sends only what was typed", { timeout: 200_000 }, async (t) => {
  const setting = await open(t);

  t.test("asks before it calls Rules.Delete, so that Enter alone deletes nothing", async (t) => {
    const watched = await visit(t, setting, "/explore/auth/Rules.Delete");
    const { page } = watched;
    await signIn(page);
    // Otherwise the page may still be reading lists and documents after the login.
    await untilSettled(page);
    const calls: string[] = [];
    page.on("request", (request) => request.method() === "POST" && calls.push(new URL(request.url()).pathname));
    const id = page.getByRole("textbox", { name: "id" });
    t.equal(await id.inputValue(), "", "the example is not filled in");
    t.equal(await id.getAttribute("placeholder"), "default", "it is shown as one");
    await id.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Deletes a rule. No gateway grants by it any more when this answers.").waitFor();
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    t.same(calls, [], "and a second Enter does not send either");

    await id.fill("absent");
    await id.press("Enter");
    await dialog.getByText(/"id": "absent"/).waitFor();
    t.match(await dialog.textContent(), "as admin in the namespace default");
    for (const [name, width, height, scheme] of [
      ["light", 1280, 900, "light"],
      ["dark", 1280, 900, "dark"],
      ["phone", 360, 640, "light"],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height });
      await screenshot(page, `confirm-call-${name}`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    const send = () => dialog.getByRole("button", { name: "Call Rules.Delete" }).click();
    t.equal(await sentBody(page, "/v1/auth/Rules/Delete", send), '{\n  "id": "absent"\n}');
    await page.getByText("404 Not Found").waitFor();
    checkClean(t, watched);
  });

  t.test("calls an endpoint that is not destructive without asking, with only what was typed", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const send = () => page.getByRole("button", { name: "Send" }).click();
    t.equal(await sentBody(page, "/helloworld/Call", send), "{}");
    await page.getByRole("tablist", { name: "Request as" }).getByRole("tab", { name: "JSON" }).click();
    t.equal(await page.getByRole("textbox", { name: "Request as JSON" }).inputValue(), "{}");
    t.match(await page.locator(".snippets pre").textContent(), "-d '{}'", "the code sends the same");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    t.equal(JSON.parse((await sentBody(page, "/helloworld/Call", send)) ?? "").name, "Ada", "the example by choice");
  });

  t.test("shows the example of a stream as a placeholder, and does not fill it in", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Haggle");
    t.equal(await page.getByRole("textbox", { name: "name" }).inputValue(), "");
    t.equal(await page.getByRole("textbox", { name: "name" }).getAttribute("placeholder"), "tea");
  });

  t.test("hides secrets while they are typed, and leaves them out of the code", async (t) => {
    const watched = await visit(t, setting, "/explore/auth/Accounts.SetPassword");
    const { page } = watched;
    await signIn(page);
    const password = page.getByLabel("newPassword");
    t.equal(await password.getAttribute("type"), "password");
    t.equal(await page.getByLabel("currentPassword").getAttribute("type"), "password");
    t.equal(await page.getByLabel("name", { exact: false }).first().getAttribute("type"), null);
    await password.fill("a secret of twelve");
    await page.getByText('"newPassword":"***"').waitFor();
    await password.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText('"newPassword": "***"').waitFor();
    t.notMatch(await page.locator("body").textContent(), "a secret of twelve");
    const kept = await page.evaluate<string>(
      "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state])",
    );
    t.notMatch(kept, "a secret of twelve", "nor is it in what the browser keeps");
    await page.keyboard.press("Escape");
    await page.goto("/explore/shop/Shop.Redeem");
    t.equal(await page.getByLabel("pin").getAttribute("type"), "password", "of any service");
    checkClean(t, watched);
  });

  t.test("shows deprecated services, endpoints and fields as deprecated", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop");
    const entry = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "Shop.Redeem" }) });
    await entry.getByText("Deprecated", { exact: true }).waitFor();
    await screenshot(page, "deprecated-list");
    await page.getByRole("navigation").getByRole("link", { name: "Redeem (deprecated)" }).click();
    const head = page.locator(".endpoint-page .page-head");
    await head.getByText("Deprecated", { exact: true }).waitFor();
    await page.locator("summary", { hasText: "Request" }).click();
    const field = page.locator(".field-row").filter({ hasText: "Now on the voucher" });
    await field.getByText("deprecated", { exact: true }).waitFor();
    await screenshot(page, "deprecated-endpoint");
    await page.goto("/explore");
    await page.getByRole("searchbox").fill("Redeem");
    await page.locator(".service-matches").getByText("Deprecated").waitFor();
    t.pass();
  });
});
