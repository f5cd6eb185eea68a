// The pages of one account and of one key find it among more than the lists show. What shows only
// the first ones says so: the choice of a key's owner, and the search.
import type { Page } from "playwright-core";
import t from "tap";
import { intercept, open } from "./browser.js";
import { visitAgain } from "./console-browser.js";

/** More than a list of the console shows, in pages as the authority returns them. */
const PAGES = 4;
const PAGE = 1_000;

/** Lists many before the real ones. */
async function listMany(page: Page, endpoint: string, member: string, nameOf: string): Promise<void> {
  await intercept(page, `**/v1/auth/${endpoint}`, async (route) => {
    const { pageToken = "" } = route.request().postDataJSON() as { pageToken?: string };
    const at = Number(pageToken);
    const response = await route.fetch({ postData: "{}" });
    const body = (await response.json()) as Record<string, object[]>;
    if (at === PAGES) return route.fulfill({ json: body });
    const many = Array.from({ length: PAGE }, (_, row) => ({ ...body[member]?.[0], [nameOf]: `other-${at}-${row}` }));
    return route.fulfill({ json: { ...body, [member]: many, nextPageToken: `${at + 1}` } });
  });
}

t.test("one of many", { timeout: 100_000 }, async (t) => {
  const { page, signIn, go } = await visitAgain(t, await open(t), "/console");
  await signIn();
  await go("API keys");
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("nightly");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("button", { name: /^I have copied/ }).click();
  const key = page.getByRole("link", { name: "nightly" });
  const address = (await key.getAttribute("href")) ?? "";
  await listMany(page, "Keys/List", "keys", "prefix");
  await listMany(page, "Accounts/List", "accounts", "name");
  await page.goto(address);
  await t.resolves(page.getByRole("heading", { name: "About this key" }).waitFor(), "the key");
  await page
    .getByRole("button", { name: /Search/ })
    .first()
    .click();
  const search = page.getByRole("dialog", { name: "Search" }).getByRole("status");
  await t.resolves(
    search.filter({ hasText: /Of the (keys and accounts|accounts and keys) only the first 2,000/ }).waitFor(),
  );
  await page.keyboard.press("Escape");
  await go("API keys");
  await page.getByRole("button", { name: "New key" }).click();
  await t.resolves(page.getByRole("dialog").getByText("These are the first 2,000.").waitFor(), "the owners");
  await page.goto("/console/accounts/admin");
  await t.resolves(page.getByRole("heading", { name: "About this account" }).waitFor(), "the account");
});
