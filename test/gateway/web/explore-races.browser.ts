// Events that come too late, or after the visitor has left the page. They do not change the page
// that is shown then, and are reported correctly.

import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { deferred } from "../../support/deferred.js";
import { call } from "../../support/process.js";
import { ADMIN_PASSWORD, open, signIn, signOut, untilSettled, visit } from "./browser.js";

t.test("races on the page of an endpoint", async (t) => {
  const setting = await open(t);
  const { origin } = setting;
  const { body } = await call(`${origin}/auth/login`, { account: "admin", password: ADMIN_PASSWORD });
  const admin = { authorization: `Bearer ${(body as { accessToken: string }).accessToken}` };
  /** Denies an endpoint of the shop to everyone without a token, until the test ends. */
  const deny = async (t: Test, endpoint: string, scope = "<public>") => {
    const rule = { id: "closed", scope, access: "DENIED", resource: `service:shop:Shop.${endpoint}`, priority: 9 };
    t.equal((await call(`${origin}/v1/auth/Rules/Create`, { rule }, admin)).status, 200);
    t.teardown(() => call(`${origin}/v1/auth/Rules/Delete`, { id: "closed" }, admin));
  };

  t.test(
    "the page of a service is shown when its document has arrived, so that no link moves under a click",
    async (t) => {
      const { page } = await visit(t, setting, "/explore");
      const released = deferred<void>();
      await page.route("**/openapi/shop.json", async (route) => {
        await released.promise;
        await route.continue();
      });
      await page.getByRole("link", { name: "shop", exact: true }).first().click();
      await page.getByText("Loading the fields").waitFor();
      t.equal(await page.getByRole("link", { name: "Shop.Call" }).count(), 0);
      released.resolve();
      await t.resolves(page.getByRole("link", { name: "Shop.Call" }).first().waitFor());
    },
  );

  t.test("a stream that fails while it runs is shown as failed, with the reason", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Watch");
    await page.getByRole("textbox", { name: "every" }).fill("20");
    await page.getByRole("textbox", { name: "most" }).fill("");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText('{ "number": 3 }').waitFor();
    await deny(t, "Watch");
    const status = page.getByRole("region", { name: "Response" }).getByRole("status");
    await status.getByText("failed").waitFor();
    const told = await status.textContent();
    t.match(told, "401: Unauthorized call made to shop:Shop.Watch");
    t.match(told, "Nobody may call this without a token");
  });

  t.test("a stream that fails because its token was revoked ends the session", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Watch");
    await signIn(page);
    await page.getByRole("textbox", { name: "most" }).fill("");
    const sent = page.waitForRequest("**/v1/shop/Watch");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText('{ "number": 1 }').waitFor();
    await logOut(origin, await (await sent).headerValue("authorization"));
    await t.resolves(page.getByRole("status").getByText("Your session was ended").waitFor());
  });

  t.test("shows a two-way stream that was cancelled as cancelled, not failed", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Haggle");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    const closed = untilSocketCloses(page);
    await converse(page);
    await page.getByRole("button", { name: "Cancel" }).click();
    await closed;
    await page.getByRole("button", { name: "Open the stream" }).waitFor();
    t.equal(await page.getByRole("region", { name: "Response" }).locator(".notice").count(), 0);
    t.match(await page.getByRole("region", { name: "Response" }).textContent(), /^cancelled/);
  });

  t.test("does not open a stream that was cancelled while the token was refreshed", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Haggle");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    await page.clock.install();
    await signIn(page);
    await page.getByRole("combobox", { name: "Call as" }).waitFor();
    await untilSettled(page);
    await page.clock.fastForward("59:30");
    const renewing = await hold(page, "**/session");
    const opened: string[] = [];
    page.on("websocket", (socket) => opened.push(socket.url()));
    await page.getByRole("button", { name: "Open the stream" }).click();
    await renewing.asked;
    await page.getByRole("button", { name: "Cancel" }).click();
    const renewed = page.waitForResponse("**/session");
    renewing.release();
    await renewed;
    await converse(page);
    t.equal(opened.length, 1, "only the second one");
  });

  t.test("leaving the page closes its WebSocket", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Haggle");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    const closed = untilSocketCloses(page);
    await converse(page);
    await page.getByRole("link", { name: "All services" }).click();
    await t.resolves(closed);
  });

  t.test("a refusal of a WebSocket by the rules is shown, with advice", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Fill");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    const opening = page.getByRole("button", { name: "Open the stream" });
    await opening.waitFor();
    await deny(t, "Fill");
    await opening.click();
    await page.getByText("401: Unauthorized call made to shop:Shop.Fill").waitFor();
    await t.resolves(page.getByText("Nobody may call this without a token").waitFor());
  });

  t.test("ends the session when a WebSocket is refused because of its token", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Fill");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    await signIn(page);
    await page.getByRole("link", { name: "Call", exact: true }).click();
    const sent = page.waitForRequest("**/v1/shop/Call");
    await page.getByRole("button", { name: "Send" }).click();
    await logOut(origin, await (await sent).headerValue("authorization"));
    await page.getByRole("link", { name: "Fill", exact: true }).click();
    await page.getByRole("button", { name: "Open the stream" }).click();
    await t.resolves(page.getByRole("status").getByText("Your session was ended").waitFor());
  });

  t.test("says so if a proxy lets no WebSocket through", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.addInitScript(`globalThis.WebSocket = class extends WebSocket {
      constructor(url, protocols) { super(url.replace(/[^/]*$/, "nowhere"), protocols); }
    }`);
    await page.goto("/explore/shop/Shop.Fill");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    await page.getByRole("button", { name: "Open the stream" }).click();
    await t.resolves(page.getByText("no WebSocket could be opened").waitFor());
  });

  t.test("gives advice for the caller of the call, not for a caller chosen afterwards", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Call");
    await signIn(page);
    // By then the requests of the new session have ended.
    await untilSettled(page);
    await deny(t, "Call");
    await page.getByRole("combobox", { name: "Call as" }).selectOption("nobody");
    await page.getByRole("button", { name: "Send" }).click();
    const advice = page.getByText("Nobody may call this without a token");
    await advice.waitFor();
    await page.getByRole("combobox", { name: "Call as" }).selectOption("self");
    // The line above the columns follows the choice, so the choice has been drawn by then.
    await page.locator(".path").getByText("/v1/shop/Call").waitFor();
    t.equal(await advice.count(), 1);
  });

  t.test("signing out clears requests and responses; signing in keeps what was typed", async (t) => {
    const { page } = await visit(t, setting, "/explore/auth/Auth.Login");
    await page.getByRole("tab", { name: "JSON" }).click();
    const editor = page.getByRole("textbox", { name: "Request as JSON" });
    await editor.fill(JSON.stringify({ account: "admin", password: ADMIN_PASSWORD, namespace: "default" }));
    await signIn(page);
    await page.getByRole("combobox", { name: "Call as" }).waitFor();
    t.match(await editor.inputValue(), ADMIN_PASSWORD);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    t.match(await page.getByRole("main").textContent(), /pta_\w/);
    await signOut(page);
    await page.getByText("Signed out").waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.getByRole("tab", { name: "JSON" }).click();
    const left = await page.evaluate<string>(
      "[document.body.innerHTML, ...[...document.querySelectorAll('input, textarea')].map(one => one.value)].join()",
    );
    t.notMatch(left, /pta_\w/);
    t.notMatch(left, ADMIN_PASSWORD);
  });

  t.test("a service's document is read again when a visitor signs in or out", async (t) => {
    const { page } = await visit(t, setting, "/explore/auth");
    await page.getByRole("link", { name: "Auth.Login" }).waitFor();
    const asked: boolean[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/openapi/auth.json")) asked.push("authorization" in request.headers());
    });
    const document = () => page.waitForResponse("**/openapi/auth.json");
    const forAdmin = document();
    await signIn(page);
    await forAdmin;
    await page.getByRole("link", { name: "Rules.List" }).click();
    await page.getByRole("heading", { name: "Request" }).waitFor();
    await page.getByRole("link", { name: "Login", exact: true }).click();
    const forEveryone = document();
    await signOut(page);
    await forEveryone;
    t.same(asked, [true, false]);
  });

  t.test("scrolls to new messages, except while the reader has scrolled up", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Haggle");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    const messages = page.getByRole("list", { name: "Messages" }).getByRole("listitem");
    const say = async () => {
      const before = await messages.count();
      await page.getByRole("button", { name: "Send this message" }).click();
      await messages.nth(before + 1).waitFor();
    };
    await page.getByRole("button", { name: "Open the stream" }).click();
    for (let said = 0; said < 15; said++) await say();
    const list = "document.querySelector('.messages')";
    const toEnd = `(({ scrollTop, clientHeight, scrollHeight }) => scrollHeight - scrollTop - clientHeight)(${list})`;
    t.ok((await page.evaluate<number>(toEnd)) < 8, "the newest is in sight");
    await page.evaluate(`${list}.scrollTo(0, 40)`);
    await say();
    await say();
    t.equal(await page.evaluate(`${list}.scrollTop`), 40);
  });
});

async function logOut(origin: string, authorization: string | null): Promise<void> {
  await call(`${origin}/v1/auth/Auth/Logout`, {}, { authorization: authorization ?? "" });
}

async function untilSocketCloses(page: Page): Promise<void> {
  const socket = await page.waitForEvent("websocket");
  if (!socket.isClosed()) await socket.waitForEvent("close");
}

/** Stops such requests until they are released. */
async function hold(page: Page, url: string) {
  const { promise: released, resolve: release } = deferred();
  const { promise: asked, resolve: ask } = deferred();
  await page.route(url, async (route) => {
    ask();
    await released;
    await route.continue();
  });
  return { release: () => release(), asked };
}

/** Opens the stream of an endpoint that responds to each message, and waits for one response. */
async function converse(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Open the stream" }).click();
  await page.getByRole("button", { name: "Send this message" }).click();
  await page.getByRole("list", { name: "Messages" }).getByText('"text": "tea"').waitFor();
}
