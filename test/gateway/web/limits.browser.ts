// The page of the limits: a limit is created as a shadow, counts whom it would refuse, is enforced,
// edited and deleted.
import t from "tap";
import { sampleOf } from "../../support/full.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, open, screenshot } from "./browser.js";
import { chooseFor, overflow, visitAgain } from "./console-browser.js";

/** In CI the first and the last: each theme, and a phone. */
const SCREENS = sampleOf(
  (["light", "dark"] as const).flatMap((scheme) => [360, 768, 1280].map((width) => ({ scheme, width }))),
  5,
);

t.test("limits", { timeout: 100_000 }, async (t) => {
  const setting = await open(t);
  const { page, watched, post, signIn, go } = await visitAgain(t, setting, "/console", { width: 1280, height: 800 });
  const { keyboard } = page;
  const dialog = page.getByRole("dialog");
  const row = page.getByRole("row").filter({ hasText: "ci" });
  const { body } = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const token = String(body.accessToken);
  const limits = async () => (await post("/v1/auth/Limits/List", {}, token)).body.limits as { limit: { id: string } }[];
  const greet = async () => (await post("/helloworld/Call", { name: "Ada" })).status;
  const look = async (name: string) => {
    t.same(await seriousFaults(page), [], name);
    for (const { scheme, width } of SCREENS) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      t.ok((await overflow(page)) <= 0, `${name} is no wider than a window of ${width} px`);
      await screenshot(page, `limits-${name}-${scheme}-${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  await signIn();
  await go("Limits");

  await t.test("none: what limits are for, and how to begin", async () => {
    await page.getByText("portico auth create limit ci").waitFor();
    await look("none");
  });

  await t.test("a new limit is a shadow, and the authority's message stands at its field", async (t) => {
    await page.getByRole("button", { name: "Create the first limit" }).focus();
    await keyboard.press("Enter");
    await dialog.waitFor();
    t.ok(await dialog.getByLabel("Only count, refuse nothing").isChecked());
    await keyboard.type("ci");
    await dialog.getByLabel("Shared by").selectOption("Each address");
    await dialog.getByLabel("Rate").fill("1/fortnight");
    await keyboard.press("Enter");
    await dialog.getByText(/^"1\/fortnight" must be a whole number/).waitFor();
    t.ok(await dialog.getByLabel("Rate").and(page.locator(":focus")).isVisible(), "one can correct it at once");
    t.same(await limits(), []);
    await look("new");
    await dialog.getByLabel("Rate").fill("2/d");
    t.equal(await dialog.getByText("must be a whole number").count(), 0);
    await dialog.getByLabel("Resource").fill("service:helloworld:*");
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await row.getByText("would have refused no calls since").waitFor();
    t.match((await limits())[0], { limit: { id: "ci", per: "ADDRESS", rate: "2/d", burst: "1", shadow: true } });
  });

  await t.test("it shows how many calls it would have refused", async (t) => {
    t.same([await greet(), await greet(), await greet()], [200, 200, 200]);
    await row.getByText(/^would have refused [1-3] calls? since/).waitFor();
    t.equal(await page.getByText("1 limit", { exact: true }).count(), 1);
  });

  await t.test("it is enforced after a confirmation that says whom it would have refused", async (t) => {
    await chooseFor(page, "ci", "Enforce");
    await dialog.getByText(/^It would have refused [1-3] calls? since .+\.$/).waitFor();
    t.match(await dialog.innerText(), /allows each address 2 calls a day/);
    await look("enforce");
    await dialog.getByRole("button", { name: "Enforce limit" }).click();
    await dialog.waitFor({ state: "detached" });
    await row.getByText("Enforced").waitFor();
    t.equal(await greet(), 429);
  });

  await t.test("an edit that another administrator was ahead of changes nothing", async (t) => {
    await chooseFor(page, "ci", "Edit");
    await dialog.getByText("Nothing is changed yet.").waitFor();
    t.equal(await dialog.getByLabel("Burst").inputValue(), "", "the usual burst follows the rate");
    await dialog.getByLabel("Rate").fill("1000/d");
    const limit = { id: "ci", per: "ADDRESS", rate: "7/d", resource: "service:helloworld:*" };
    t.equal((await post("/v1/auth/Limits/Set", { limit }, token)).status, 200);
    await keyboard.press("Enter");
    await dialog.getByText("the limit ci was changed meanwhile").waitFor();
    await look("lost-update");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await row.getByText("7 calls a day").waitFor();
    await row.getByText(/^refused/).waitFor();
    await chooseFor(page, "ci", "Edit");
    await dialog.getByLabel("Rate").fill("1000/s");
    await dialog.getByLabel("Quota").fill("1000000/month");
    await keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await row.getByText("1000 calls a second, 1,000,000 calls a month").waitFor();
    t.equal(await greet(), 200);
  });

  await t.test("whom it applies to sees what is left", async (t) => {
    await go("Overview");
    const left = page.getByRole("table", { name: "Limits that apply to you" });
    await left.getByText("1000 calls a second, 1,000,000 calls a month, each address").waitFor();
    t.match(await left.innerText(), /999,99\d this month/);
    await look("left");
    await go("Accounts");
    await page.getByRole("link", { name: "admin", exact: true }).click();
    await page.getByRole("cell", { name: "Each address has its own" }).waitFor();
  });

  await t.test("many are filtered and sorted", async (t) => {
    const base = { scope: "*", resource: "*:*:*", burst: "1", quota: "", concurrent: 0 };
    const many = Array.from({ length: 3_000 }, (_, at) => ({
      limit: { ...base, id: `l-${at}`, per: at % 2 ? "KEY" : "ACCOUNT", rate: `${at + 1}/m`, shadow: at % 3 === 0 },
      ...{ refused: `${(at * 7) % 3_000}`, since: "2026-01-31T12:00:00Z" },
    }));
    await page.route("**/v1/auth/Limits/List", (route) => route.fulfill({ json: { limits: many } }));
    await go("Limits");
    await page.getByText("3000 limits").waitFor();
    const ids = page.getByRole("rowheader");
    t.ok((await ids.count()) < 60, "only those in sight are in the document");
    await page.getByRole("button", { name: "Refused" }).click();
    await page.getByRole("button", { name: "Refused" }).click();
    t.match(await page.getByRole("row").nth(1).innerText(), "2,999 calls");
    await page.getByLabel("Shared by").selectOption("each API key");
    await page.getByLabel("State").selectOption("Shadow");
    await page.getByText("500 of 3000 limits").waitFor();
    await look("many");
    await page.getByLabel("Find limits").fill("l-2997");
    t.same(await ids.allInnerTexts(), ["l-2997"]);
    await page.unroute("**/v1/auth/Limits/List");
  });

  await t.test("a refusal by it leads to it", async (t) => {
    await go("Refusals");
    await page.getByRole("row").filter({ hasText: "limit ci" }).getByRole("button", { name: "Why" }).click();
    await page.getByRole("link", { name: "Open the limit" }).click();
    await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor();
    t.equal(await page.getByLabel("Find limits").inputValue(), "ci");
  });

  await t.test("one Enter does not delete it", async (t) => {
    await page.getByRole("button", { name: "Actions for limit ci" }).focus();
    await keyboard.press("Enter");
    await keyboard.press("End");
    await keyboard.press("Enter");
    await dialog.getByText("Locked until you have typed the limit’s ID.").waitFor();
    await keyboard.press("Enter");
    t.equal((await limits()).length, 1);
    await look("delete");
    await keyboard.type("ci");
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "No limits" }).waitFor();
    t.same(await limits(), []);
  });

  checkClean(t, watched);
});
