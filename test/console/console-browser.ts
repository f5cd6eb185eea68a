/** The console in a real browser, and the same API from outside of it. */
import type { Page } from "playwright-core";
import type { Test } from "tap";
import { ADMIN_PASSWORD, open, visit, type Watched } from "./browser.js";

export interface ConsoleVisit {
  readonly page: Page;
  readonly watched: Watched;
  readonly origin: string;
  /** Calls from outside of the page. */
  post(path: string, body: unknown, token?: string): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Fills in the form of the console, with the password that every account of these tests has. */
  signIn(account?: string): Promise<void>;
  /** To a page of the console, by its menu, until what it shows has arrived. */
  go(title: string): Promise<void>;
}

export async function visitConsole(t: Test, path: string): Promise<ConsoleVisit> {
  const setting = await open(t);
  const watched = await visit(t, setting, path);
  const { page } = watched;
  const { origin } = setting;
  return {
    ...{ page, watched, origin },
    async post(path, body, token) {
      const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      const headers = { "Content-Type": "application/json", ...authorization };
      const response = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    async signIn(account = "admin") {
      const form = page.getByRole("main").locator("form");
      await form.getByLabel("Account").fill(account);
      await form.getByLabel("Password").fill(ADMIN_PASSWORD);
      await form.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
    },
    async go(title) {
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: title }).click();
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await page.waitForLoadState("networkidle");
    },
  };
}

/** By how many pixels the page is wider than the window; negative where there is room left. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}
