// Simultaneous events. A late response reaches the dialog, the choice and the account for which it
// is meant, and an action that is started twice happens once.
import type { Locator, Page } from "playwright-core";
import t, { type Test } from "tap";
import { sampleOf } from "../../support/full.js";
import {
  ADMIN_PASSWORD,
  checkClean,
  open,
  type Setting,
  signIn,
  signOut,
  untilDrawn,
  untilSettled,
  visit,
} from "./browser.js";
import { type ConsoleVisit, chooseFor, hold, visitAgain } from "./console-browser.js";

const HELLO = "service:helloworld:Helloworld.Call";
const START = "Sign in to the console";

/** Goes back with the browser's button, and waits until the page has noticed. */
async function goBack(page: Page): Promise<void> {
  await page.evaluate(
    "new Promise((heard) => { addEventListener('popstate', () => heard(), { once: true }); history.back(); })",
  );
}

async function tryToClose(page: Page, dialog: Locator): Promise<void> {
  for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
  for (const name of ["Close", "Cancel"]) {
    const button = dialog.getByRole("button", { name });
    if ((await button.count()) > 0) await button.click({ force: true });
  }
  await page.mouse.click(3, 3);
  await goBack(page);
  await untilDrawn(page);
}

async function enter(t: Test, setting: Setting, title: string): Promise<ConsoleVisit> {
  const visited = await visitAgain(t, setting, "/console");
  await visited.signIn();
  await visited.go(title);
  return visited;
}

t.test("races", { timeout: 280_000 }, async (t) => {
  const setting = await open(t);
  const { origin } = setting;
  const ask = async (path: string, body: unknown, token?: string): Promise<Record<string, string>> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { "content-type": "application/json", ...authorization };
    const response = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, string>;
  };
  const { accessToken } = await ask("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const change = (endpoint: string, body: unknown) => ask(`/v1/auth/${endpoint}`, body, accessToken);
  await change("Accounts/Create", { name: "bob", password: ADMIN_PASSWORD });
  await ask("/helloworld/Call", { name: "Ada" });

  const SECRET = ".secret code";
  const pending: readonly {
    readonly action: string;
    readonly page: string;
    readonly opener: string;
    /** The row in whose menu the opener is. */
    readonly row?: string;
    readonly endpoint: string;
    readonly fill: string | undefined;
    /** The text that is visible when it is done; undefined: no dialog is open any more. */
    readonly outcome: string | undefined;
  }[] = [
    { action: "Create key", page: "API keys", opener: "New key", endpoint: "Keys/Create", fill: "k1", outcome: SECRET },
    {
      action: "Rotate key",
      page: "API keys",
      opener: "Rotate",
      row: "k1",
      endpoint: "Keys/Rotate",
      fill: undefined,
      outcome: SECRET,
    },
    {
      action: "Revoke key",
      page: "API keys",
      opener: "Revoke",
      row: "k1",
      endpoint: "Keys/Revoke",
      fill: "k1",
      outcome: undefined,
    },
    {
      action: "Create namespace",
      page: "Namespaces",
      opener: "New namespace",
      endpoint: "Namespaces/Create",
      fill: "team-a",
      outcome: SECRET,
    },
  ];
  t.test("keeps a dialog open until its request has a response", async (t) => {
    const visited = await enter(t, setting, "API keys");
    const { page, watched } = visited;
    const dialog = page.getByRole("dialog");
    for (const { action, page: title, opener, row, endpoint, fill, outcome } of sampleOf(pending, 2)) {
      await t.test(action, async (t) => {
        await visited.go(title);
        if (row === undefined) await page.getByRole("button", { name: opener }).click();
        else await chooseFor(page, row, opener);
        if (fill !== undefined) await dialog.getByRole("textbox").first().fill(fill);
        const held = await hold(page, `**/v1/auth/${endpoint}`);
        await dialog.getByRole("button", { name: action }).click();
        await held.asked;
        await tryToClose(page, dialog);
        t.equal(await dialog.count(), 1, "it is still there");
        t.ok(await dialog.getByRole("button", { name: action }).isVisible());
        await held.release();
        if (outcome === undefined) await dialog.waitFor({ state: "detached" });
        else {
          await dialog.locator(outcome).waitFor();
          await dialog.getByRole("button", { name: /^I have copied/ }).click();
        }
      });
    }
    checkClean(t, watched);
  });

  t.test("keeps the sign-in dialog open while it signs in", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    const held = await hold(page, "**/session/start");
    await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Account").fill("admin");
    await dialog.getByLabel("Password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await held.asked;
    for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
    await untilDrawn(page);
    t.ok(await dialog.isVisible());
    await held.release();
    await dialog.waitFor({ state: "detached" });
  });

  t.test("closes the dialog of a secret by its button only", async (t) => {
    const { page } = await enter(t, setting, "API keys");
    const dialog = page.getByRole("dialog");
    const secret = dialog.locator(SECRET);
    await page.getByRole("button", { name: "New key" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("kept");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await secret.waitFor();
    for (const [how, act] of [
      ["Escape, again and again", () => tryToClose(page, dialog)],
      ["back", () => goBack(page)],
    ] as const) {
      await t.test(how, async (t) => {
        await act();
        await dialog.getByText("Have you copied the key?").waitFor();
        t.ok(await secret.isVisible());
        t.equal(new URL(page.url()).pathname, "/console/keys");
      });
    }
    await t.test("asks before the page is reloaded", async (t) => {
      const asked = page.waitForEvent("dialog");
      // Not awaited: it continues only when the browser's question has been confirmed.
      void page.evaluate("setTimeout(() => location.reload())");
      const question = await asked;
      t.equal(question.type(), "beforeunload");
      await question.dismiss();
      t.ok(await secret.isVisible());
    });
    await dialog.getByRole("button", { name: /^I have copied/ }).click();
    await goBack(page);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });

  const twice: readonly {
    readonly what: string;
    readonly endpoint: string;
    readonly act: (visited: ConsoleVisit) => Promise<() => Promise<unknown>>;
  }[] = [
    {
      what: "a form that is sent again while it is under way",
      endpoint: "**/v1/auth/Accounts/Create",
      act: async ({ page, signIn, go }) => {
        await signIn();
        await go("Accounts");
        await page.getByRole("button", { name: "New account" }).click();
        await page.getByRole("dialog").getByLabel("Name").fill("eve");
        await page.getByRole("dialog").getByLabel("Password").fill(ADMIN_PASSWORD);
        // Like password managers do, without the button.
        return () => page.evaluate("document.querySelector('dialog form').requestSubmit()");
      },
    },
    {
      what: "signing in",
      endpoint: "**/session/start",
      act: async ({ page }) => {
        await page.getByLabel("Account").fill("admin");
        await page.getByLabel("Password").fill(ADMIN_PASSWORD);
        return () => page.evaluate("document.querySelector('main form').requestSubmit()");
      },
    },
    {
      what: "a button that is pressed again",
      endpoint: "**/v1/auth/Audit/List",
      act: async ({ page, signIn, go }) => {
        await signIn();
        await go("Audit trail");
        return () => page.getByRole("button", { name: "Reload" }).click({ force: true });
      },
    },
  ];
  for (const { what, endpoint, act } of sampleOf(twice, 2)) {
    t.test(`started twice, happens once: ${what}`, async (t) => {
      const visited = await visitAgain(t, setting, "/console");
      const { page } = visited;
      const again = await act(visited);
      const held = await hold(page, endpoint);
      await again();
      await held.asked;
      await untilDrawn(page);
      await again();
      await untilDrawn(page);
      t.equal(held.count(), 1);
      await held.release();
    });
  }

  t.test("shows only the explanation of the current question", async (t) => {
    const { page } = await enter(t, setting, "Rules");
    const response = page.getByRole("region", { name: "Explain a call" }).getByRole("status").first();
    await page.getByLabel("Who calls").selectOption("admin");
    await page.getByLabel("What is called").selectOption(HELLO);
    const held = await hold(page, "**/Rules/Explain");
    await page.getByRole("button", { name: "Explain" }).click();
    await held.asked;
    await page.getByLabel("Who calls").selectOption("");
    const answered = page.waitForResponse("**/Rules/Explain");
    await held.release();
    await (await answered).finished();
    await untilDrawn(page);
    t.equal(await response.innerText(), "");
    await page.getByRole("button", { name: "Explain" }).click();
    await response.getByText("200 granted").waitFor();
    t.match(await response.innerText(), `A call without a token at ${HELLO}`);
  });

  t.test("shows the numbers of the chosen service, and keeps them when a reload fails", async (t) => {
    const visited = await visitAgain(t, setting, "/console/usage");
    const { page } = visited;
    await page.clock.install();
    await visited.signIn();
    const row = page.getByRole("row").filter({ hasText: "helloworld:Helloworld.Call" });
    await row.waitFor({ timeout: 25_000 });
    await t.test("another service", async (t) => {
      const held = await hold(page, "**/Usage/List");
      await page.getByLabel("Service").selectOption("shop");
      await held.asked;
      await page.getByText("Loading the numbers").waitFor();
      t.equal(await row.count(), 0);
      const cancelled = page.waitForEvent("requestfailed");
      await page.getByLabel("Service").selectOption("helloworld");
      await cancelled;
      await untilDrawn(page);
      t.equal(await page.getByRole("alert").count(), 0, "what was cancelled is no failure");
      await held.release();
      await row.waitFor();
    });
    await t.test("the gateway is unreachable for a moment", async (t) => {
      await page.route("**/Usage/List", (route) => route.abort(), { times: 1 });
      await page.clock.fastForward(10_000);
      await page.getByRole("alert").getByText("What is shown is from before.").waitFor();
      t.ok(await row.isVisible());
      await page.clock.fastForward(10_000);
      await page.getByRole("alert").waitFor({ state: "detached" });
      t.ok(await row.isVisible());
    });
  });

  const ends = [
    { what: "answered late", late: true },
    { what: "refused late", late: false },
  ];
  for (const { what, late } of sampleOf(ends, 2)) {
    t.test(`a session's refresh, ${what}, leaves the next session as it is`, async (t) => {
      const visited = await visitAgain(t, setting, "/explore/helloworld/Helloworld.Call");
      const { page } = visited;
      await page.clock.install();
      await signIn(page);
      await untilSettled(page);
      await page.clock.fastForward("59:30");
      const held = await hold(page, "**/session", { late, once: true });
      const begun = page.waitForRequest("**/session");
      await page.getByRole("button", { name: "Send" }).click();
      await held.asked;
      const refresh = await begun;
      await signOut(page);
      await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Account").fill("bob");
      await dialog.getByLabel("Password").fill(ADMIN_PASSWORD);
      await dialog.getByRole("button", { name: "Sign in" }).click();
      await page.locator(".who").getByText("bob").waitFor();
      // Not until the page gives up the request that is held: its late response is what is tested.
      await untilSettled(page, 1);
      await page.clock.fastForward("59:30");
      const own = page.waitForResponse("**/session");
      await page.getByRole("button", { name: "Send" }).click();
      await (await own).finished();
      await held.release();
      await (await refresh.response())?.finished();
      await untilDrawn(page);
      t.ok(await page.locator(".who").isVisible());
      const sent = page.waitForRequest((request) => request.url().endsWith("/v1/helloworld/Call"));
      await page.getByRole("button", { name: "Send" }).click();
      const authorization = (await (await sent).headerValue("authorization")) ?? "";
      const { account } = await ask("/v1/auth/Auth/WhoAmI", {}, authorization.replace("Bearer ", ""));
      t.equal(account, "bob");
    });
  }

  t.test("a late response about the session before does not end the next session", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    await signIn(page);
    const sent = page.waitForRequest("**/v1/helloworld/Call");
    await page.getByRole("button", { name: "Send" }).click();
    const authorization = (await (await sent).headerValue("authorization")) as string;
    await page.getByText("200 OK").waitFor();
    await ask("/v1/auth/Auth/Logout", {}, authorization.replace("Bearer ", ""));
    const asked = page.waitForRequest("**/v1/auth/Auth/WhoAmI");
    const held = await hold(page, "**/v1/auth/Auth/WhoAmI", { once: true });
    await page.getByRole("button", { name: "Send" }).click();
    const check = await asked;
    await signOut(page);
    await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog").getByLabel("Account").fill("bob");
    await page.getByRole("dialog").getByLabel("Password").fill(ADMIN_PASSWORD);
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.locator(".who").getByText("bob").waitFor();
    await held.release();
    t.equal((await check.response())?.status(), 401);
    await untilDrawn(page);
    t.ok(await page.locator(".who").getByText("bob").isVisible());
    t.equal(await page.getByRole("heading", { name: START }).count(), 0);
  });
});
