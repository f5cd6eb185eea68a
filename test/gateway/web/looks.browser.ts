// Light and dark, wide and as narrow as a small phone. axe finds no serious problem, and nothing
// needs horizontal scrolling. The screenshots are for people to look at.
import type { Page } from "playwright-core";
import t from "tap";
import { sampleOf } from "../../support/full.js";
import { seriousFaults } from "./axe.js";
import { checkClean, open, screenshot, signIn, visit } from "./browser.js";

const PAGES: readonly {
  readonly name: string;
  readonly path: string;
  readonly act?: (page: Page) => Promise<unknown>;
}[] = [
  { name: "list", path: "/explore", act: (page) => page.getByRole("link", { name: "helloworld" }).waitFor() },
  {
    name: "search",
    path: "/explore",
    act: async (page) => {
      await page.getByRole("searchbox").fill("name");
      await page.getByRole("link", { name: "Shop.Call" }).waitFor();
    },
  },
  {
    name: "nothing-found",
    path: "/explore",
    act: async (page) => {
      await page.getByRole("searchbox").fill("xyzzy");
      await page.getByRole("heading", { name: "Nothing matches" }).waitFor();
    },
  },
  { name: "service", path: "/explore/shop", act: (page) => page.getByRole("tab", { name: "curl" }).waitFor() },
  {
    name: "call",
    path: "/explore/shop/Shop.Call",
    act: async (page) => {
      await page.locator("summary").filter({ hasText: "Request" }).click();
      await page.getByRole("button", { name: "Show the fields of Item" }).first().click();
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("200 OK").waitFor();
    },
  },
  {
    name: "stream",
    path: "/explore/helloworld/Helloworld.Stream",
    act: async (page) => {
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("complete").waitFor();
    },
  },
  {
    name: "refused",
    path: "/explore/shop/Shop.Fail",
    act: async (page) => {
      await page.getByRole("textbox", { name: "code" }).fill("14");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("503 Service Unavailable").waitFor();
    },
  },
  {
    name: "missing",
    path: "/explore/nowhere",
    act: (page) => page.getByRole("heading", { name: "nowhere" }).waitFor(),
  },
  {
    name: "sign-in",
    path: "/explore",
    act: async (page) => {
      await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "signed-in",
    path: "/explore",
    act: async (page) => {
      await signIn(page);
      await page.getByRole("link", { name: "auth" }).click();
      await page.getByRole("heading", { level: 1, name: "auth" }).waitFor();
    },
  },
];

const [WIDE, NARROW] = [
  { width: 1280, height: 900 },
  { width: 360, height: 780 },
];
/** In CI the first and the last: each theme, and each size. */
const LOOKS = sampleOf(
  (["light", "dark"] as const).flatMap((colorScheme) => [WIDE, NARROW].map((size) => ({ colorScheme, size }))),
  3,
);

t.test("looks", async (t) => {
  const setting = await open(t);
  for (const { name, path, act } of PAGES) {
    t.test(name, async (t) => {
      const watched = await visit(t, setting, path);
      const { page } = watched;
      await act?.(page);
      for (const { colorScheme, size } of LOOKS) {
        // With motion, a colour may still be changing while axe looks at it.
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize(size);
        const [shown, room] = await page.evaluate<[number, number]>(
          "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
        );
        t.ok(shown <= room, `nothing to scroll sideways (${shown} of ${room})`);
        t.same(await seriousFaults(page), [], `axe finds nothing serious, ${colorScheme}, ${size.width} pixels wide`);
        await screenshot(page, `explore-${name}-${colorScheme}-${size.width}`);
      }
      checkClean(t, watched);
      await page.close();
    });
  }

  t.test("switches between light and dark, and keeps the choice after a reload", async (t) => {
    const { page } = await visit(t, setting, "/explore", { scheme: "light" });
    const ground = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    const light = await ground();
    await page.getByRole("button", { name: "Switch to dark colours" }).click();
    const dark = await ground();
    t.not(dark, light);
    await page.reload();
    await page.getByRole("button", { name: "Switch to light colours" }).waitFor();
    t.equal(await ground(), dark);
  });

  t.test("a theme follows in another tab", async (t) => {
    const { page } = await visit(t, setting, "/explore", { scheme: "light" });
    const other = await page.context().newPage();
    await other.goto("/console");
    await other.getByRole("heading", { name: "Sign in to the console" }).waitFor();
    await page.getByRole("button", { name: "Switch to dark colours" }).click();
    await other.getByRole("button", { name: "Switch to light colours" }).waitFor();
    t.equal(await other.evaluate("document.documentElement.dataset.theme"), "dark");
    await page.evaluate("localStorage.clear()");
    await other.getByRole("button", { name: "Switch to dark colours" }).waitFor();
    t.equal(await other.evaluate("document.documentElement.dataset.theme"), "light", "the system decides again");
  });

  t.test("the current page is marked also in colours that the system forces", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Call");
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.emulateMedia({ forcedColors: "active" });
    const [current, others] = await page.evaluate<[string, string[]]>(`[
      getComputedStyle(document.querySelector(".sidebar li [aria-current]")).backgroundColor,
      [...document.querySelectorAll(".sidebar li a:not([aria-current])")].map((a) => getComputedStyle(a).backgroundColor),
    ]`);
    t.ok(others.length > 0);
    t.notOk(others.includes(current), `${current} is not the colour of another`);
    t.same(await seriousFaults(page), []);
    await screenshot(page, "explore-call-forced-colours");
  });

  t.test("paper has the content in dark ink, without what only a screen can do", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Call", { scheme: "dark" });
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.emulateMedia({ media: "print" });
    t.equal(await page.evaluate("getComputedStyle(document.body).color"), "rgb(29, 27, 23)");
    for (const selector of ["header.header", ".sidebar", ".call-bar"]) {
      t.equal(await page.locator(selector).isVisible(), false, selector);
    }
    t.equal(await page.getByRole("heading", { level: 1 }).isVisible(), true);
    await screenshot(page, "explore-call-print");
  });

  t.test("a path where nothing is leads to the pages", async (t) => {
    const watched = await visit(t, setting, "/nowhere");
    const { page } = watched;
    await page.getByRole("heading", { name: "There is no page here" }).waitFor();
    t.same(await seriousFaults(page), []);
    await page.getByRole("link", { name: "All services" }).click();
    await page.getByRole("heading", { name: "Explore the services" }).waitFor();
    checkClean(t, watched);
  });

  t.test("axe would find a problem", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("searchbox").waitFor();
    await page.evaluate(
      "document.querySelector('input').removeAttribute('aria-label'); document.querySelector('input').placeholder = ''",
    );
    t.match(await seriousFaults(page), [/^label /]);
  });
});
