// A newcomer's first hour: explore, try, sign in, make a key, call with it, refuse all other
// callers, and see why.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import t from "tap";
import { checkClean, screenshot, signOut } from "./browser.js";
import { chooseFor, visitConsole } from "./console-browser.js";

t.test("the journey of a newcomer", { timeout: 120_000 }, async (t) => {
  const { page, watched, origin, post, signIn, go } = await visitConsole(t, "/");
  const dialog = page.getByRole("dialog");
  const call = async (key?: string) => {
    const { status, body } = await post(key ? "/v1/helloworld/Call" : "/helloworld/Call", { name: "Ada" }, key);
    return `${status} ${body.message ?? body.Detail}`;
  };

  await t.test("open explore", async (t) => {
    await page.getByRole("banner").getByRole("link", { name: "Explore" }).click();
    await page.getByRole("main").getByRole("link", { name: "helloworld", exact: true }).first().click();
    await page.getByRole("heading", { level: 1, name: "helloworld" }).waitFor();
    t.equal(await page.title(), "helloworld · Portico");
  });

  await t.test("try helloworld, without a token", async (t) => {
    await page.getByRole("link", { name: "Helloworld.Call", exact: true }).last().click();
    await page.getByLabel("name", { exact: false }).first().fill("Ada");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("region", { name: "Response" }).getByText("Hello Ada").first().waitFor();
    t.pass("the answer is shown");
    await screenshot(page, "console-journey-1-tried");
  });

  await t.test("sign in", async (t) => {
    await page.getByRole("link", { name: "Console" }).click();
    await signIn();
    await page.getByText("The door is open.").waitFor();
    t.equal(await page.title(), "Overview · Portico");
    await screenshot(page, "console-journey-2-overview");
  });

  let key = "";
  let command = "";
  await t.test("make a key, which is shown once", async (t) => {
    await go("API keys");
    await page.getByRole("button", { name: "Create the first key" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("my laptop");
    await dialog.getByLabel("Expires").selectOption("In 30 days");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const secret = dialog.locator(".secret code");
    key = (await secret.textContent()) ?? "";
    t.match(key, /^ptk_\w{40,}$/);
    command = (await dialog.locator(".secret pre").textContent()) ?? "";
    await page.keyboard.press("Escape");
    await dialog.getByText("Have you copied the key?").waitFor();
    t.ok(await secret.isVisible(), "a slip does not lose it");
    await screenshot(page, "console-journey-3-key");
    await dialog.getByRole("button", { name: "I have copied the key" }).click();
    await page.getByRole("rowheader", { name: "my laptop" }).waitFor();
    t.notMatch(await page.content(), key, "it is nowhere in the page any more");
    await page.getByText("in 30 days").waitFor();
  });

  await t.test("calls with the key from outside the page", async (t) => {
    t.equal(await call(key), "200 Hello Ada");
    t.equal(await call(), "200 Hello Ada", "the door is open for everyone");
    const { stdout } = await promisify(execFile)("sh", ["-c", `${command} --silent`]);
    t.same(JSON.parse(stdout), { message: "Hello Ada", msg: "Hello Ada" }, "the command that is shown does it too");
  });

  await t.test("delete the default rule, and see first what that changes", async (t) => {
    await go("Rules");
    await chooseFor(page, "default", "Delete");
    await dialog.getByText(/^Everyone loses \d+ endpoints$/).waitFor();
    const text = (await dialog.locator(".effects").innerText()).replace(/\s+/g, " ");
    t.match(text, /200 granted.*401 refused for everyone at/);
    for (const resource of ["helloworld:Helloworld.Call", "helloworld:Helloworld.Stream", "shop:Shop.Call"]) {
      t.match(text, `service:${resource}`);
    }
    t.notMatch(text, /service:auth/, "what rules do not govern does not change");
    await screenshot(page, "console-journey-4-warning");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await dialog.getByRole("textbox").fill("defualt");
    await dialog.getByRole("button", { name: "Delete rule" }).click();
    await dialog.getByText("This is not the name.").waitFor();
    t.equal(await call(), "200 Hello Ada", "a wrong name deletes nothing");
    t.same(asked, [], "nor is it asked for");
    await dialog.getByRole("textbox").fill("default");
    await dialog.getByRole("button", { name: "Delete rule" }).click();
    await page.getByRole("heading", { name: "No rules: every call is refused" }).waitFor();
  });

  await t.test("see the 401, with a token and without", async (t) => {
    const refused = "401 Unauthorized call made to helloworld:Helloworld.Call";
    t.equal(await call(), refused);
    t.equal(await call(key), refused);
  });

  await t.test("explain it", async (t) => {
    await page.getByLabel("Who calls").selectOption("admin");
    await page.getByLabel("What is called").selectOption("service:helloworld:Helloworld.Call");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByText("No rule matches, so the call is refused.").waitFor();
    t.ok(await page.getByText("401 refused").isVisible());
    await screenshot(page, "console-journey-5-explained");
  });

  await t.test("admit callers that sign in, and see first that the rule does this", async (t) => {
    await page.getByRole("button", { name: "Create the first rule" }).click();
    await dialog.getByLabel("ID").fill("onlyloggedin");
    await dialog.getByRole("combobox", { name: "Scope" }).fill("*");
    await dialog.getByRole("combobox", { name: "Resource" }).fill("service:hello world");
    await dialog.getByText("must have three segments").waitFor();
    await dialog.getByRole("combobox", { name: "Resource" }).fill("*:*:*");
    await dialog.getByText(/^Covers (\d+) of \1 endpoints/).waitFor();
    await dialog.getByText(/^Every account gains/).waitFor();
    await screenshot(page, "console-journey-6-rule");
    await dialog.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("rowheader", { name: "onlyloggedin" }).waitFor();
    t.equal(await call(key), "200 Hello Ada");
    t.match(await call(), /^401 /);
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByText("200 granted").waitFor();
  });

  await t.test("see the calls in usage, and the changes in the audit trail", async (t) => {
    await go("Usage");
    // At least five calls, and two of them refused. The gateway reports them within ten seconds, in
    // one report or two.
    const row = page.getByRole("row", { name: /^helloworld:Helloworld\.Call ([5-9]|\d\d+) ([2-9]|\d\d+) / });
    await row.waitFor({ timeout: 25_000 });
    t.ok(await row.isVisible(), "the calls are counted");
    await screenshot(page, "console-journey-7-usage");
    await go("Audit trail");
    for (const [what, ofWhat] of [
      ["Rule created", "onlyloggedin"],
      ["Rule deleted", "default"],
      ["Key created", key.slice(0, 10)],
    ] as const) {
      await page.getByRole("row").filter({ hasText: what }).filter({ hasText: ofWhat }).first().waitFor();
    }
    await screenshot(page, "console-journey-8-audit");
  });

  await t.test("revoke the key", async (t) => {
    await go("API keys");
    await chooseFor(page, "my laptop", "Revoke");
    await dialog.getByRole("textbox").fill("my laptop");
    await dialog.getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("heading", { name: "No keys yet" }).waitFor();
    t.match(await call(key), /^401 /);
  });

  await t.test("sign out", async (t) => {
    await signOut(page);
    await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
    t.equal(new URL(page.url()).search, "");
    t.equal(new URL(page.url()).origin, origin);
  });

  checkClean(t, watched);
});
