// Without a mouse: from the list to a call and its response, through the dialog and back.

import type { Page } from "playwright-core";
import t from "tap";
import { deferred } from "../../support/deferred.js";
import { ADMIN_PASSWORD, open, visit } from "./browser.js";

const focused = (page: Page) =>
  page.evaluate<string>(
    "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent ?? '').trim()",
  );

/** Presses Tab until an element of this name has the focus. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const passed: string[] = [];
  while (passed.length < 60) {
    await page.keyboard.press("Tab");
    const here = await focused(page);
    if (typeof name === "string" ? here === name : name.test(here)) return;
    passed.push(here);
  }
  throw new Error(`Tab never came to ${name}; it passed ${passed.join(" | ")}`);
}

/** A disabled button takes the focus too, but then Enter does nothing. */
const untilEnabled = (page: Page, name: string) =>
  page.locator("button:not([aria-disabled])", { hasText: name }).waitFor();

t.test("with only the keyboard", async (t) => {
  const setting = await open(t);

  t.test("search, open a service, call it", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("hello");
    await tabTo(page, "Helloworld.Call");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Call" }).waitFor();
    t.equal(await page.evaluate("document.activeElement.tagName"), "MAIN", "as after loading a document");
    await tabTo(page, "Form");
    await page.keyboard.press("ArrowRight");
    t.equal(await focused(page), "JSON");
    t.equal(await page.getByRole("tab", { name: "JSON" }).getAttribute("aria-selected"), "true");
    await tabTo(page, "Send");
    await page.keyboard.press("Enter");
    await page.getByText("200 OK").waitFor();
    await tabTo(page, "curl");
    await page.keyboard.press("End");
    t.equal(await focused(page), "portico");
    await page.getByText("portico call").waitFor();
  });

  t.test("sends with Enter in a field, and with Ctrl+Enter everywhere", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const sent = () => page.waitForRequest((request) => request.method() === "POST");
    const byEnter = sent();
    await page.getByRole("textbox", { name: "name" }).fill("Ada");
    await page.keyboard.press("Enter");
    await byEnter;
    await page.getByText("200 OK").waitFor();
    await page.getByRole("tablist", { name: "Request as" }).getByRole("tab", { name: "JSON" }).click();
    const byControl = sent();
    await page.getByRole("textbox", { name: "Request as JSON" }).focus();
    await page.keyboard.press("Control+Enter");
    t.same((await byControl).postDataJSON(), { name: "Ada" }, "and the text is as it was");
  });

  t.test("the focus stays where the pressed button was", async (t) => {
    const press = async (page: Page, name: string) => {
      await page.getByRole("button", { name }).focus();
      await page.keyboard.press("Enter");
    };
    const { page } = await visit(t, setting, "/explore/shop/Shop.Haggle");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    await press(page, "Open the stream");
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    t.match(await focused(page), "Send this message");
    await untilEnabled(page, "Send this message");
    await page.keyboard.press("Enter");
    await page.getByRole("list", { name: "Messages" }).getByText('"text": "tea"').waitFor();
    await press(page, "Cancel");
    await page.getByText("cancelled").waitFor();
    t.equal(await focused(page), "Open the stream");
    await page.keyboard.press("Enter");
    await page.getByText("open", { exact: true }).waitFor();
    await untilEnabled(page, "No more messages");
    await press(page, "No more messages");
    await page.getByText("complete").waitFor();
    t.equal(await focused(page), "Open the stream", "its end takes the buttons away");

    await page.goto("/explore/shop/Shop.Watch");
    await page.getByRole("textbox", { name: "most" }).fill("");
    await press(page, "Send");
    await page.getByRole("list", { name: "Messages" }).waitFor();
    await press(page, "Cancel");
    await page.getByText("cancelled").waitFor();
    t.equal(await focused(page), "Send");

    await page.goto("/explore/shop/Shop.Call");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    const { promise: held, resolve: response } = deferred();
    await page.route("**/shop/Call", (route) => held.then(() => route.continue()));
    await press(page, "Send");
    await page.getByRole("button", { name: "Cancel" }).focus();
    response();
    await page.getByText("200 OK").waitFor();
    t.equal(await focused(page), "Send", "an answer that comes while Cancel has it");

    await press(page, "Add an item to items");
    await press(page, "Remove items 2");
    t.equal(await focused(page), "Add an item to items");
    await press(page, "Remove items 1");
    t.equal(await focused(page), "Add an item to items");
    await press(page, "Add an entry to notes");
    await press(page, "Remove notes 1");
    t.equal(await focused(page), "Add an entry to notes");
    await page.getByRole("tablist", { name: "Request as" }).getByRole("tab", { name: "JSON" }).click();
    await page.getByRole("textbox", { name: "Request as JSON" }).fill("{");
    await page.getByRole("tab", { name: "Form" }).click();
    await press(page, "Start anew");
    t.equal(await focused(page), "Form");
  });

  t.test("puts the first response into a region that screen readers already follow", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.evaluate("globalThis.before = [...document.querySelectorAll('.try-it [role=status]')]");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    t.ok(await page.evaluate("globalThis.before.some(status => status.textContent.includes('200 OK'))"));
  });

  t.test("the skip link leads past the header", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("Tab");
    t.equal(await focused(page), "Skip to content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    t.match(await focused(page), /^Search/);
  });

  t.test("the dialog keeps the focus, closes with Escape, and returns the focus", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("searchbox").waitFor();
    await tabTo(page, "Sign in");
    await page.keyboard.press("Enter");
    const inside = () =>
      page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')");
    await page.getByRole("dialog").waitFor();
    for (let press = 0; press < 12; press++) {
      t.ok(await inside(), "nothing behind the dialog is reached");
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    t.equal(await focused(page), "Sign in");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.getByRole("dialog").getByLabel("Account").focus();
    await page.keyboard.type("admin");
    await page.keyboard.press("Tab");
    await page.keyboard.type(ADMIN_PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  });
});
