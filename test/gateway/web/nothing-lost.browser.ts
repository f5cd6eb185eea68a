// The page of an endpoint: what is typed is not lost by a reload, Back or a second tab, secrets are
// written nowhere, errors lead to their fields, and the keyboard comes to Send in a few steps.
import type { Page } from "playwright-core";
import t from "tap";
import { sampleOf } from "../../support/full.js";
import { until } from "../../support/until.js";
import {
  ADMIN_PASSWORD,
  checkClean,
  open,
  screenshot,
  signIn,
  signOut,
  untilSettled,
  untilTrue,
  visit,
} from "./browser.js";

const TOKEN = `ptk_${"A1b2C3d4E5".repeat(5).slice(0, 49)}`;
const HELLO = "/explore/helloworld/Helloworld.Call";
const SHOP = "/explore/shop/Shop.Call";
const FAIL = "/explore/shop/Shop.Fail";

const box = (page: Page, name: string) => page.locator(".form").getByRole("textbox", { name }).first();
const openJson = (page: Page) => page.getByRole("tab", { name: "JSON", exact: true }).first().click();
const json = (page: Page) => page.getByRole("textbox", { name: "Request as JSON" });
const openOthers = (page: Page) =>
  page
    .getByRole("button", { name: /other fields?$/ })
    .first()
    .click();
const ready = (page: Page) => page.locator(".call-bar").waitFor();

type Act = (page: Page) => Promise<unknown>;
const type = (name: string, text: string) => (page: Page) => box(page, name).fill(text);
const typeJson = (text: string) => async (page: Page) => {
  await openJson(page);
  await json(page).fill(text);
};
const others =
  (act: Act): Act =>
  async (page) => {
    await openOthers(page);
    await act(page);
  };

/** How a visitor leaves the page and comes back to it. Returns the page with the form. */
const WAYS: Readonly<Record<string, (page: Page) => Promise<Page>>> = {
  async reload(page) {
    await page.reload();
    return page;
  },
  async back(page) {
    await page.locator(".sidebar-title").click();
    await page.locator(".entry-link").first().waitFor();
    await page.goBack();
    return page;
  },
  async "second tab"(page) {
    await until(() => page.url().includes("#"));
    const second = await page.context().newPage();
    await second.goto(page.url());
    return second;
  },
};

const WALKS: readonly {
  readonly at: string;
  readonly act: Act;
  readonly sends: object | string;
  readonly by: string;
}[] = [
  ...Object.keys(WAYS).flatMap((by) => [
    { at: HELLO, act: type("name", "Ada & Grace #1 / 100 %"), sends: { name: "Ada & Grace #1 / 100 %" }, by },
    { at: SHOP, act: type("customer", "Ada 😀 ü"), sends: { customer: "Ada 😀 ü" }, by },
    { at: SHOP, act: others(type("extras", '{"a": [1, null]}')), sends: { extras: { a: [1, null] } }, by },
    {
      at: SHOP,
      act: typeJson('{"items":[{"name":"tea","count":2}]}'),
      sends: { items: [{ name: "tea", count: 2 }] },
      by,
    },
    { at: FAIL, act: typeJson('{"message": "half'), sends: '{"message": "half', by },
    { at: SHOP, act: typeJson('{"number": "9007199254740993"}'), sends: { number: "9007199254740993" }, by },
  ]),
  { at: HELLO, act: (page) => box(page, "name").pressSequentially("quick"), sends: { name: "quick" }, by: "back" },
  { at: HELLO, act: type("name", "x".repeat(10_000)), sends: { name: "x".repeat(10_000) }, by: "reload" },
];

const HOSTILE: readonly { readonly fragment: string; readonly says: RegExp }[] = [
  { fragment: "request=%7Bno", says: /cannot be read, so the form is empty/ },
  { fragment: "request=%5B1%5D", says: /cannot be read, so the form is empty/ },
  { fragment: `request=${"x".repeat(1024 * 1024)}`, says: /too long, so the form is empty/ },
  { fragment: 'request={"nope":1}', says: /has no field nope/ },
  { fragment: 'request={"__proto__":{"name":"owned"},"constructor":1}', says: /has no field __proto__, constructor/ },
];

t.test("the page of an endpoint", { timeout: 200_000 }, async (t) => {
  const setting = await open(t);
  const watched = await visit(t, setting, "/explore");
  const { page } = watched;

  await t.test("nothing typed is lost, in twenty walks (in CI every fourth)", async (t) => {
    t.equal(WALKS.length, 20);
    for (const { at, act, sends, by } of sampleOf(WALKS, 4)) {
      await page.goto("about:blank");
      await page.goto(at);
      await ready(page);
      await act(page);
      const after = await WAYS[by]!(page);
      await ready(after);
      await openJson(after);
      const text = await json(after).inputValue();
      t.same(
        typeof sends === "string" ? text : JSON.parse(text),
        sends,
        `${by}: ${JSON.stringify(sends).slice(0, 60)}`,
      );
      if (after !== page) await after.close();
    }
  });

  await t.test("Back and Forward come to the scroll position, the query and the fragment", async (t) => {
    await page.setViewportSize({ width: 1280, height: 300 });
    await page.goto("/explore/shop?from=test");
    await page.locator(".entry-link").last().waitFor();
    await page.evaluate("scrollTo(0, 400)");
    await until(async () => (await page.evaluate("scrollY")) === 400);
    await page.evaluate("document.querySelector('.entry-link[href$=\"Shop.Call\"]').click()");
    await ready(page);
    t.equal(await page.evaluate("scrollY"), 0);
    await box(page, "customer").fill("Ada");
    await page.goBack();
    await page.locator(".entry-link").last().waitFor();
    await untilTrue(page, "scrollY === 400");
    t.equal(new URL(page.url()).search, "?from=test");
    await page.goForward();
    await ready(page);
    t.equal(await box(page, "customer").inputValue(), "Ada");
    await untilTrue(page, "location.hash.includes('Ada')");
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  await t.test("secrets and tokens are written to no address and no storage", async (t) => {
    const written = () =>
      page.evaluate<string>("JSON.stringify([{...localStorage}, {...sessionStorage}, location.href, history.state])");
    await page.goto("/explore/shop/Shop.Redeem");
    await page.getByLabel("pin").fill("4711-secret");
    await box(page, "value").fill(`with ${TOKEN} inside`);
    await untilTrue(page, "location.hash.includes('inside')");
    t.notMatch(await written(), "4711-secret");
    t.notMatch(await written(), /ptk_/);
    await page.reload();
    t.equal(await box(page, "value").inputValue(), "with  inside", "what is no secret is still there");
    await page.goto(`${FAIL}#request={"message":"${TOKEN}"}`);
    await ready(page);
    await untilTrue(page, "!location.hash.includes('ptk_')");
    t.notMatch(await written(), /ptk_/, "also from a link that had one");
  });

  await t.test("a damaged or hostile link gives an empty form and says so", async (t) => {
    for (const { fragment, says } of HOSTILE) {
      await page.goto("about:blank");
      await page.goto(`${HELLO}#${fragment}`);
      await page.getByText(says).waitFor();
      t.equal(await box(page, "name").inputValue(), "", `${says}`);
    }
  });

  await t.test("Share copies the link, and says when the request is too long for one", async (t) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(HELLO);
    await box(page, "name").fill("shared");
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByText("Copied the link").first().waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    t.equal(link, `${setting.origin}${HELLO}#${new URLSearchParams({ request: '{"name":"shared"}' })}`);
    await box(page, "name").fill("x".repeat(9_000));
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByText("This request has 9 kB, and a link may have 8 kB").first().waitFor();
  });

  await t.test("the last calls can be opened again", async () => {
    await page.goto("about:blank");
    await page.goto(HELLO);
    await box(page, "name").fill("once");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    // The status comes with the head of the response, and a call is recorded at its end.
    await page.getByText(/^Recent calls/).waitFor();
    await page.goto(FAIL);
    await page.getByText(/^Recent calls/).click();
    await page
      .getByRole("list", { name: "Recent calls" })
      .getByRole("link", { name: "Helloworld.Call" })
      .first()
      .click();
    await untilTrue(page, "document.querySelector('.form input')?.value === 'once'");
  });

  await t.test("a call opened again keeps its request while the page before still writes its address", async (t) => {
    await page.goto("about:blank");
    await page.goto(FAIL);
    await page.locator(".recent-calls a").first().waitFor({ state: "attached" });
    await page.evaluate(`{
      document.querySelector(".recent-calls a").click();
      // A busy computer: the time until the address is written ends before the next page is drawn.
      const end = performance.now() + 400;
      while (performance.now() < end);
    }`);
    await ready(page);
    t.equal(await box(page, "name").inputValue(), "once");
  });

  await t.test("an error leads to its field, also if that is folded away", async (t) => {
    await page.goto(SHOP);
    await openJson(page);
    await json(page).fill('{"items": [{}, {"count": "many"}]}');
    await page.getByRole("tab", { name: "Form" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Go to items[1].count" }).click();
    await untilTrue(page, "document.activeElement.getAttribute('aria-invalid') === 'true'");
    t.equal(await page.evaluate("document.activeElement.closest('[data-path]').dataset.path"), "items[1].count");

    await page.goto(FAIL);
    await box(page, "code").fill("3");
    await box(page, "message").fill("message: is not polite");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Go to message" }).click();
    await untilTrue(page, "document.activeElement.closest('[data-path]')?.dataset.path === 'message'");

    await page.goto(SHOP);
    await page.route("**/shop/Call", (route) =>
      route.fulfill({
        status: 400,
        json: {
          ...{ Id: "shop", Code: 400, Status: "Bad Request", Detail: "refused" },
          Details: [
            {
              "@type": "type.googleapis.com/google.rpc.BadRequest",
              fieldViolations: [{ field: "gift", description: "must be wrapped" }],
            },
          ],
        },
      }),
    );
    await page.getByRole("button", { name: "Send" }).click();
    t.equal(await page.locator("[data-path=gift]").count(), 0, "folded away");
    await page.getByRole("button", { name: "Go to gift" }).click();
    await untilTrue(page, "document.activeElement.closest('[data-path]')?.dataset.path === 'gift'");
    t.equal(await page.evaluate("document.activeElement.getAttribute('aria-invalid')"), "true");
    await page.locator("[data-path=gift]").getByText("must be wrapped").waitFor();
    await page.unroute("**/shop/Call");
  });

  await t.test("comes to Send with at most eight Tabs, with one skip link", async (t) => {
    for (const at of [HELLO, SHOP, "/explore/shop/Shop.Haggle"]) {
      await page.goto("about:blank");
      await page.goto(at);
      await ready(page);
      const name = () => page.evaluate<string>("document.activeElement.textContent.trim()");
      let tabs = 0;
      while (!/^(?:Send|Open the stream)$/.test(await name())) {
        await page.keyboard.press("Tab");
        if (++tabs > 8) break;
        if ((await name()) === "Skip to the request") await page.keyboard.press("Enter");
      }
      t.ok(tabs <= 8, `${at}: ${tabs} Tabs`);
    }
  });

  await t.test("the paths that programs call lead to the endpoint", async (t) => {
    for (const path of ["helloworld/Call", "helloworld/Helloworld.Call", "helloworld/Helloworld/Call", "shop/fail"]) {
      await page.goto(`/explore/${path}`);
      await ready(page);
      t.match(await page.locator(".endpoint-page .path code").first().textContent(), /Helloworld.Call|Shop.Fail/, path);
    }
  });

  await t.test("asks before Escape closes a dialog in which something was typed", async (t) => {
    await page.goto(HELLO);
    await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Account").fill("admin");
    await page.keyboard.press("Escape");
    await dialog.getByText("What you typed here is lost").waitFor();
    await page.keyboard.press("Enter");
    t.equal(await dialog.getByLabel("Account").inputValue(), "admin");
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
    await dialog.waitFor({ state: "detached" });
  });

  await t.test("after signing in again, the stale 401 is gone and the focus is on Send", async (t) => {
    await page.goto(HELLO);
    const started = page.waitForResponse("**/session/start");
    await signIn(page);
    const { accessToken } = (await (await started).json()) as { accessToken: string };
    const headers = { "content-type": "application/json", authorization: `Bearer ${accessToken}` };
    await untilSettled(page);
    await box(page, "name").fill("again");
    await fetch(`${setting.origin}/v1/auth/Auth/Logout`, { method: "POST", headers, body: "{}" });
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Your session was ended").waitFor();
    await dialog.getByLabel("Password").fill(ADMIN_PASSWORD);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await untilTrue(page, "document.activeElement.textContent.trim() === 'Send'");
    t.equal(await page.getByText("401 Unauthorized").count(), 0);
    await page.keyboard.press("Enter");
    await page.getByText("Hello again").first().waitFor();
  });

  await t.test("shows nothing of the former account, also not by Back", async (t) => {
    await signOut(page);
    await untilTrue(page, "document.querySelector('.form input')?.value === ''");
    t.equal(await page.getByText(/^Recent calls/).count(), 0);
    t.notMatch(await page.evaluate("JSON.stringify([{...sessionStorage}, location.href])"), "again");
  });

  await t.test("Send stays in sight", async (t) => {
    for (const [width, height] of [
      [1920, 900],
      [1360, 800],
      [1280, 800],
      [1030, 700],
      [768, 900],
      [360, 640],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.goto(SHOP);
      await ready(page);
      await openOthers(page);
      await page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)");
      const at = await page.getByRole("button", { name: "Send" }).boundingBox();
      t.ok(at !== null && at.y >= 0 && at.y + at.height <= height, `${width} px`);
      t.ok((await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")) <= 0, "nothing is wider");
      await page.evaluate("scrollTo(0, 0)");
      await screenshot(page, `endpoint-${width}`);
    }
  });

  checkClean(t, watched);
});
