// The dialogs of the console: what can be typed, what is shown before an action, where the focus
// is, and that they fit with every name.
import type { Locator, Page } from "playwright-core";
import t, { type Test } from "tap";
import { sampleOf } from "../../support/full.js";
import { ADMIN_PASSWORD, checkClean, open, signOut, untilDrawn } from "./browser.js";
import { chooseFor, hold, overflow, visitAgain } from "./console-browser.js";

const HELLO = "service:helloworld:Helloworld.Call";
const LONG = {
  rule: "r".repeat(64),
  scope: "s".repeat(60),
  namespace: "n".repeat(63),
  key: "k".repeat(100),
  account: "a".repeat(128),
};

/** How many lines a text takes. */
function lines(of: Locator): Promise<number> {
  return of.evaluate((it) => {
    const range = it.ownerDocument.createRange();
    range.selectNodeContents(it);
    return new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top))).size;
  });
}

t.test("dialogs", { timeout: 280_000 }, async (t) => {
  const setting = await open(t);
  const { origin } = setting;
  const post = async (path: string, body: unknown, token?: string) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { "content-type": "application/json", ...authorization };
    return fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const login = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const { accessToken } = (await login.json()) as { accessToken: string };
  const change = async (endpoint: string, body: unknown) => {
    const { status } = await post(`/v1/auth/${endpoint}`, body, accessToken);
    if (status !== 200) throw new Error(`${endpoint}: ${status}`);
  };
  const enter = async (t: Test, title: string) => {
    const visited = await visitAgain(t, setting, "/console");
    await visited.signIn();
    await visited.go(title);
    return { ...visited, dialog: visited.page.getByRole("dialog") };
  };
  const newRule = async (page: Page, id: string, resource = HELLO) => {
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "New rule" }).click();
    await dialog.getByLabel("ID").fill(id);
    await dialog.getByRole("combobox", { name: "Scope" }).fill("<public>");
    await dialog.getByRole("combobox", { name: "Resource" }).fill(resource);
    await dialog.getByLabel("Access").selectOption("DENIED");
    return dialog;
  };

  t.test("does not overwrite scopes that another administrator has set meanwhile", async (t) => {
    const scopes = (scopes: string[]) => change("Accounts/SetScopes", { name: "eve", scopes });
    await change("Accounts/Create", { name: "eve", password: ADMIN_PASSWORD, scopes: ["billing"] });
    const { page, dialog } = await enter(t, "Accounts");
    await chooseFor(page, "eve", "Set scopes");
    await scopes(["support"]);
    await dialog.getByRole("textbox", { name: "Scopes" }).fill("billing, greeters");
    await dialog.getByRole("button", { name: "Set scopes" }).click();
    await dialog.getByRole("alert").getByText("eve holds support by now. Nothing was set").waitFor();
    await page.keyboard.press("Escape");
    await dialog.getByRole("alert").getByRole("button", { name: "Close" }).click();
    await page.getByRole("row").filter({ hasText: "eve" }).getByText("support").waitFor();
    await chooseFor(page, "eve", "Set scopes");
    t.equal(await dialog.getByRole("textbox", { name: "Scopes" }).inputValue(), "support");
    await dialog.getByRole("button", { name: "Set scopes" }).click();
    await dialog.waitFor({ state: "detached" });
  });

  t.test("disables and enables an account, and makes a key for some addresses that administers", async (t) => {
    await change("Accounts/Create", { name: "robot", withoutPassword: true, scopes: [] });
    const { page, dialog, watched } = await enter(t, "Accounts");
    const row = page.getByRole("row").filter({ hasText: "robot" });
    for (const [action, state] of [
      ["Disable", "Disabled"],
      ["Enable", "Service"],
    ] as const) {
      await chooseFor(page, "robot", action);
      await dialog.getByRole("button", { name: `${action} account` }).click();
      await dialog.waitFor({ state: "detached" });
      await row.getByText(state).waitFor();
      await row.getByText("Disabled").waitFor({ state: action === "Disable" ? "visible" : "detached" });
    }
    await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "API keys" }).click();
    await page.getByRole("button", { name: "New key" }).first().click();
    await dialog.getByLabel("Name").fill("boss");
    await dialog.getByLabel("Addresses").fill("192.0.2.0/24, 2001:db8::1");
    await dialog.getByLabel("It administers what its account may").check();
    const sent = page.waitForRequest("**/Keys/Create");
    await dialog.getByRole("button", { name: "Create key" }).click();
    t.match((await sent).postDataJSON(), { admin: true, from: ["192.0.2.0/24", "2001:db8::1"] });
    await page.getByRole("button", { name: "I have copied the key" }).click();
    const made = page.getByRole("row").filter({ hasText: "boss" });
    await made.getByText("Admin", { exact: true }).waitFor();
    await made.getByText("From 2").waitFor();
    checkClean(t, watched);
  });

  t.test("says so when an account or a key is gone by the time of the action", async (t) => {
    await change("Accounts/Create", { name: "gone", password: ADMIN_PASSWORD, scopes: [] });
    const key = await post("/v1/auth/Keys/Create", { name: "gone key", account: "gone" }, accessToken);
    const { prefix } = ((await key.json()) as { key: { prefix: string } }).key;
    const { page, dialog } = await enter(t, "Accounts");
    await page.getByRole("rowheader", { name: "gone" }).waitFor();
    await change("Accounts/Delete", { name: "gone" });
    for (const [item, action, typed] of [
      ["Set password", "Set password", ADMIN_PASSWORD],
      ["Delete", "Delete account", "gone"],
      ["Set scopes", "Set scopes", "billing"],
    ] as const) {
      await chooseFor(page, "gone", item);
      await dialog.locator("input").first().fill(typed);
      await dialog.getByRole("button", { name: action }).click();
      await dialog.getByRole("alert").getByText("no account with the name gone").waitFor();
      await page.keyboard.press("Escape");
      await dialog.getByRole("alert").getByRole("button", { name: "Close" }).click();
      await dialog.waitFor({ state: "detached" });
    }
    await page.getByRole("rowheader", { name: "gone" }).waitFor({ state: "detached" });
    for (const [path, heading] of [
      [`/console/keys/${prefix}`, "There is no such key"],
      ["/console/accounts/gone", "There is no such account"],
    ] as const) {
      await page.evaluate(`history.pushState(null, "", "${path}"); dispatchEvent(new PopStateEvent("popstate"))`);
      await page.getByRole("heading", { name: heading }).waitFor();
    }
  });

  t.test("checks a priority while it is typed", async (t) => {
    const { page, watched } = await enter(t, "Rules");
    const dialog = await newRule(page, "low");
    const priority = dialog.getByLabel("Priority");
    for (const [text, problem] of [
      ["-7", false],
      ["2147483648", true],
      ["-2147483649", true],
      ["1.5", true],
      ["2147483647", false],
      ["-5", false],
    ] as const) {
      await priority.focus();
      await page.keyboard.press("Control+a");
      await page.keyboard.type(text);
      t.equal(await priority.inputValue(), text);
      const told = dialog.getByText("Must be a whole number from -2147483648 to 2147483647");
      await told.waitFor({ state: problem ? "visible" : "detached" });
    }
    await dialog.getByText("Nobody will notice").waitFor();
    await dialog.getByRole("button", { name: "Create rule" }).click();
    const row = page.getByRole("row").filter({ hasText: "low" });
    await row.waitFor();
    t.same(await row.getByRole("cell", { name: "-5" }).count(), 1);
    checkClean(t, watched);
  });

  t.test("creates a rule only after its effects were shown", async (t) => {
    const { page } = await enter(t, "Rules");
    const held = await hold(page, "**/Rules/Preview");
    const created = await hold(page, "**/Rules/Create");
    const dialog = await newRule(page, "closed");
    await held.asked;
    await dialog.getByText("Finding out what this rule will change").waitFor();
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Create rule" }).click({ force: true });
    await untilDrawn(page);
    t.equal(created.count(), 0);
    await dialog.getByLabel("Priority").fill("7");
    await untilDrawn(page);
    t.equal(await dialog.getByRole("alert").count(), 0, "a question of before has no answer any more");
    await held.release();
    await dialog.getByText("401 refused").waitFor();
    await page.route("**/Rules/Preview", (route) => route.abort());
    await dialog.getByLabel("Priority").fill("8");
    await dialog.getByRole("alert").getByText("it is not known here").waitFor();
    await page.keyboard.press("Enter");
    await untilDrawn(page);
    t.equal(created.count(), 0, "locked while the effect is unknown");
    await dialog.getByText("Locked until it is known whose calls this changes.").waitFor();
    await page.unroute("**/Rules/Preview");
    await dialog.getByRole("button", { name: "Try again" }).click();
    await dialog.getByText("401 refused").waitFor();
    await dialog.getByRole("button", { name: "Create rule" }).click();
    await created.asked;
    t.equal(created.count(), 1);
  });

  t.test("deletes a rule only after the effects were shown", async (t) => {
    await change("Rules/Create", { rule: { id: "old", scope: "x", access: "DENIED", resource: "*:*:*" } });
    const { page, dialog } = await enter(t, "Rules");
    const held = await hold(page, "**/Rules/Preview");
    const deleted = await hold(page, "**/Rules/Delete");
    await chooseFor(page, "old", "Delete");
    await held.asked;
    await dialog.getByRole("textbox").fill("old");
    await page.keyboard.press("Enter");
    await untilDrawn(page);
    t.equal(deleted.count(), 0);
    await held.release();
    await dialog.getByText("Nobody will notice").waitFor();
    await deleted.release();
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("rowheader", { name: "old" }).waitFor({ state: "detached" });
    t.equal(await page.evaluate("document.activeElement.id"), "main", "the keyboard goes on in the page");
  });

  t.test("says which list could not be loaded for the rules", async (t) => {
    const visited = await visitAgain(t, setting, "/console/rules");
    const { page } = visited;
    await page.route("**/registry/list", (route) => route.abort());
    await visited.signIn();
    const alert = page.getByRole("alert").filter({ hasText: "The endpoints could not be listed" });
    await alert.waitFor();
    await page.unroute("**/registry/list");
    await alert.getByRole("button", { name: "Try again" }).click();
    await t.resolves(page.getByLabel("What is called").locator("option").first().waitFor({ state: "attached" }));
    t.equal(await alert.count(), 0);
    const card = page.getByRole("region", { name: "Explain a call" });
    const [end, last] = [await card.boundingBox(), await card.locator("form").boundingBox()];
    const strip = (end?.y ?? 0) + (end?.height ?? 0) - (last?.y ?? 0) - (last?.height ?? 0);
    t.equal(strip, 25, "padding and border: what is not told yet takes no room");
  });

  t.test("a key's name is confirmed as the page shows it", async (t) => {
    await change("Keys/Create", { name: "my  backup", lifetime: "864000s" });
    const { page, dialog } = await enter(t, "API keys");
    await chooseFor(page, /my\s+backup/, "Revoke");
    await dialog.getByRole("textbox").fill(await dialog.locator("label code").innerText());
    await dialog.getByRole("button", { name: "Revoke key" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New key" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill(" nightly ");
    const sent = page.waitForRequest("**/Keys/Create");
    await dialog.getByRole("button", { name: "Create key" }).click();
    t.equal((await sent).postDataJSON().name, "nightly");
  });

  t.test("a key lives for at most a year, even if a day had 25 hours", async (t) => {
    const { page, dialog } = await enter(t, "API keys");
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Emulation.setTimezoneOverride", { timezoneId: "Europe/Berlin" });
    const now = "2025-10-26T00:10:00+02:00";
    await page.clock.setFixedTime(now);
    await page.route("**/v1/auth/**", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), date: new Date(now).toUTCString() } });
    });
    await page.getByRole("button", { name: "New key" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("long");
    await dialog.getByLabel("Expires").selectOption("On a date");
    await dialog.getByLabel("Date").fill("2026-10-25");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await t.resolves(dialog.locator(".secret code").waitFor());
    // The page ends with the test, and its requests must not.
    await page.unrouteAll({ behavior: "wait" });
  });

  t.test("the dialog of a secret starts with the copy button, and announces there that it was copied", async (t) => {
    const { page, dialog } = await enter(t, "API keys");
    // Over plain HTTP there is no clipboard, except for pages of the same computer.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.evaluate(
      "document.addEventListener('copy', () => { globalThis.copied = document.activeElement.value })",
    );
    await page.getByRole("button", { name: "New key" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("copied");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const secret = await dialog.locator(".secret code").textContent();
    t.equal(await lines(dialog.locator(".secret pre")), 4, "the command is shown line by line");
    await page.keyboard.press("Enter");
    await dialog.getByRole("status").getByText("Copied the key").waitFor();
    t.equal(await page.evaluate("globalThis.copied"), secret);
    t.equal(await page.locator(".status p").count(), 1, "it is said once");
    await dialog.getByRole("button", { name: /^I have copied/ }).click();
    await page.getByRole("status").getByText("Copied the key").waitFor();
  });

  t.test("a click beside a dialog closes it until something is typed", async (t) => {
    const { page, dialog } = await enter(t, "Accounts");
    await page.getByRole("button", { name: "New account" }).click();
    await page.mouse.click(3, 3);
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New account" }).click();
    await dialog.getByLabel("Name").fill("eve");
    await page.mouse.click(3, 3);
    await untilDrawn(page);
    t.equal(await dialog.getByLabel("Name").inputValue(), "eve");
  });

  t.test("keeps the keyboard's focus in the page after signing in or out", async (t) => {
    const visited = await visitAgain(t, setting, "/console");
    const { page } = visited;
    const focused = () => page.evaluate("document.activeElement.localName");
    await visited.signIn();
    await untilDrawn(page);
    t.equal(await focused(), "main");
    await signOut(page);
    await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
    await untilDrawn(page);
    t.not(await focused(), "body");
    await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog").getByLabel("Account").fill("admin");
    await page.getByRole("dialog").getByLabel("Password").fill(ADMIN_PASSWORD);
    await page.keyboard.press("Enter");
    await page.locator(".who").waitFor();
    await untilDrawn(page);
    t.not(await focused(), "body");
  });

  t.test("moves the focus to the page if the button that opened a dialog is gone when the dialog closes", async (t) => {
    await change("Accounts/Create", { name: "bob", password: ADMIN_PASSWORD });
    const visited = await visitAgain(t, setting, "/console/keys");
    const { page } = visited;
    const dialog = page.getByRole("dialog");
    await visited.signIn("bob");
    await page.getByRole("button", { name: "Create the first key" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("first");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await page.locator("th").getByText("first").waitFor();
    await dialog.getByRole("button", { name: /^I have copied/ }).click();
    await dialog.waitFor({ state: "detached" });
    t.equal(await page.evaluate("document.activeElement.id"), "main");
  });

  t.test("cookies are not sent, and redirects are not followed", async (t) => {
    const { page, go } = await enter(t, "Rules");
    await page.context().addCookies([{ name: "some", value: "cookie", url: origin }]);
    const sent = page.waitForRequest("**/Keys/List");
    await page.route("**/Keys/List", (route) =>
      route.fulfill({ status: 307, headers: { location: `${origin}/v1/auth/Elsewhere/List` } }),
    );
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await go("API keys");
    await page.getByRole("alert").getByText("The gateway cannot be reached.").waitFor();
    t.notOk((await (await sent).allHeaders()).cookie);
    t.same(
      asked.filter((url) => url.includes("Elsewhere")),
      [],
    );
  });

  t.test("shows the longest names that are allowed", async (t) => {
    await change("Accounts/Create", { name: LONG.account, password: ADMIN_PASSWORD, scopes: [LONG.scope, "b"] });
    await change("Rules/Create", {
      rule: { id: LONG.rule, scope: LONG.scope, access: "DENIED", resource: HELLO, priority: -2147483648 },
    });
    await change("Keys/Create", { name: LONG.key, lifetime: "864000s" });
    await change("Namespaces/Create", { name: LONG.namespace });
    const { page, dialog, go } = await enter(t, "Overview");
    const dialogs: readonly [page: string, button: string, row?: string][] = [
      ["API keys", "Rotate", LONG.key],
      ["API keys", "Revoke", LONG.key],
      ["Rules", "Delete", LONG.rule],
      ["Rules", "New rule"],
      ["Accounts", "Set scopes", LONG.account],
      ["Accounts", "Set password", LONG.account],
      ["Accounts", "Delete", LONG.account],
      ["Namespaces", "Delete", LONG.namespace],
    ];
    for (const width of sampleOf([360, 1280], 2)) {
      await page.setViewportSize({ width, height: 500 });
      for (const [title, button, row] of dialogs) {
        await t.test(`${width} px, ${title}: ${button}`, async (t) => {
          await go(title);
          t.ok((await overflow(page)) <= 0, "the page is no wider than the window");
          if (title === "Rules") t.equal(await lines(page.getByRole("cell", { name: "-2147483648" })), 1);
          if (row !== undefined) await chooseFor(page, row, button);
          else await page.getByRole("button", { name: button }).click();
          await dialog.waitFor();
          await page.getByText("Finding out").waitFor({ state: "hidden" });
          const [shown, room] = await dialog.evaluate((it) => [it.scrollWidth, it.clientWidth]);
          t.equal(shown, room, "nothing to scroll sideways");
          const end = await dialog.locator(".actions.end").boundingBox();
          t.ok(end !== null && end.y > 0 && end.y + end.height <= 500, "the buttons are in sight");
          await page.keyboard.press("Escape");
        });
      }
    }
  });
});
