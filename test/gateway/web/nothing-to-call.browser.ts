// If no rule grants anything, the page says so, and what to do next: sign in, or ask an
// administrator.
import t from "tap";
import { call } from "../../support/process.js";
import { ADMIN_PASSWORD, open, screenshot, signIn, visit } from "./browser.js";

t.test("nothing to call", async (t) => {
  const setting = await open(t);
  const { origin } = setting;
  const { body } = await call(`${origin}/auth/login`, { account: "admin", password: ADMIN_PASSWORD });
  const admin = { authorization: `Bearer ${(body as { accessToken: string }).accessToken}` };
  const bob = { name: "bob", password: "a password of bob" };
  t.equal((await call(`${origin}/v1/auth/Accounts/Create`, bob, admin)).status, 200);
  t.equal((await call(`${origin}/v1/auth/Rules/Delete`, { id: "default" }, admin)).status, 200);

  for (const scheme of ["light", "dark"] as const) {
    const { page } = await visit(t, setting, "/explore", { scheme });
    await page.getByRole("heading", { name: "Only Portico's own services are open to everyone here" }).waitFor();
    t.equal(await page.getByRole("button", { name: /Open to everyone/ }).count(), 0, "nothing says otherwise");
    await screenshot(page, `explore-nothing-open-${scheme}-1280`);
    await page.getByRole("main").getByRole("button", { name: "Sign in" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Account").fill(bob.name);
    await dialog.getByLabel("Password").fill(bob.password);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Your account may call no service yet" }).waitFor();
    t.notOk(await page.getByRole("link", { name: "helloworld" }).count());
  }

  const { page } = await visit(t, setting, "/explore");
  await signIn(page);
  await page.getByRole("link", { name: "helloworld" }).waitFor();
  t.equal(
    await page.getByRole("heading", { name: /Portico's own services|may call no service/ }).count(),
    0,
    "an administrator sees all",
  );
});
