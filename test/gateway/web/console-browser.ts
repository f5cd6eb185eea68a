/** The console in a real browser, and calls of the same API from outside the browser. */

import type { Page } from "playwright-core";
import type { Test } from "tap";
import { deferred } from "../../support/deferred.js";
import { ADMIN_PASSWORD, open, type PageOptions, type Setting, untilSettled, visit, type Watched } from "./browser.js";

export interface ConsoleVisit {
  readonly page: Page;
  readonly watched: Watched;
  readonly origin: string;
  /** Calls from outside the page. */
  post(path: string, body: unknown, token?: string): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Fills in the form of the console, with the password of every account of these tests. */
  signIn(account?: string): Promise<void>;
  /** Opens a page of the console by its menu, and waits until its content has arrived. */
  go(title: string): Promise<void>;
}

export async function visitConsole(t: Test, path: string): Promise<ConsoleVisit> {
  return visitAgain(t, await open(t), path);
}

/** A new page, for a Portico that is already running. */
export async function visitAgain(
  t: Test,
  setting: Pick<Setting, "browser" | "origin">,
  path: string,
  options?: PageOptions,
): Promise<ConsoleVisit> {
  const watched = await visit(t, setting, path, options);
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
      await page.locator(".who").waitFor();
    },
    async go(title) {
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: title }).click();
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await untilSettled(page);
    },
  };
}

/** Chooses an action in the menu of a row, such as a rule's. */
export async function chooseFor(page: Page, name: string | RegExp, action: string): Promise<void> {
  const text = typeof name === "string" ? name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") : name.source;
  const label = new RegExp(`^Actions for ((?:rule|limit) )?${text}(,|$)`);
  await page.getByRole("table").getByRole("button", { name: label }).first().click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

/** By how many pixels the page is wider than the window; negative if there is space left. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

export interface Held {
  /** Resolves when the first request has been made. */
  readonly asked: Promise<void>;
  /** How many requests have been made. */
  count(): number;
  /** Lets these and later requests continue. */
  release(): Promise<void>;
}

export interface HoldOptions {
  /** Stops the response instead of the request, so the gateway sees the request at once. */
  readonly late?: boolean;
  /** Only the first request. */
  readonly once?: boolean;
}

/** From now on, requests to `glob` wait until they are released. */
export async function hold(page: Page, glob: string, { late = false, once = false }: HoldOptions = {}): Promise<Held> {
  let count = 0;
  const { promise: asked, resolve: sawOne } = deferred();
  const { promise: released, resolve: letGo } = deferred();
  let isReleased = false;
  await page.route(glob, async (route) => {
    if (isReleased || (once && count > 0)) return route.continue();
    count++;
    const response = late ? await route.fetch() : undefined;
    sawOne();
    await released;
    // The page may have cancelled the request.
    await (response ? route.fulfill({ response }) : route.continue()).catch(() => {});
  });
  return {
    asked,
    count: () => count,
    async release() {
      isReleased = true;
      letGo();
    },
  };
}
