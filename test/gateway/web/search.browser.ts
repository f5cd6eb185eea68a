// The list of services follows the typed search: by names, texts, endpoints and fields.
import t, { type Test } from "tap";
import { checkClean, open, visit } from "./browser.js";

t.test("the list of services", async (t) => {
  const setting = await open(t);

  const names = (watched: Awaited<ReturnType<typeof visit>>) => watched.page.locator(".entry-link").allTextContents();

  const CASES = [
    { typed: "hello", found: ["helloworld"], why: "the beginning of a name" },
    { typed: "WORLD", found: ["helloworld"], why: "the middle of a name, in capitals" },
    { typed: "everything made", found: ["shop"], why: "words of a summary, in any order" },
    { typed: "haggle", found: ["shop"], why: "an endpoint" },
    { typed: "patience", found: ["shop"], why: "a field, which its document tells" },
    { typed: "parts", found: ["shop"], why: "a field inside a field" },
    { typed: "helloworld patience", found: [], why: "every word must be found" },
  ];

  t.test("while the visitor types", async (t) => {
    const watched = await visit(t, setting, "/explore");
    const { page } = watched;
    const box = page.getByRole("searchbox");
    await page.getByRole("link", { name: "helloworld" }).waitFor();
    t.same(await names(watched), ["helloworld", "shop", "auth", "registry"], "those of Portico itself come last");
    for (const { typed, found, why } of CASES) {
      await box.fill("");
      await box.pressSequentially(typed);
      await page.getByText(`${found.length} of 4 services`).waitFor({ state: "attached" });
      t.same(await names(watched), found, `${typed}: ${why}`);
    }
    await page.getByRole("button", { name: "Show all services" }).click();
    t.equal(await box.inputValue(), "", "what to do about nothing found");
    checkClean(t, watched);
  });

  t.test("loads the names of fields once, at the first key", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("link", { name: "helloworld" }).waitFor();
    const asked: string[] = [];
    page.on("request", (request) => {
      // The font is loaded after the page's first data.
      if (request.resourceType() !== "font") asked.push(new URL(request.url()).pathname);
    });
    const box = page.getByRole("searchbox");
    await box.pressSequentially("patience");
    await page.locator(".service-matches").getByRole("link", { name: "Shop.Call" }).waitFor();
    await box.fill("parts");
    await page.getByText("1 of 4 services").waitFor({ state: "attached" });
    t.same(asked, ["/openapi/fields"]);
  });

  t.test("takes the key / as soon as the list is there", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld");
    await page.getByRole("heading", { level: 1, name: "helloworld" }).waitFor();
    await page.evaluate(`new MutationObserver((_, observer) => {
      if (document.querySelector("input[type=search]") === null) return;
      observer.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.getByRole("link", { name: "All services" }).click();
    await page.getByRole("searchbox").waitFor();
    t.equal(await page.evaluate("document.activeElement.type"), "search");
  });

  t.test("a match leads to its endpoint, and back to the same search", async (t) => {
    const watched = await visit(t, setting, "/explore");
    const { page } = watched;
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("patience");
    await page.getByRole("link", { name: "Shop.Call" }).click();
    await page.getByRole("heading", { level: 1, name: "Call" }).waitFor();
    t.equal(new URL(page.url()).pathname, "/explore/shop/Shop.Call");
    await page.goBack();
    t.equal(await page.getByRole("searchbox").inputValue(), "patience");
    t.same(await names(watched), ["shop"]);
    checkClean(t, watched);
  });

  t.test("shows only services that stream", async (t) => {
    const watched = await visit(t, setting, "/explore");
    const { page } = watched;
    await page.getByRole("button", { name: "Streams" }).click();
    await page.getByText("2 of 4 services").waitFor({ state: "attached" });
    t.same(await names(watched), ["helloworld", "shop"]);
    await page.getByRole("button", { name: "Streams" }).click();
    await page.getByRole("link", { name: "registry" }).waitFor();
    t.equal((await names(watched)).length, 4);
  });

  t.test("shows every service of a group, and the current one of many endpoints", async (t) => {
    const watched = await visit(t, setting, "/console");
    const { page } = watched;
    const many = (name: string, endpoints: number) => ({
      ...{ name, summary: "", subject: "many", instances: 1 },
      endpoints: Array.from({ length: endpoints }, (_, at) => ({
        ...{ resource: `service:${name}:Many.Do${at}`, path: `/v1/${name}/Do${at}`, summary: "" },
        ...{ clientStreaming: false, serverStreaming: false, deprecated: false },
      })),
    });
    const services = Array.from({ length: 130 }, (_, at) => many(`one-${at}`, at === 0 ? 360 : 1));
    await page.route("**/registry/list", (route) => route.fulfill({ json: { services } }));
    await page.goto("/explore");
    await page.getByRole("link", { name: "one-129" }).waitFor();
    t.equal(await page.locator(".entry-link").count(), 130);
    await page.goto("/explore/one-0/Many.Do300");
    const current = page.locator(".sidebar [aria-current]");
    await current.waitFor();
    const { y, height } = (await current.boundingBox())!;
    t.ok(y > 0 && y + height < 900, `the current endpoint is at ${y} of 900`);
    t.equal(await page.evaluate("scrollY"), 0);
  });

  t.test("moves between pages without loading a document", (t) => staysOnTheDocument(t));

  async function staysOnTheDocument(t: Test) {
    const { page } = await visit(t, setting, "/explore");
    await page.evaluate("globalThis.sameDocument = true");
    await page.getByRole("link", { name: "helloworld" }).click();
    await page.getByRole("heading", { level: 1, name: "helloworld" }).waitFor();
    await page.getByRole("link", { name: "Console", exact: true }).click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    t.equal(await page.evaluate("globalThis.sameDocument"), true);
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "helloworld" }).waitFor();
    t.match(await page.title(), "helloworld");
  }
});
