// The page of what signs in: issuers, trusts and clients are listed, created and deleted; an error
// of the authority is at its field, and what was typed stays; in light and dark, on a desk and on a
// phone.
import type { Locator, Page } from "playwright-core";
import t from "tap";
import { grantTo } from "../../oauth/granted.js";
import { openIssuer } from "../../oauth/issuer.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, open, screenshot, untilDrawn } from "./browser.js";
import { overflow, visitAgain } from "./console-browser.js";

const REDIRECT = "https://app.example/callback";
const AUDIENCE = "https://api.example";
const SUBJECT = "repo:acme/shop:*";
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";

/** Fills in the fields of a dialog by their labels. */
async function fill(dialog: Locator, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(text);
}

/** The error of the authority is at the field, which has the focus and keeps its text. */
async function refusedAt(dialog: Locator, label: string, problem: RegExp): Promise<void> {
  await dialog
    .locator(".field", { has: dialog.page().locator(":focus[aria-invalid]") })
    .getByText(problem)
    .waitFor();
  await dialog.getByLabel(label, { exact: true }).and(dialog.page().locator(":focus")).waitFor();
}

async function deleteByKeyboard(page: Page, row: string, says: readonly (string | RegExp)[]): Promise<void> {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: `Actions for ${row}` }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Delete" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  for (const text of says) await dialog.getByText(text).waitFor();
  await page.keyboard.type(row.split(" ")[1]!);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
}

t.test("what signs in", { timeout: 180_000 }, async (t) => {
  const setting = await open(t);
  const issuer = await openIssuer(t);
  const { page, watched, post, signIn, go } = await visitAgain(t, setting, "/console");
  const { body } = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const token = String(body.accessToken);
  const change = async (endpoint: string, request: unknown) =>
    t.equal((await post(`/v1/auth/${endpoint}`, request, token)).status, 200, endpoint);
  await change("Accounts/Create", { name: "deployer", withoutPassword: true, scopes: [] });
  await change("Accounts/Create", { name: "ann", password: ADMIN_PASSWORD, scopes: ["admin:accounts"] });
  const dialog = page.getByRole("dialog");
  const rows = (name: string) => page.getByRole("table", { name }).locator("tbody").getByRole("row");
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const status = (text: string) => page.locator(".status").getByText(text).waitFor();
  await signIn();
  await go("Sign-in");

  await t.test("nothing yet, and no trust without an issuer", async (t) => {
    t.equal(await page.getByText(/^None yet/).count(), 3);
    t.equal(await button("New trust").count(), 0);
  });

  await t.test("an issuer by which people sign in, with all options", async (t) => {
    await button("New issuer").click();
    t.same(await seriousFaults(page), [], "the dialog");
    await dialog.getByText("Names and groups").click();
    await fill(dialog, {
      ...{ Name: "company", URL: "http://company.example", "Client ID": "1234.apps", "Client secret": "s3cret" },
      ...{ "Claim that names a new account": "preferred_username", "Claim with the groups of a person": "roles" },
      "Scopes that groups give": "staff=employee\nou=a,dc=b=billing\nops=admin",
    });
    await dialog.getByLabel("Create an account for everybody").check();
    await dialog.getByText("Names and groups").click();
    await dialog.getByRole("button", { name: "Create issuer" }).click();
    await refusedAt(dialog, "URL", /^Must be https, or http for a loopback address/);
    await fill(dialog, { URL: "https://company.example" });
    await page.keyboard.press("Enter");
    // The fold with the field opens.
    await refusedAt(dialog, "Claim that names a new account", /can take any name/);
    await dialog.getByLabel("Trust this claim").check();
    await dialog.getByRole("button", { name: "Create issuer" }).click();
    await refusedAt(dialog, "Scopes that groups give", /^ops=admin: the issuer may give no scope/);
    t.equal(await dialog.getByLabel("Client secret", { exact: true }).inputValue(), "s3cret", "nothing is lost");
    t.same(await seriousFaults(page), [], "the dialog with an error");
    await screenshot(page, "console-dialog-issuer");
    await dialog.getByLabel("Groups may administer").check();
    await dialog.getByRole("button", { name: "Create issuer" }).click();
    await dialog.waitFor({ state: "detached" });
    await status("Issuer company is created. Register its callback URL there.");
    const row = rows("Issuers").filter({ hasText: "company" });
    for (const text of [`${setting.origin}/oauth/callback/company`, "Group ou=a,dc=b gives billing", "1234.apps"]) {
      await row.getByText(text).waitFor();
    }
    await row.getByRole("button", { name: "Copy the callback URL of company" }).waitFor();
    await page.getByText("Nobody is offered to sign in by an issuer before PORTICO_PUBLIC_URL is set").waitFor();
    const { body } = await post("/v1/auth/Issuers/List", {}, token);
    t.match(body.issuers, [
      {
        signIn: {
          ...{ clientId: "1234.apps", accountClaim: "preferred_username", trustClaim: true, groupsClaim: "roles" },
          ...{ createAccounts: true, mayAdminister: true },
          map: [
            { group: "staff", scope: "employee" },
            { group: "ou=a,dc=b", scope: "billing" },
            { group: "ops", scope: "admin" },
          ],
        },
      },
    ]);
  });

  await t.test("an issuer for programs only, and a name that is taken", async (t) => {
    await button("New issuer").click();
    await fill(dialog, { Name: "company", URL: issuer.url });
    await dialog.getByLabel("People sign in by it").uncheck();
    t.equal(await dialog.getByLabel("Client ID", { exact: true }).count(), 0);
    await page.keyboard.press("Tab");
    await dialog.getByRole("button", { name: "Create issuer" }).click();
    await refusedAt(dialog, "Name", /^An issuer with the name company exists already$/);
    await fill(dialog, { URL: `${issuer.url}/` });
    await untilDrawn(page);
    t.ok(await dialog.getByLabel("URL", { exact: true }).and(page.locator(":focus")).isVisible(), "the focus stays");
    await fill(dialog, { URL: issuer.url, Name: "ci" });
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await rows("Issuers").filter({ hasText: "ci" }).getByText("Programs only").waitFor();
  });

  await t.test("a trust, whose account must exist", async (t) => {
    await button("New trust").click();
    t.same(await seriousFaults(page), [], "the dialog");
    await fill(dialog, { Name: "deploy", Subject: SUBJECT, Audience: AUDIENCE, Account: "nobody" });
    await dialog.getByLabel("Issuer", { exact: true }).selectOption("ci");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Create trust" }).click();
    await refusedAt(dialog, "Account", /^No account with the name nobody$/);
    await screenshot(page, "console-dialog-trust");
    await fill(dialog, { Account: "deployer" });
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    const row = rows("Trusts").filter({ hasText: "deploy" });
    for (const text of ["ci", SUBJECT, AUDIENCE, "Exchanged"]) await row.getByText(text, { exact: true }).waitFor();
    await row.getByRole("link", { name: "deployer" }).waitFor();
  });

  await t.test("a JWT is revoked, with what it was exchanged for", async (t) => {
    const jwt = await issuer.sign({ sub: "repo:acme/shop:main", aud: AUDIENCE, jti: "jwt-1" });
    const exchange = async () => {
      const form = { grant_type: GRANT_TYPE, subject_token_type: JWT_TYPE, subject_token: jwt };
      return (await fetch(`${setting.origin}/oauth/token`, { method: "POST", body: new URLSearchParams(form) })).status;
    };
    t.equal(await exchange(), 200);
    await button("Revoke a JWT").click();
    await fill(dialog, { "Claim jti of the JWT": "jwt-2" });
    await page.keyboard.press("Enter");
    await refusedAt(dialog, "Claim jti of the JWT", /^No JWT with this jti was used/);
    t.same(await seriousFaults(page), [], "the dialog");
    await fill(dialog, { "Claim jti of the JWT": "jwt-1" });
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await status("Revoked: 1 token");
    t.equal(await exchange(), 400);
  });

  await t.test("a client, whose secret is shown once", async (t) => {
    await button("New client").click();
    t.same(await seriousFaults(page), [], "the dialog");
    await fill(dialog, { Name: "app", "Redirect URIs": `${REDIRECT}\n\nhttp://app.example/` });
    await dialog.getByLabel("It keeps a secret").check();
    await dialog.getByRole("button", { name: "Register client" }).click();
    await screenshot(page, "console-dialog-client");
    await refusedAt(dialog, "Redirect URIs", /^http:\/\/app.example\/: must be https, http of a loopback/);
    await fill(dialog, { "Redirect URIs": `${REDIRECT}\nhttp://127.0.0.1/callback` });
    await dialog.getByRole("button", { name: "Register client" }).click();
    await dialog.getByText(/^ptc_/).waitFor();
    t.same(await seriousFaults(page), [], "the secret");
    await dialog.getByRole("button", { name: "I have copied the secret" }).click();
    await dialog.waitFor({ state: "detached" });
    const row = rows("Clients").filter({ hasText: "app" });
    for (const text of [REDIRECT, "http://127.0.0.1/callback", "Has a secret"]) await row.getByText(text).waitFor();
    t.notMatch(await page.locator("body").innerText(), /ptc_/);
    await button("New client").click();
    await fill(dialog, { Name: "desktop", "Redirect URIs": REDIRECT });
    await dialog.getByRole("button", { name: "Register client" }).click();
    await dialog.waitFor({ state: "detached" });
    await rows("Clients").filter({ hasText: "desktop" }).getByText("Public").waitFor();
  });

  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 360],
  ] as const) {
    await t.test(`${theme}, ${width} px`, async (t) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 900 });
      await untilDrawn(page);
      t.same(await seriousFaults(page), []);
      t.ok((await overflow(page)) <= 0, "no wider than the window");
      await screenshot(page, `console-sign-in-${theme}-${width}`);
    });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });

  await t.test("each is deleted by keyboard alone, after it was said what ends", async () => {
    await grantTo({ url: setting.origin }, { client: "desktop", person: { account: "ann", password: ADMIN_PASSWORD } });
    await deleteByKeyboard(page, "client desktop", ["1 grant of ann ends."]);
    await status("Client desktop is deleted, with 1 grant");
    await rows("Clients").filter({ hasText: "desktop" }).waitFor({ state: "detached" });
    await deleteByKeyboard(page, "issuer company", ["It has no trusts.", /Nobody signs in by it any more/]);
    await status("Issuer company is deleted, with 0 trusts and the links of 0 people");
    await rows("Issuers").filter({ hasText: "company" }).waitFor({ state: "detached" });
    await deleteByKeyboard(page, "issuer ci", ["Its trust is deleted: deploy."]);
    await status("Issuer ci is deleted, with 1 trust");
    await page.getByText("None yet. The first step is the issuer of the JWTs.").waitFor();
  });

  await t.test("a trust is deleted by keyboard alone", async () => {
    await change("Issuers/Create", { name: "ci", url: issuer.url });
    const trust = { name: "nightly", issuer: "ci", audience: AUDIENCE, subject: SUBJECT, account: "deployer" };
    await change("Trusts/Create", trust);
    await go("Overview");
    await go("Sign-in");
    await deleteByKeyboard(page, "trust nightly", [/JWTs of ci with the subject .* no longer stand for deployer/]);
    await status("Trust nightly is deleted");
    await page.getByText("None yet: no JWT of a program is accepted.").waitFor();
  });

  await t.test("it is for administrators of everything only", async (t) => {
    const other = await visitAgain(t, setting, "/console/sign-in");
    await other.signIn("ann");
    await other.page.getByRole("heading", { name: "Sign-in: for administrators only" }).waitFor();
    const menu = other.page.getByRole("navigation", { name: "Console" });
    t.equal(await menu.getByRole("link", { name: "Accounts" }).count(), 1);
    t.equal(await menu.getByRole("link", { name: "Sign-in" }).count(), 0);
    checkClean(t, other.watched);
  });

  checkClean(t, watched);
});
