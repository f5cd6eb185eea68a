// The console of who administers some resources: their rules and limits, and no accounts.
import t from "tap";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean } from "./browser.js";
import { chooseFor, visitConsole } from "./console-browser.js";

const WORDS = "administers service:helloworld:*";

t.test("who administers some resources, in the console", { timeout: 120_000 }, async (t) => {
  const { page, watched, post, signIn, go } = await visitConsole(t, "/console");
  const login = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const admin = String(login.body.accessToken);
  const dora = { name: "dora", password: ADMIN_PASSWORD, scopes: ["admin:on:service:helloworld:*"] };
  t.equal((await post("/v1/auth/Accounts/Create", dora, admin)).status, 200);
  const rule = { id: "streams", scope: "staff", access: "DENIED", resource: "service:helloworld:Helloworld.Stream" };
  t.equal((await post("/v1/auth/Rules/Create", { rule }, admin)).status, 200);

  await signIn("dora");
  await page.getByText(WORDS).waitFor();
  const menu = page.getByRole("navigation", { name: "Console" }).getByRole("link");
  t.same(await menu.allTextContents(), ["Overview", "API keys", "Connected apps", "Rules", "Limits", "Refusals"]);
  for (const title of ["API keys", "Limits"]) {
    await go(title);
    t.same(await page.getByRole("main").getByRole("alert").allTextContents(), [], `${title} shows no error`);
  }
  await go("Rules");
  t.same(await seriousFaults(page), []);
  await page.getByText("streams").first().waitFor();
  await chooseFor(page, "streams", "Delete");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/Type/).fill("streams");
  await dialog.getByRole("button", { name: "Delete rule" }).click();
  await dialog.waitFor({ state: "detached" });
  const { body } = await post("/v1/auth/Rules/List", {}, admin);
  t.same(
    (body.rules as { id: string }[]).map(({ id }) => id),
    ["default"],
  );
  checkClean(t, watched);
});
