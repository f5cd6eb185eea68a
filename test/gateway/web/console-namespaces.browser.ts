// A namespace for a team: created, used by its own administrator, and deleted.
import t from "tap";
import { checkClean, screenshot, signOut } from "./browser.js";
import { chooseFor, visitConsole } from "./console-browser.js";

t.test("namespaces", { timeout: 60_000 }, async (t) => {
  const { page, watched, post, signIn, go } = await visitConsole(t, "/console/namespaces");
  const dialog = page.getByRole("dialog");
  await signIn();

  let password = "";
  await t.test("a new namespace shows its administrator's password once", async (t) => {
    await page.getByRole("button", { name: "New namespace" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("Team A");
    await dialog.getByRole("button", { name: "Create namespace" }).click();
    await dialog.getByRole("alert").getByText("name: must be 1 to 63 lower-case letters").waitFor();
    await dialog.getByRole("textbox", { name: "Name" }).fill("team-a");
    await dialog.getByRole("button", { name: "Create namespace" }).click();
    password = (await dialog.locator(".secret code").textContent()) ?? "";
    t.ok(password.length >= 12);
    await screenshot(page, "console-namespace-made");
    await dialog.getByRole("button", { name: /^I have copied/ }).click();
    await page.getByRole("rowheader", { name: "team-a" }).waitFor();
    t.notMatch(await page.content(), password);
  });

  await t.test("its administrator begins without rules, and sees no other namespace", async (t) => {
    await signOut(page);
    const form = page.getByRole("main").locator("form");
    await form.getByLabel("Account").fill("admin");
    await form.getByLabel("Password").fill(password);
    await form.getByLabel("Namespace").fill("team-a");
    await form.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "for administrators of the namespace default only" }).waitFor();
    t.equal(await page.getByRole("link", { name: "Namespaces" }).count(), 0);
    await go("Rules");
    await page.getByRole("heading", { name: "No rules: every call is refused" }).waitFor();
    t.equal(await page.locator(".who").innerText(), "admin · team-a");
    await go("Overview");
    await page.getByText("Every call is refused").waitFor();
    await screenshot(page, "console-namespace-overview");
  });

  await t.test("a sign-in to a deleted namespace fails", async (t) => {
    await signOut(page);
    await signIn();
    await go("Namespaces");
    await chooseFor(page, "team-a", "Delete");
    await dialog.getByRole("textbox").fill("team-a");
    await dialog.getByRole("button", { name: "Delete namespace" }).click();
    await page.getByRole("rowheader", { name: "team-a" }).waitFor({ state: "detached" });
    const { status } = await post("/auth/Auth/Login", { account: "admin", password, namespace: "team-a" });
    t.equal(status, 401);
  });

  checkClean(t, watched);
});
