// The page of the rules: the effect of a change before it is made, however many endpoints there are.
import type { Locator, Page } from "playwright-core";
import t, { type Test } from "tap";
import type { Endpoints } from "../../../src/api/types.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, open, screenshot } from "./browser.js";
import { visitAgain } from "./console-browser.js";

type Preview = Endpoints["auth/Rules/Preview"]["response"];

/** More than one request of a preview may have. */
const MANY = 12_000;

/** Whether all of an element is in the window, and nothing is above it. */
function inSight(of: Locator): Promise<boolean> {
  return of.evaluate((it) => {
    const { top, bottom, left, right } = it.getBoundingClientRect();
    const hit = it.ownerDocument.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return top >= 0 && bottom <= innerHeight && (hit === it || it.contains(hit));
  });
}

/** As many groups of callers as 13 accounts can have at 779 endpoints. */
function manyEffects(): Preview {
  const effects = Array.from({ length: 40 }, (_, group) => ({
    ...{ before: 200, after: 403, nobody: false, everyAccount: false, moreAccounts: 0 },
    accounts: Array.from({ length: 13 }, (_, at) => `account-${at}`).filter((_, at) => at > 5 || (group >> at) & 1),
    resources: Array.from({ length: group === 0 ? 38 : 19 }, (_, at) => `service:s${group}:Service.Call${at}`),
  }));
  return { effects };
}

/** The endpoints that the registry lists, as if there were many more. */
async function listMany(page: Page): Promise<void> {
  const endpoints = Array.from({ length: MANY }, (_, at) => ({ resource: `service:many:Many.Call${at}` }));
  await page.route("**/registry/list", async (route) => {
    const response = await route.fetch();
    const { services } = (await response.json()) as { services: object[] };
    await route.fulfill({ json: { services: [...services, { ...services[0], name: "many", endpoints }] } });
  });
}

t.test("rules", { timeout: 200_000 }, async (t) => {
  const setting = await open(t);
  const post = async (path: string, body: unknown, token = "") => {
    const response = await fetch(setting.origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const login = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const call = async (endpoint: string, body: unknown) => {
    const answer = await post(`/v1/auth/${endpoint}`, body, `${login.body.accessToken}`);
    if (answer.status !== 200) throw new Error(`${endpoint}: ${JSON.stringify(answer)}`);
    return answer.body;
  };
  const enter = async (t: Test, prepare: (page: Page) => Promise<void> = async () => {}) => {
    const visited = await visitAgain(t, setting, "/console", { width: 1280, height: 800 });
    await prepare(visited.page);
    await visited.signIn();
    await visited.go("Rules");
    return { ...visited, dialog: visited.page.getByRole("dialog") };
  };
  const rule = { id: "narrow", scope: "*", access: "DENIED", resource: "service:many:*", priority: 9 };
  await call("Rules/Create", { rule });

  t.test("the field that confirms a deletion, the numbers and the buttons stay in sight", async (t) => {
    const { page, dialog, watched } = await enter(t);
    await page.route("**/Rules/Preview", (route) => route.fulfill({ json: manyEffects() }));
    await page.getByRole("button", { name: "Delete narrow" }).click();
    const numbers = dialog.getByText("13 accounts lose 779 endpoints");
    await numbers.waitFor();
    const reason = dialog.getByText("Locked until you have typed the rule’s ID.");
    const button = dialog.getByRole("button", { name: "Delete rule" });
    for (const part of [numbers, dialog.getByRole("textbox"), reason, button]) t.ok(await inSight(part));
    t.equal(await button.getAttribute("aria-describedby"), await reason.getAttribute("id"));
    await screenshot(page, "rule-delete");
    t.same(await seriousFaults(page), []);
    const last = dialog.getByText("service:s39:Service.Call0");
    await last.scrollIntoViewIfNeeded();
    t.ok(await inSight(last), "the list scrolls");
    t.ok(await inSight(dialog.getByRole("textbox")));
    checkClean(t, watched);
  });

  t.test("the effect is shown at any number of endpoints", async (t) => {
    const { page, dialog } = await enter(t, listMany);
    await page.getByRole("button", { name: "Delete narrow" }).click();
    await dialog.getByText(`Every account gains ${MANY.toLocaleString("en")} endpoints`).waitFor();
  });
});
