// Every page of the console, in light and dark, on a desk and on a phone. axe finds no serious
// problem, nothing is wider than the window, and names that look like markup are shown as text.
import t from "tap";
import { sampleOf } from "../../support/full.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, intercept, screenshot } from "./browser.js";
import { chooseFor, overflow, visitConsole } from "./console-browser.js";

const HOSTILE = '<img src=x onerror="document.title=1">';
const PAGES = [
  "Overview",
  "API keys",
  "Connected apps",
  "Rules",
  "Limits",
  "Accounts",
  "Sign-in",
  "Namespaces",
  "Services",
  "Usage",
  "Refusals",
  "Audit trail",
];
const DESK = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

t.test("the pages of the console", { timeout: 180_000 }, async (t) => {
  const { page, watched, post, signIn, go } = await visitConsole(t, "/console");
  const { body } = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const token = String(body.accessToken);
  const change = async (endpoint: string, request: unknown) => {
    t.equal((await post(`/v1/auth/${endpoint}`, request, token)).status, 200, endpoint);
  };
  await change("Keys/Create", { name: HOSTILE, lifetime: "86400s", resources: ["service:helloworld:*"] });
  await change("Accounts/Create", { name: "ada.lovelace@example.com", password: ADMIN_PASSWORD, scopes: ["billing"] });
  await change("Rules/Create", {
    rule: { id: "streams", scope: "billing", access: "DENIED", resource: "service:helloworld:Helloworld.Stream" },
  });
  await change("Namespaces/Create", { name: "team" });
  for (const name of ["Ada", "Grace"]) await post("/helloworld/Call", { name });
  await post("/helloworld/Call", { nam: "Ada" });

  t.same(await seriousFaults(page), [], "signing in");
  await screenshot(page, "console-Sign-in");
  await signIn();
  await go("Usage");
  await page.getByRole("row").filter({ hasText: "helloworld:Helloworld.Call" }).waitFor({ timeout: 25_000 });

  const looks = [DESK, PHONE].flatMap((size) => (["light", "dark"] as const).map((theme) => ({ size, theme })));
  // In CI the first and the last: each theme, and each size.
  for (const { size, theme } of sampleOf(looks, 3)) {
    await t.test(`${theme}, ${size.width} px`, async (t) => {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme: theme });
      await page.locator(`html[data-theme=${theme}]`).waitFor();
      for (const title of PAGES) {
        await go(title);
        t.same(await seriousFaults(page), [], title);
        t.ok((await overflow(page)) <= 0, `${title} is no wider than the window`);
        await screenshot(page, `console-${title.replace(" ", "-")}-${theme}-${size.width}`);
      }
    });
  }

  await t.test("dialogs", async (t) => {
    const dialogs: readonly [page: string, button: string, name: string, row?: string | RegExp][] = [
      ["Overview", "Change password", "password"],
      ["API keys", "New key", "new-key"],
      ["API keys", "Rotate", "rotate", /.*/],
      ["API keys", "Revoke", "revoke", /.*/],
      ["Rules", "New rule", "new-rule"],
      ["Rules", "Delete", "delete-rule", "default"],
      ["Accounts", "New account", "new-account"],
      ["Accounts", "Set scopes", "scopes", "admin"],
      ["Namespaces", "Delete", "delete-namespace", "team"],
    ];
    for (const [title, button, name, row] of dialogs) {
      await go(title);
      if (row !== undefined) await chooseFor(page, row, button);
      else await page.getByRole("button", { name: button }).click();
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      await page.getByText("Finding out").waitFor({ state: "hidden" });
      t.same(await seriousFaults(page), [], name);
      t.ok((await overflow(page)) <= 0, `${name} is no wider than the window`);
      t.match(await page.evaluate("document.activeElement.localName"), /input|select/, "one can type at once");
      await screenshot(page, `console-dialog-${name}`);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      // The focus returns to where it was.
      await page.locator("button:focus").waitFor();
    }
  });

  await t.test("what destroys something lies in a menu, which the keyboard opens and leaves", async (t) => {
    for (const [title, items] of [
      ["API keys", ["Rotate", "Revoke"]],
      ["Accounts", ["Set scopes", "Set password", "Disable", "Delete"]],
    ] as const) {
      await go(title);
      const button = page
        .getByRole("table")
        .getByRole("button", { name: /^Actions for/ })
        .first();
      await button.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("menuitem", { name: items[0] }).and(page.locator(":focus")).waitFor();
      t.same(await page.getByRole("menuitem").allInnerTexts(), items);
      t.same(await seriousFaults(page), [], `the menu of ${title}`);
      await page.keyboard.press("ArrowUp");
      t.equal(await page.evaluate("document.activeElement.textContent"), items.at(-1));
      await page.keyboard.press("Escape");
      t.equal(await page.getByRole("menuitem").count(), 0);
      t.ok(await button.evaluate((it) => it === it.ownerDocument.activeElement), "the focus is back");
      t.equal(await page.locator("main .button.danger").count(), 0, "danger is filled in dialogs only");
    }
  });

  await t.test("a key's name that looks like markup is text", async (t) => {
    await go("API keys");
    await page.getByRole("rowheader", { name: HOSTILE }).waitFor();
    await chooseFor(page, /.*/, "Revoke");
    t.match(await page.getByRole("dialog").innerText(), HOSTILE);
    t.equal(await page.locator("main img, dialog img").count(), 0);
    await page.keyboard.press("Escape");
  });

  await t.test("finds a rule among thousands", async (t) => {
    const many = Array.from({ length: 3_000 }, (_, index) => ({
      ...{ id: `rule-${index}`, scope: "*", access: "GRANTED", resource: "*:*:*", priority: 0 },
    }));
    await page.route("**/v1/auth/Rules/List", (route) => route.fulfill({ json: { rules: many } }), { times: 1 });
    await go("Overview");
    await page.route("**/v1/auth/Rules/List", (route) => route.fulfill({ json: { rules: many } }), { times: 1 });
    await go("Rules");
    await page.getByText("3000 rules", { exact: true }).waitFor();
    t.ok((await page.getByRole("rowheader").count()) < 60, "only those in sight are in the document");
    await page.getByLabel("Find rules").fill("rule-2999");
    await page.getByText("1 of 3000 rules").waitFor();
    t.same(await page.getByRole("rowheader").allInnerTexts(), ["rule-2999"]);
    await page.getByLabel("Find rules").fill("nothing such");
    await page.getByText("None of 3000 rules matches.").waitFor();
  });

  // The authority refuses such names. If one arrives nevertheless, it is shown as text.
  for (const [title, endpoint, list, field] of [
    ["Rules", "Rules/List", "rules", "id"],
    ["Accounts", "Accounts/List", "accounts", "name"],
  ] as const) {
    await t.test(`${title}: names that look like markup are shown as text, wherever they come from`, async (t) => {
      await intercept(page, `**/v1/auth/${endpoint}`, async (route) => {
        const response = await (await route.fetch()).json();
        response[list][0][field] = HOSTILE;
        await route.fulfill({ json: response });
      });
      await go("Overview");
      await go(title);
      await page.getByRole("rowheader", { name: HOSTILE }).waitFor();
      await chooseFor(page, HOSTILE, "Delete");
      t.match(await page.getByRole("dialog").innerText(), HOSTILE);
      t.equal(await page.locator("main img, dialog img").count(), 0);
      await page.keyboard.press("Escape");
    });
  }

  checkClean(t, watched);
});
