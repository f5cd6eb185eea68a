// What is copied or downloaded from a page is what the page shows, and what the account may see.
import { readFileSync } from "node:fs";
import t from "tap";
import { checkClean, open, signIn, visit } from "./browser.js";

t.test("copies and downloads", async (t) => {
  const setting = await open(t);

  t.test("copies the code of the chosen language with the request of the form", async (t) => {
    const watched = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const { page } = watched;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("textbox", { name: "name" }).fill("Grace");
    await page.getByRole("tab", { name: "Python" }).click();
    await page.getByRole("button", { name: "Copy the Python code" }).click();
    await page.getByRole("status").getByText("Copied the Python code").waitFor();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    t.equal(copied, await page.getByRole("tabpanel", { name: "Python" }).locator("pre").textContent());
    t.match(copied, /json\.dumps\(\{"name": "Grace"\}\)/);
    checkClean(t, watched);
  });

  t.test("says for a client stream why some languages are missing", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Haggle");
    const languages = () => page.getByRole("tablist", { name: "Language" }).getByRole("tab").allTextContents();
    const why = page.getByText("curl, Python and Go come without one");
    await why.waitFor();
    t.same(await languages(), ["Node.js", "Browser", "portico"]);
    await page.getByRole("link", { name: "Store", exact: true }).click();
    await page.getByText("-T file.bin").waitFor();
    t.same(await languages(), ["curl", "Node.js", "Browser", "Python", "Go", "portico"], "one body will do");
    t.equal(await why.count(), 0);
  });

  t.test("copies by selection if the browser offers no clipboard", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.evaluate(
      "document.addEventListener('copy', () => { globalThis.copied = getSelection().toString() || document.activeElement.value })",
    );
    await page.getByRole("button", { name: "Copy the curl code" }).click();
    await page.getByRole("status").getByText("Copied the curl code").waitFor();
    t.match(await page.evaluate("globalThis.copied"), /^curl http/);
  });

  t.test("serves a document of what everyone may call, and a larger one to callers that may call more", async (t) => {
    const watched = await visit(t, setting, "/explore/auth");
    const { page } = watched;
    const download = async () => {
      const arriving = page.waitForEvent("download");
      await page.getByRole("button", { name: "OpenAPI document" }).click();
      const file = await arriving;
      t.equal(file.suggestedFilename(), "auth.json");
      return JSON.parse(readFileSync(await file.path(), "utf8"));
    };
    const everyone = await download();
    t.equal(everyone.openapi, "3.1.0");
    t.notOk(everyone.paths["/v1/auth/Rules/List"]);
    await signIn(page);
    await page.getByRole("link", { name: "Rules.List" }).waitFor();
    t.ok((await download()).paths["/v1/auth/Rules/List"]);
    checkClean(t, watched);
  });
});
