// The page of refused calls, in a browser: from a pasted request ID to the reason.
import t from "tap";
import { createToken } from "../../../src/call/token.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, open, screenshot, untilSettled } from "./browser.js";
import { overflow, visitAgain } from "./console-browser.js";

t.test("refusals", { timeout: 120_000 }, async (t) => {
  const setting = await open(t);
  const { page, watched, post, signIn, go } = await visitAgain(t, setting, "/console");
  const { body } = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const token = String(body.accessToken);
  const made = (await post("/v1/auth/Keys/Create", { name: "old" }, token)).body;
  const [secret, { prefix }] = [String(made.secret), made.key as { prefix: string }];
  await post("/v1/auth/Keys/Revoke", { prefix }, token);
  const closed = { id: "closed", scope: "<public>", access: "DENIED", resource: "service:helloworld:*", priority: 7 };
  await post("/v1/auth/Rules/Create", { rule: closed }, token);
  const call = async (bearer?: string) => {
    const authorization = bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` };
    const response = await fetch(`${setting.origin}/helloworld/call`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...authorization },
      body: JSON.stringify({ name: "Ada" }),
    });
    return { id: response.headers.get("x-request-id") ?? "", text: await response.text() };
  };
  const ofKey = await call(secret);
  const ofRule = await call(token);
  await call();
  await signIn();
  await go("Refusals");
  const box = page.getByRole("searchbox", { name: "Request ID, key or answer" });
  const why = page.getByRole("region", { name: "Why was a call refused?" });
  const paste = async (text: string) => {
    await box.fill("");
    await box.fill(text);
  };
  const row = page.getByRole("row").filter({ hasText: prefix });
  // Gateways report every five seconds, and the page asks as often.
  await row.waitFor({ timeout: 25_000 });

  await t.test("a pasted request ID shows the reason at once", async (t) => {
    await paste(ofKey.id);
    const chain = why.getByRole("list", { name: "Checks of the call, in order" });
    await chain.waitFor();
    t.match(await chain.innerText(), /token[\s\S]*key[\s\S]*revoked/);
    t.match(await why.innerText(), prefix);
    await screenshot(page, "refusals-why");
    t.same(await seriousFaults(page), []);
  });

  await t.test("what is no request ID, key or response gets a sentence, and asks nothing", async (t) => {
    let asked = 0;
    await page.route("**/v1/auth/Refusals/Find", (route) => {
      asked++;
      return route.continue();
    });
    const CASES = [
      ["why does it not work?", /This is no request ID, no API key and no answer/],
      ["n".repeat(256), /This is no request ID, no API key and no answer/],
      ["<html>502 Bad Gateway</html>".repeat(10_000), /This is too long for an answer about a refused call/],
    ] as const;
    for (const [text, words] of CASES) {
      await paste(text);
      await why.getByText(words).waitFor();
    }
    t.equal(asked, 0);
    await page.unroute("**/v1/auth/Refusals/Find");
  });

  await t.test("a whole key is cut before it is sent", async (t) => {
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.postData() ?? ""));
    const asked = page.waitForRequest((request) => request.postData()?.includes(prefix) === true);
    await paste(secret);
    await asked;
    await why.getByText("revoked").first().waitFor();
    t.equal(await box.inputValue(), prefix);
    t.ok(sent.some((text) => text.includes(prefix)));
    t.notOk(sent.some((text) => text.includes(secret)));
  });

  await t.test("a response is understood, and other text gets a sentence", async () => {
    await paste(ofRule.text);
    await why.getByText("rule closed").first().waitFor();
    await paste("it does not work any more");
    await why.getByText(/no request ID, no API key and no answer/).waitFor();
    await paste(createToken("access"));
    await why.getByText(/not an API key/).waitFor();
  });

  await t.test("rows have the reason, and lead to the rule that would allow the calls", async (t) => {
    t.match(await row.innerText(), /revoked/);
    const denied = page.getByRole("row").filter({ hasText: "admin" }).filter({ hasText: "rule closed" });
    await denied.getByRole("button", { name: "Why" }).click();
    for (const width of [360, 768, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await untilSettled(page);
      t.ok((await overflow(page)) <= 0, `no wider than ${width} px`);
      await screenshot(page, `refusals-${width}`);
    }
    await denied.getByRole("button", { name: "Allow this" }).click();
    const dialog = page.getByRole("dialog", { name: "New rule" });
    await dialog.getByRole("list", { name: "Calls that are answered differently" }).waitFor();
    t.equal(await dialog.getByLabel("Priority").inputValue(), "8");
    t.equal(await dialog.getByLabel("Resource").inputValue(), "service:helloworld:Helloworld.Call");
    t.same(await seriousFaults(page), []);
    await screenshot(page, "refusals-allow");
    await dialog.getByRole("button", { name: "Cancel" }).click();
  });
  checkClean(t, watched);
});
