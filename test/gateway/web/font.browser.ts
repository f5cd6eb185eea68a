// The font of the pages: text is readable before it arrives, and stays in its place when it does.
import t from "tap";
import { until } from "../../support/until.js";
import { checkClean, open, untilDrawn, untilSettled, untilTrue, visit } from "./browser.js";

const setting = await open(t);

/** Counts how far elements move (https://wicg.github.io/layout-instability/) in `window.shift`. */
const WATCH_SHIFTS = `window.shift = 0; new PerformanceObserver((list) => {
  for (const { value } of list.getEntries()) window.shift += value;
}).observe({ type: "layout-shift", buffered: true })`;

/** The most that a page may move, far below the 0.1 that counts as good (https://web.dev/cls). */
const MAX_SHIFT = 0.01;

const LOADED = `[...document.fonts].some(({ family, status }) =>
  family.replaceAll('"', "") === "Public Sans" && status === "loaded")`;

/** The width of the title. */
const WIDTH = `(() => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector("h1"));
  return range.getBoundingClientRect().width;
})()`;

/**
 * The largest difference in width between the font and the local font before it. Single words
 * differ more than prose. Without size-adjust, two titles in DejaVu Sans differ by 0.18 and 0.19.
 */
const MAX_DIFFERENCE = 0.12;

const PAGES = ["/explore", "/explore/helloworld", "/explore/helloworld/Helloworld.Call", "/console"];

t.test("a page does not wait for the font, and nothing moves when the font arrives", async (t) => {
  for (const width of [360, 1280]) {
    for (const path of PAGES) {
      const watched = await visit(t, setting, "/favicon.ico", { width });
      const { page } = watched;
      let arrive = () => {};
      const arrival = new Promise<void>((resolve) => {
        arrive = resolve;
      });
      await page.route("**/*.woff2", async (route) => {
        await arrival;
        await route.continue();
      });
      await page.addInitScript(WATCH_SHIFTS);
      // The event `load` waits for the font.
      await page.goto(path, { waitUntil: "domcontentloaded" });
      await page.getByRole("heading", { level: 1 }).waitFor();
      t.equal(await page.evaluate(LOADED), false, `${path} is shown without it`);
      await untilDrawn(page);
      const before = await page.evaluate<number>("shift");
      const localWidth = await page.evaluate<number>(WIDTH);
      arrive();
      await untilTrue(page, LOADED);
      await untilSettled(page);
      const moved = (await page.evaluate<number>("shift")) - before;
      t.ok(moved <= MAX_SHIFT, `${path} at ${width} px moves by ${moved}`);
      const ratio = (await page.evaluate<number>(WIDTH)) / localWidth;
      t.ok(Math.abs(ratio - 1) <= MAX_DIFFERENCE, `the title of ${path} is ${ratio} times as wide`);
      checkClean(t, watched);
    }
  }
});

t.test("the font is asked for after the first data", async (t) => {
  const watched = await visit(t, setting, "/favicon.ico");
  const { page } = watched;
  let asked = 0;
  await page.route("**/*.woff2", async (route) => {
    asked++;
    await route.continue();
  });
  let arrive = () => {};
  const arrival = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const held: string[] = [];
  await page.route("**/registry/list", async (route) => {
    held.push(route.request().url());
    await arrival;
    await route.continue();
  });
  await page.goto("/explore");
  await until(() => held.length > 0);
  await untilSettled(page, 1);
  t.equal(asked, 0);
  arrive();
  await page.getByRole("link", { name: "helloworld" }).first().waitFor();
  await untilTrue(page, LOADED);
  t.equal(asked, 1);
  checkClean(t, watched);
});

t.test("figures in columns have one width", async (t) => {
  const { page } = await visit(t, setting, "/console");
  await untilTrue(page, LOADED);
  const widths = await page.evaluate(`["1111", "8888"].map((digits) => {
    const table = document.createElement("div");
    table.className = "table";
    const cell = document.createElement("span");
    cell.className = "numeric";
    cell.textContent = digits;
    table.append(cell);
    document.body.append(table);
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().width;
  })`);
  t.equal((widths as number[])[0], (widths as number[])[1]);
});
