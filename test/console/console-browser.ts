/** A real browser at the pages of a real Portico, with everything that the browser complains of. */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { Test } from "tap";
import { type Portico, start } from "../server/process.js";

const CHROMIUM = "/usr/bin/chromium";
const FLAGS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];
/** Kept for people to look at; not in the repository. */
const SCREENSHOTS = "test/console/screenshots";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const PASSWORD = "correct horse battery";

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly base: string;
  readonly portico: Portico;
  /** What the content security policy stopped, and what scripts threw. */
  readonly complaints: string[];
  /** Calls the API from outside of the page. */
  post(path: string, body: unknown, token?: string): Promise<{ status: number; body: Record<string, never> }>;
  signIn(account?: string): Promise<void>;
  /** To a page of the console, by its menu. */
  go(title: string): Promise<void>;
}

/** Starts Portico, whose administrator has PASSWORD, and a browser; both end with the test. */
export async function visit(t: Test): Promise<Visit> {
  const portico = await start(["server"], { PORTICO_DATA: t.testdir(), PORTICO_ADMIN_PASSWORD: PASSWORD });
  t.teardown(() => portico.stop());
  const browser: Browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  t.teardown(() => browser.close());
  const base = portico.address("HTTP");
  const context = await browser.newContext({ baseURL: base, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on("pageerror", ({ message }) => complaints.push(message));
  await page.exposeFunction("complain", (what: string) => complaints.push(what));
  await page.addInitScript(
    'addEventListener("securitypolicyviolation", (it) => complain(it.violatedDirective + " " + it.blockedURI))',
  );
  return {
    ...{ page, context, base, portico, complaints },
    async post(path, body, token) {
      const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      const headers = { "Content-Type": "application/json", ...authorization };
      const response = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: response.status, body: (await response.json()) as Record<string, never> };
    },
    async signIn(account = "admin") {
      await page.getByLabel("Account").fill(account);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.locator("form").getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
    },
    async go(title) {
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: title }).click();
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await page.getByText("Loading").waitFor({ state: "hidden" });
      await page.waitForLoadState("networkidle");
    },
  };
}

/** What axe finds to be serious or critical (https://github.com/dequelabs/axe-core), one line each. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations, passes } = await page.evaluate<AxeResults>("axe.run()");
  if (passes.length === 0) throw new Error("axe looked at nothing");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}

interface AxeResults {
  readonly passes: readonly unknown[];
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly target: readonly string[] }[];
  }[];
}

/** By how many pixels the page is wider than the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}
