// Narrow screens: nothing of the navigation is cut off, and no pattern breaks inside a word. The
// menu of the account works by keyboard and pointer.
import t from "tap";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, screenshot } from "./browser.js";
import { overflow, visitConsole } from "./console-browser.js";

const PATTERN = "service:orders-and-payments:SubscriptionsOfCustomersService.ListSubscriptions*";

t.test("narrow screens", async (t) => {
  const { page, watched, post, signIn, go } = await visitConsole(t, "/console");
  await signIn();
  const account = page.getByRole("banner").getByRole("button", { name: "Account admin" });

  await t.test("the menu of the account says who is signed in, and closes again", async (t) => {
    const out = page.getByRole("banner").getByRole("button", { name: "Sign out" });
    await account.focus();
    await page.keyboard.press("Enter");
    await page.getByText("Namespace default").waitFor();
    t.same(await seriousFaults(page), []);
    await page.keyboard.press("Tab");
    t.equal(await out.evaluate((button) => button.matches(":focus")), true);
    await page.keyboard.press("Escape");
    await out.waitFor({ state: "detached" });
    t.equal(await account.evaluate((button) => button.matches(":focus")), true);
    await account.click();
    await out.waitFor();
    await page.getByRole("heading", { level: 1 }).click();
    await out.waitFor({ state: "detached" });
  });

  await t.test("at 360 px all of the navigation is in sight", async (t) => {
    await page.setViewportSize({ width: 360, height: 780 });
    t.ok((await overflow(page)) <= 0, "nothing to scroll sideways");
    for (const link of await page.getByRole("navigation", { name: "Console" }).getByRole("link").all()) {
      const { x, width } = (await link.boundingBox())!;
      t.ok(x >= 0 && x + width <= 360, `${await link.innerText()} from ${x} to ${x + width}`);
    }
    const [name, room] = await page.evaluate<[number, number]>(
      "[document.querySelector('.who').scrollWidth, document.querySelector('.who').clientWidth]",
    );
    t.ok(name <= room, "also the name of the account");
    await account.click();
    t.ok((await overflow(page)) <= 0);
    await screenshot(page, "console-account-menu-360");
    await page.keyboard.press("Escape");
  });

  await t.test("at 768 px a pattern breaks between its words", async (t) => {
    const login = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
    const rule = { id: "finance-may-read", scope: "finance", access: "GRANTED", resource: PATTERN };
    const made = await post("/v1/auth/Rules/Create", { rule }, String(login.body.accessToken));
    t.equal(made.status, 200);
    await page.setViewportSize({ width: 768, height: 1024 });
    await go("Rules");
    const shown = page.locator("code").filter({ hasText: PATTERN }).first();
    const lines = await shown.evaluate<string[]>(`(code) => {
      const lines = [];
      let last;
      const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const { currentNode: text } = texts;
        for (let at = 0; at < text.length; at++) {
          const range = document.createRange();
          range.setStart(text, at);
          range.setEnd(text, at + 1);
          const { top } = range.getBoundingClientRect();
          if (top !== last) lines.push("");
          last = top;
          lines[lines.length - 1] += text.data[at];
        }
      }
      return lines;
    }`);
    t.equal(lines.join(""), PATTERN);
    for (const line of lines.slice(0, -1)) t.match(line, /(?:[:._-]|[a-z])$/, lines.join(" | "));
    for (const line of lines.slice(1))
      t.match(line, /^(?:[A-Z*]|orders|and|payments|subscriptions)/, lines.join(" | "));
    t.ok((await overflow(page)) <= 0);
    await screenshot(page, "console-rules-768");
  });

  checkClean(t, watched);
});
