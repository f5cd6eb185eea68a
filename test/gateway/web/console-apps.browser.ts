// The page of connected apps: whose they are, what they may call, how often they did, and how they
// are ended with the keyboard alone; in light and dark, on a desk and on a phone.
import t from "tap";
import { grantTo } from "../../oauth/granted.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, open, screenshot, untilDrawn } from "./browser.js";
import { overflow, visitAgain } from "./console-browser.js";

const REDIRECT = "https://app.example/callback";

t.test("connected apps", { timeout: 240_000 }, async (t) => {
  const setting = await open(t);
  const { page, watched, post, signIn, go } = await visitAgain(t, setting, "/console");
  const { body } = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const admin = String(body.accessToken);
  const change = async (endpoint: string, request: unknown) => {
    const { status } = await post(`/v1/auth/${endpoint}`, request, admin);
    if (status !== 200) throw new Error(`${endpoint}: ${status}`);
  };
  await change("Accounts/Create", { name: "ann", password: ADMIN_PASSWORD, scopes: [] });
  for (const name of ["notes", "calendar"]) {
    await change("Clients/Create", { name, redirectUris: [REDIRECT], confidential: false });
  }
  const grant = (client: string, account: string, scope?: string) =>
    grantTo({ url: setting.origin }, { client, person: { account, password: ADMIN_PASSWORD }, scope });
  const calendar = await grant("calendar", "ann", "service:helloworld:*");
  await grant("notes", "ann");
  await grant("calendar", "admin", "service:helloworld:Helloworld.Call");
  const call = async () => (await post("/v1/helloworld/Call", { name: "Ada" }, calendar.access_token)).status;
  t.equal(await call(), 200);
  const rows = page.getByRole("table", { name: "Connected apps" }).locator("tbody").getByRole("row");
  const dialog = page.getByRole("dialog");

  await t.test("an account sees its own, and what they may", async (t) => {
    await signIn("ann");
    await go("Connected apps");
    t.equal(await rows.count(), 2);
    t.equal(await page.getByRole("columnheader", { name: "Account" }).count(), 0);
    const own = rows.filter({ hasText: "calendar" });
    // The console counts endpoints when it has read the catalogue.
    await own.getByText(/of 11 endpoints/).waitFor();
    t.match(await own.innerText(), /helloworld\s+2 of 11 endpoints/);
    t.match(await own.innerText(), /in 30 days/);
    t.match(await rows.filter({ hasText: "notes" }).innerText(), /Everything its account may/);
  });

  await t.test("it counts the calls", async () => {
    // Gateways report calls every ten seconds.
    const one = rows.filter({ hasText: "calendar" }).getByRole("cell", { name: "1", exact: true });
    for (let attempt = 0; attempt < 10 && !(await one.isVisible()); attempt++) {
      await page.waitForTimeout(2_000);
      await go("API keys");
      await go("Connected apps");
    }
    await one.waitFor();
  });

  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 360],
  ] as const) {
    await t.test(`${theme}, ${width} px`, async (t) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 900 });
      await untilDrawn(page);
      t.same(await seriousFaults(page), []);
      t.ok((await overflow(page)) <= 0, "no wider than the window");
      await screenshot(page, `console-apps-${theme}-${width}`);
    });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });

  await t.test("an app is ended by keyboard alone, and refused at once", async (t) => {
    const { keyboard } = page;
    await page.getByRole("button", { name: "Actions for calendar, ann" }).focus();
    await keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "End" }).and(page.locator(":focus")).waitFor();
    await keyboard.press("Enter");
    await dialog.getByText("Takes effect at once: calls of calendar for ann are refused everywhere").waitFor();
    t.same(await seriousFaults(page), [], "the dialog");
    t.equal(await dialog.getByRole("button", { name: "End it" }).isDisabled(), true, "until the name is typed");
    await keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    t.equal(await call(), 200, "Escape ends nothing");
    await keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "End" }).and(page.locator(":focus")).waitFor();
    await keyboard.press("Enter");
    await dialog.waitFor();
    await keyboard.type("calendar");
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await rows.filter({ hasText: "calendar" }).waitFor({ state: "detached" });
    t.equal(await call(), 401);
    t.equal(await rows.count(), 1);
  });

  await t.test("an administrator sees everyone's, also on the page of an account", async (t) => {
    const other = await visitAgain(t, setting, "/console");
    await other.signIn("admin");
    await other.go("Connected apps");
    const all = other.page.getByRole("table", { name: "Connected apps" });
    t.equal(await all.getByRole("rowheader").count(), 2);
    await all.getByRole("link", { name: "ann" }).click();
    const section = other.page.getByRole("region", { name: "Its connected apps" });
    await section.getByRole("rowheader").waitFor();
    t.same(await section.getByRole("rowheader").allInnerTexts(), ["notes"]);
    t.same(await seriousFaults(other.page), []);
    checkClean(t, other.watched);
  });

  checkClean(t, watched);
});
