// A key that was made on the page Connect is shown once. It stays in sight until it is hidden, also
// when another service is chosen meanwhile.
import t from "tap";
import { checkClean, open, signIn, visit } from "./browser.js";
import { hold } from "./console-browser.js";

t.test("a key whose response comes after another service was chosen", { timeout: 100_000 }, async (t) => {
  const watched = await visit(t, await open(t), "/connect");
  const { page } = watched;
  await signIn(page);
  const services = page.getByLabel("Service");
  await services.locator("option").nth(1).waitFor({ state: "attached" });
  const first = await services.inputValue();
  const names = (await services.locator("option").allTextContents()).filter((name) => name !== first);
  const held = await hold(page, "**/v1/auth/Keys/Create");
  await page.getByRole("button", { name: "Make a key" }).click();
  await held.asked;
  await services.selectOption(names[0] ?? "");
  await held.release();
  await page.getByText(`is for ${first}, so it is not in what is below.`).waitFor();
  const secret = (await page.locator(".secret code").textContent()) ?? "";
  t.match(secret, /^ptk_/);
  t.equal(await page.getByText(secret).count(), 1, "only there");
  await services.selectOption(first);
  await page.getByText("is in what is below.").waitFor();
  await page.locator(".block").getByText(secret).first().waitFor();
  await page.getByRole("button", { name: "I have copied it: hide the key" }).click();
  await page.getByRole("button", { name: "Make a key" }).waitFor();
  t.equal(await page.getByText(secret).count(), 0);
  checkClean(t, watched);
});
