/**
 * The pages in a real browser, with the built program. The browser is Debian's
 * chromium-headless-shell or chromium, or the one that PORTICO_CHROMIUM names. All that a page does
 * against its security policy, and all its errors, are recorded.
 */
import { spawnSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page, type Request, type Route } from "playwright-core";
import type { Test } from "tap";
import { FULL } from "../../support/full.js";
import { until } from "../../support/until.js";
import { ADMIN_PASSWORD, openShopFront, type ShopFront } from "./shop-front.js";

export { ADMIN_PASSWORD };

const SCREENSHOTS = "test-artifacts";

const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

export interface Setting extends ShopFront {
  readonly browser: Browser;
}

export interface Watched {
  readonly page: Page;
  /** Violations of the security policy: the directive, and what it blocked. */
  readonly violations: string[];
  /** Uncaught errors. */
  readonly failures: string[];
  /** Requested addresses of other origins. */
  readonly elsewhere: string[];
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
}

/** A Portico with a shop behind it, and a browser. Both end with the test. */
export async function open(t: Test, ownServices?: string): Promise<Setting> {
  const front = await openShopFront(t, ownServices);
  return { ...front, browser: await launch(t) };
}

/** A browser that ends with the test. `flags` are Chromium's own. */
export async function launch(t: Test, flags: readonly string[] = []): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: findChromium(), args: [...FLAGS, ...flags] });
  t.teardown(() => browser.close());
  return browser;
}

/**
 * Chromium's flag to accept a certificate as valid, by the digest of its public key. @param cert
 * PEM
 */
export function trusting({ cert }: { readonly cert: Buffer }): string[] {
  const key = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  return [`--ignore-certificate-errors-spki-list=${createHash("sha256").update(key).digest("base64")}`];
}

/** Debian's headless shell draws the same pages with less processor time than the whole browser. */
function findChromium(): string {
  const which = (program: string) => spawnSync("which", [program], { encoding: "utf8" }).stdout.trim();
  const found = process.env.PORTICO_CHROMIUM || which("chromium-headless-shell") || which("chromium");
  if (found === "") {
    throw new Error(
      "There is no Chromium: install it (apt-get install chromium-headless-shell) or set PORTICO_CHROMIUM",
    );
  }
  return found;
}

/** A new page, in a browser session of its own. */
export async function visit(
  t: Test,
  { browser, origin }: Pick<Setting, "browser" | "origin">,
  path: string,
  options: PageOptions = {},
) {
  const { width = 1280, height = 900, scheme = "light" } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, baseURL: origin });
  t.teardown(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const watched: Watched = { page, violations: [], failures: [], elsewhere: [] };
  await page.exposeFunction("tellViolation", (text: string) => watched.violations.push(text));
  await page.addInitScript(`addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
    tellViolation(violatedDirective + " " + blockedURI))`);
  page.on("pageerror", ({ message }) => watched.failures.push(message));
  const open = new Set<Request>();
  requestsOf.set(page, open);
  page.on("request", (request) => {
    open.add(request);
    // An address that the page has made for bytes is of its origin, too.
    const url = request.url().replace(/^blob:/, "");
    if (!url.startsWith(origin)) watched.elsewhere.push(url);
  });
  page.on("requestfinished", (request) => open.delete(request));
  page.on("requestfailed", (request) => open.delete(request));
  await page.goto(path);
  return watched;
}

/** The requests of each page that have not ended. */
const requestsOf = new WeakMap<Page, Set<Request>>();

/** Handles requests of the page from now on. A page that was left needs no response. */
export async function intercept(page: Page, glob: string, handle: (route: Route) => Promise<void>): Promise<void> {
  await page.route(glob, (route) =>
    handle(route).catch((error: Error) => {
      if (!/disposed|closed/.test(error.message)) throw error;
    }),
  );
}

/**
 * Waits until the page has been drawn and all its requests have ended. Playwright's "networkidle"
 * is reached once after a page has loaded. It does not cover later requests.
 * @param held how many requests the test itself keeps from ending
 */
export async function untilSettled(page: Page, held = 0): Promise<void> {
  const open = requestsOf.get(page)!;
  await untilDrawn(page);
  while (open.size > held) {
    await until(() => open.size <= held);
    await untilDrawn(page);
  }
}

/**
 * Waits until an expression in the page is true. Playwright's waitForFunction would use eval, which
 * the pages' security policy forbids.
 */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  await until(async () => (await page.evaluate(expression)) === true, { what: () => expression });
}

/** Waits until all that has happened so far has been drawn. */
export async function untilDrawn(page: Page): Promise<void> {
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
}

/** Checks that nothing forbidden was tried, nothing failed, and no request left the origin. */
export function checkClean(t: Test, { violations, failures, elsewhere }: Watched): void {
  t.same({ violations, failures, elsewhere }, { violations: [], failures: [], elsewhere: [] });
}

export async function signIn(page: Page, account = "admin"): Promise<void> {
  await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Account").fill(account);
  await dialog.getByLabel("Password").fill(ADMIN_PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".who").waitFor();
}

/** By the menu of the account in the header. */
export async function signOut(page: Page): Promise<void> {
  const header = page.getByRole("banner");
  await header.getByRole("button", { name: /^Account / }).click();
  await header.getByRole("button", { name: "Sign out", exact: true }).click();
}

/** Takes a screenshot of the whole page, for people to look at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!FULL) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  const { width, height } = page.viewportSize()!;
  const whole = await page.evaluate<number>("document.documentElement.scrollHeight");
  // The window is as high as the page. Otherwise elements that stick to the window's edge would be
  // in the middle of the picture.
  await page.setViewportSize({ width, height: Math.min(Math.max(height, whole), 5_000) });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  await page.setViewportSize({ width, height });
}
