// Text of services is shown as text. If it looks like markup, it never becomes markup. If it did,
// the browser would refuse it: actions against the security policy are blocked, and counted.
import t from "tap";
import { until } from "../../support/until.js";
import { checkClean, open, untilDrawn, visit } from "./browser.js";

t.test("text from elsewhere", async (t) => {
  const setting = await open(t);

  const CASES = [
    { path: "/explore", text: `Sells <img src=x onerror="document.title='owned'"> tea & cake.` },
    { path: "/explore/shop", text: `Sells <img src=x onerror="document.title='owned'"> tea & cake.` },
    { path: "/explore/shop/Shop.Call", text: `<b onclick="alert(1)">as it came</b>` },
    { path: "/explore/shop/Shop.Call", text: `<script>document.title = "owned"</script>` },
    { path: "/explore/%3Cimg%20src=x%20onerror=alert(1)%3E", text: "There is no service <img src=x onerror=alert(1)>" },
  ];
  for (const { path, text } of CASES) {
    t.test(`${path}: ${text}`, async (t) => {
      const watched = await visit(t, setting, path);
      const { page } = watched;
      await page.getByText(text).first().waitFor();
      t.equal(await page.locator("main img, main script, main b").count(), 0);
      t.notMatch(await page.title(), "owned");
      checkClean(t, watched);
    });
  }

  t.test("a response of markup", async (t) => {
    const watched = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const { page } = watched;
    await page.getByRole("textbox", { name: "name" }).fill("<img src=x onerror=alert(1)>");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText('"Hello <img src=x onerror=alert(1)>"').first().waitFor();
    t.equal(await page.locator("main img").count(), 0);
    checkClean(t, watched);
  });

  const FORBIDDEN = [
    {
      what: "an inline script",
      act: "const s = document.createElement('script'); s.append('1'); document.body.append(s)",
    },
    { what: "markup from text", act: "document.body.innerHTML = '<b>x</b>'" },
    { what: "code from text", act: "setTimeout('1')" },
    { what: "an inline style", act: "document.body.setAttribute('style', 'color: red')" },
    { what: "another origin", act: "fetch('http://127.0.0.1:1/').catch(() => {})" },
    { what: "an image from elsewhere", act: "new Image().src = 'http://127.0.0.1:1/x.png'" },
    {
      what: "a form sent elsewhere",
      act: "const f = document.createElement('form'); f.action = 'http://127.0.0.1:1/'; document.body.append(f); f.submit()",
    },
    { what: "a frame", act: "const f = document.createElement('iframe'); f.src = '/explore'; document.body.append(f)" },
  ];
  for (const { what, act } of FORBIDDEN) {
    t.test(`blocked, and counted: ${what}`, async (t) => {
      const { page, violations } = await visit(t, setting, "/explore");
      await page.getByRole("searchbox").waitFor();
      const told = page.waitForEvent("console", { predicate: (message) => message.type() === "error" });
      // In a function of the page, because the policy does not apply to code that the test itself
      // evaluates.
      await page.evaluate(`setTimeout(() => { ${act} }, 0)`);
      await told;
      await until(() => violations.length > 0);
      await untilDrawn(page);
      t.equal(violations.length, 1, violations.join());
    });
  }
});
