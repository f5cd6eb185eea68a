// A key in four steps, and the pages of keys and accounts, in one browser.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import t from "tap";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, open, screenshot, untilDrawn } from "./browser.js";
import { overflow, visitAgain } from "./console-browser.js";

const RULE = { id: "no-vouchers", scope: "*", access: "DENIED", resource: "service:shop:Shop.Redeem", priority: 50 };

t.test("keys and accounts", { timeout: 240_000 }, async (t) => {
  const setting = await open(t);
  const { page, watched, post, signIn, go } = await visitAgain(t, setting, "/console");
  const { body } = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const token = String(body.accessToken);
  const change = async (endpoint: string, request: unknown) => {
    const { status } = await post(`/v1/auth/${endpoint}`, request, token);
    if (status !== 200) throw new Error(`${endpoint}: ${status}`);
  };
  await change("Rules/Create", { rule: RULE });
  await change("Accounts/Create", { name: "brief", password: "", withoutPassword: true });
  const dialog = page.getByRole("dialog");
  const { keyboard } = page;
  const looks = async (name: string) => {
    for (const [theme, width] of [
      ["light", 1280],
      ["dark", 360],
    ] as const) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 900 });
      await untilDrawn(page);
      t.same(await seriousFaults(page), [], `${name}, ${theme}`);
      t.ok((await overflow(page)) <= 0, `${name} is no wider than ${width} px`);
      await screenshot(page, `${name}-${theme}-${width}`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 900 });
  };
  await signIn();

  let prefix = "";
  await t.test("a key for a new account, by keyboard alone", async (t) => {
    await go("API keys");
    await page.getByRole("button", { name: "New key" }).focus();
    await keyboard.press("Enter");
    await keyboard.type("nightly");
    await keyboard.press("Tab");
    const owner = dialog.getByLabel("The key calls as");
    await owner.getByRole("option", { name: "brief" }).waitFor({ state: "attached" });
    await keyboard.type("A new");
    await keyboard.press("Tab");
    await keyboard.type("partner-acme");
    await keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Create key" }).waitFor();
    t.equal(await owner.inputValue(), "partner-acme", "the new account is chosen");
    await dialog.getByText("May call 11 of 11 endpoints.").waitFor();
    await dialog.getByLabel("Everything its account may").focus();
    await keyboard.press("ArrowDown");
    await dialog.getByText("May call 0 of 11 endpoints.").waitFor();
    await keyboard.press("Tab");
    await keyboard.type("orld.ca");
    await keyboard.press("Tab");
    await keyboard.press("Tab");
    t.equal(await dialog.getByRole("checkbox", { name: "helloworld", exact: true }).isChecked(), false);
    await dialog.getByRole("checkbox", { name: "Helloworld.Call" }).focus();
    await keyboard.press("Space");
    const patterns = dialog.getByLabel("Patterns");
    t.equal(await patterns.inputValue(), "service:helloworld:Helloworld.Call");
    await dialog.getByLabel("Find endpoints").fill("");
    await dialog.getByRole("checkbox", { name: "shop", exact: true }).focus();
    await keyboard.press("Space");
    t.equal(await patterns.inputValue(), "service:helloworld:Helloworld.Call\nservice:shop:*");
    await dialog.getByText("May call 10 of 11 endpoints. The rules refuse partner-acme 1 of them.").waitFor();
    await dialog.getByText("service:shop:Shop.Redeem: refused by the rule no-vouchers").waitFor();
    t.ok(
      await dialog
        .getByRole("checkbox", { name: "helloworld", exact: true })
        .evaluate((box) => (box as unknown as { indeterminate: boolean }).indeterminate),
      "a part of it is ticked",
    );
    await looks("new-key");
  });

  await t.test("a pattern that covers nothing asks first", async (t) => {
    await dialog.getByLabel("Patterns").focus();
    await keyboard.press("Control+End");
    await keyboard.type("\nservice:later:*");
    await dialog.getByText("This pattern covers no endpoint that is registered now").waitFor();
    await dialog.getByRole("button", { name: "Create key" }).press("Enter");
    await dialog.getByRole("alert").getByText("create the key all the same").waitFor();
    await dialog.getByRole("button", { name: "Create key all the same" }).press("Enter");
    await dialog.getByText("It cannot be shown again").waitFor();
    prefix = ((await dialog.locator(".secret code").textContent()) ?? "").slice(0, 10);
    t.match(prefix, /^ptk_\w{6}$/);
  });

  await t.test("the new key is tried by a command and on the page, and its row is lit", async (t) => {
    const command = (await dialog.locator(".secret pre").textContent()) ?? "";
    const { stdout } = await promisify(execFile)("sh", ["-c", `${command} --silent`]);
    t.match(JSON.parse(stdout), { message: "Hello Ada" });
    await dialog.getByRole("button", { name: "Test now" }).press("Enter");
    await dialog.getByText(/200 in \d+ ms: .*Hello Ada/).waitFor();
    await looks("created-key");
    await dialog.getByRole("button", { name: "I have copied the key" }).press("Enter");
    await page.locator("tr.new-row").filter({ hasText: "nightly" }).waitFor();
  });

  await t.test("bad input is told in words, and nothing is lost", async (t) => {
    const asked: string[] = [];
    page.on("request", (request) => request.url().endsWith("/Keys/Create") && asked.push(request.url()));
    await page.getByRole("button", { name: "New key" }).press("Enter");
    const name = dialog.getByRole("textbox", { name: "Name", exact: true });
    const create = dialog.getByRole("button", { name: "Create key" });
    await name.fill("n".repeat(256));
    await dialog.getByText("A name has at most 100 characters; this one has 256.").waitFor();
    await create.press("Enter");
    await name.fill("short");
    await dialog.getByLabel("Expires").selectOption("On a date");
    await dialog.getByLabel("Date").fill("2020-01-31");
    await dialog.getByText("Choose tomorrow or a later day.").waitFor();
    await create.press("Enter");
    await dialog.getByLabel("Expires").selectOption("In 30 days");
    await dialog.getByLabel("Only what is ticked").check();
    await create.press("Enter");
    await dialog.getByText("Tick at least one endpoint").waitFor();
    await untilDrawn(page);
    t.same(asked, [], "nothing was sent");
    await dialog.getByRole("checkbox", { name: "helloworld", exact: true }).check();
    await dialog.getByLabel("The key calls as").selectOption("brief");
    await change("Accounts/Delete", { name: "brief" });
    await create.press("Enter");
    await dialog.getByRole("alert").getByText("There is no account brief any more").waitFor();
    t.equal(await name.inputValue(), "short");
    t.equal(await dialog.getByLabel("Patterns").inputValue(), "service:helloworld:*");
    await keyboard.press("Escape");
    await dialog.getByText("What you typed here is lost").waitFor();
    await dialog.getByRole("alert").getByRole("button", { name: "Close" }).click();
  });

  await t.test("an account and a key have pages of their own", async (t) => {
    await page.getByRole("row").filter({ hasText: "nightly" }).getByRole("link", { name: "partner-acme" }).click();
    await page.getByRole("heading", { level: 1, name: "partner-acme" }).waitFor();
    await page.getByText("None: it cannot sign in").waitFor();
    await page.getByRole("rowheader", { name: "nightly" }).waitFor();
    await looks("account-page");
    await page.getByRole("link", { name: "nightly" }).click();
    await page.getByRole("heading", { level: 1, name: "nightly" }).waitFor();
    t.equal(new URL(page.url()).pathname, `/console/keys/${prefix}`);
    await page.getByText("May call 10 of 11 endpoints. The rules refuse partner-acme 1 of them.").waitFor();
    await page.getByRole("heading", { name: "Calls of the last 7 days" }).waitFor();
    await looks("key-page");
  });

  await t.test("a key is revoked from its menu, by keyboard", async (t) => {
    await page.getByRole("button", { name: `Actions for nightly, ${prefix}` }).focus();
    await keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Rotate" }).waitFor();
    t.same(await seriousFaults(page), [], "the open menu");
    await keyboard.press("End");
    await keyboard.press("Enter");
    await dialog.getByRole("textbox").fill("nightly");
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "This key is revoked" }).waitFor();
    await page.getByRole("link", { name: "All keys" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
  });

  checkClean(t, watched);
});
