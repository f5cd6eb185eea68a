// The console without a mouse: sign in, make a rule, and delete it.
import t from "tap";
import { ADMIN_PASSWORD } from "../../support/installation.js";
import { checkClean } from "./browser.js";
import { visitConsole } from "./console-browser.js";

/** Returns the name of the focused element. */
const FOCUSED = `(() => {
  const { activeElement: it } = document;
  return it.ariaLabel ?? it.labels?.[0]?.textContent ?? it.textContent;
})()`;
const MOST_TABS = 60;

t.test("can be used with only the keyboard", { timeout: 60_000 }, async (t) => {
  const { page, watched } = await visitConsole(t, "/console/rules");
  const { keyboard } = page;
  const dialog = page.getByRole("dialog");

  const tabTo = async (name: string) => {
    for (let tabs = 0; tabs < MOST_TABS; tabs++) {
      if ((await page.evaluate<string>(FOCUSED)).trim() === name) return;
      await keyboard.press("Tab");
    }
    throw new Error(`Tab does not lead to ${name}`);
  };
  const fill = async (name: string, text: string) => {
    await tabTo(name);
    await keyboard.press("Control+a");
    await keyboard.type(text);
  };

  await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
  await fill("Account", "admin");
  await fill("Password", ADMIN_PASSWORD);
  await keyboard.press("Enter");
  await page.getByRole("rowheader", { name: "default" }).waitFor();

  await tabTo("New rule");
  await keyboard.press("Enter");
  await dialog.waitFor();
  await fill("ID", "closed");
  await tabTo("Access");
  await keyboard.press("ArrowDown");
  await fill("Scope", "<public>");
  await fill("Resource", "service:helloworld:*");
  await fill("Priority", "5");
  await dialog.getByText("401 refused").waitFor();
  await tabTo("Create rule");
  await keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const row = page.getByRole("row").filter({ hasText: "closed" });
  // The dialog closes first. Then the page reads the rules again.
  await row.waitFor();
  t.same((await row.getByRole("cell").allInnerTexts()).slice(0, 4), [
    "<public> everyone",
    "Denied",
    "service:helloworld:*",
    "5",
  ]);

  await tabTo("Actions for rule closed");
  await keyboard.press("Enter");
  await keyboard.press("End");
  await keyboard.press("Enter");
  await dialog.getByText("200 granted").first().waitFor();
  await fill("Type the rule’s ID, closed, to confirm", "closed");
  await keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await row.waitFor({ state: "detached" });
  t.equal(await page.getByRole("rowheader", { name: "default" }).count(), 1);
  checkClean(t, watched);
});
