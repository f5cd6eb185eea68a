// Without a mouse: from the list to a call and its response, through the dialog and back.

import type { Page } from "playwright-core";
import t from "tap";
import { ADMIN_PASSWORD, open, visit } from "./browser.js";

const focused = (page: Page) =>
  page.evaluate<string>(
    "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent ?? '').trim()",
  );

/** Presses Tab until something of this name has the focus. */
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

t.test("by keyboard only", async (t) => {
  const setting = await open(t);

  t.test("search, open a service, call it", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("hello");
    await tabTo(page, "Helloworld.Call");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Helloworld.Call" }).waitFor();
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

  t.test("the skip link leads past the header", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("Tab");
    t.equal(await focused(page), "Skip to content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    t.match(await focused(page), /^Search/);
  });

  t.test("the dialog keeps the focus, closes with Escape, and gives the focus back", async (t) => {
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
