// A call from its page: the form and the JSON agree, with and without a token, and refusals are
// explained.
import t from "tap";
import { call } from "../../support/process.js";
import { ADMIN_PASSWORD, checkClean, open, signIn, visit } from "./browser.js";

t.test("a call to try", async (t) => {
  const setting = await open(t);
  const { origin } = setting;

  t.test("fills in the form, which shows the example as a placeholder", async (t) => {
    const watched = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const { page } = watched;
    const name = page.getByRole("textbox", { name: "name" });
    t.equal(await name.getAttribute("placeholder"), "Ada");
    await name.fill("Grace");
    await page.getByRole("button", { name: "Send" }).click();
    const response = page.getByRole("region", { name: "Response" });
    await response.getByText("200 OK").waitFor();
    t.match(await response.textContent(), /"message": "Hello Grace"/);
    t.match(await response.textContent(), /\d+ ms.*Request id \S+/s);
    checkClean(t, watched);
  });

  t.test("shows the same request as a form and as JSON", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Call");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    await page.getByRole("textbox", { name: "customer" }).fill('Ada "the first"');
    await page.getByRole("button", { name: "Add an item to tags" }).click();
    await page.getByRole("textbox", { name: "tags 2" }).fill("green");
    await page.getByRole("combobox", { name: "One of card, cash" }).selectOption("cash");
    await page.getByRole("textbox", { name: "cash" }).fill("250");
    await page.getByRole("tab", { name: "JSON" }).click();
    const editor = page.getByRole("textbox", { name: "Request as JSON" });
    const typed = JSON.parse(await editor.inputValue());
    t.match(typed, { customer: 'Ada "the first"', tags: ["text", "green"], cash: 250 });
    t.notOk("card" in typed, "the other member of the choice is gone");
    await editor.fill('{"number": 9007199254740993, "items": [{"parts": [{"parts": [{"name": "leaf"}]}]}]}');
    await page.getByRole("tab", { name: "Form" }).click();
    t.equal(await page.getByRole("textbox", { name: "number" }).inputValue(), "9007199254740993", "not rounded");
    t.equal(await page.getByRole("textbox", { name: "name" }).last().inputValue(), "leaf", "at any depth");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    t.match(await page.getByRole("region", { name: "Response" }).textContent(), '"number": "9007199254740993"');
  });

  t.test("says that the JSON is invalid, and shows no form until it is corrected", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    await page.getByRole("tab", { name: "JSON" }).click();
    const editor = page.getByRole("textbox", { name: "Request as JSON" });
    await editor.fill('{"name": ');
    t.equal(await editor.getAttribute("aria-invalid"), "true");
    await page.getByText(/^Not JSON yet/).waitFor();
    await page.getByRole("tab", { name: "Form" }).click();
    await page.getByRole("button", { name: "Start anew" }).click();
    t.equal(await page.getByRole("textbox", { name: "name" }).inputValue(), "");
  });

  t.test("shows no code while the JSON of the request is invalid", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const code = page.getByRole("tabpanel", { name: "curl" });
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByRole("textbox", { name: "Request as JSON" }).fill('{"name": "Grace"');
    await code.getByText("Correct the JSON of the request first. Not JSON yet").waitFor();
    t.equal(await code.locator("pre").count(), 0);
    t.equal(await page.getByRole("button", { name: "Copy the curl code" }).count(), 0);
    await page.getByRole("textbox", { name: "Request as JSON" }).fill('{"name": "Grace"}');
    await t.resolves(code.getByText('{"name":"Grace"}').waitFor());
  });

  t.test("a field of any JSON sends exactly the text that it shows", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Call");
    await page.getByRole("button", { name: /other fields$/ }).click();
    const extras = page.getByRole("textbox", { name: "extras" });
    await extras.fill('{"a": 1}');
    await extras.fill('{"a": 2');
    t.equal(await extras.getAttribute("aria-invalid"), "true");
    await page.getByText("Correct the JSON of the request first").waitFor();
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await page.getByRole("button", { name: "Send" }).click();
    t.match((await sent).postData(), '"extras": {"a": 2');
    await page.getByText("400 Bad Request").waitFor();
    t.equal(await extras.inputValue(), '{"a": 2');
    await extras.fill('{"a": 9007199254740993}');
    t.equal(await extras.getAttribute("aria-invalid"), null);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    t.equal(await extras.inputValue(), '{"a": 9007199254740993}', "as it was typed");
  });

  t.test("a map keeps every entry in its place while its key is being typed", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Call");
    const text = (name: string) => page.getByRole("textbox", { name: `notes ${name}`, exact: false });
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByRole("textbox", { name: "Request as JSON" }).fill('{"notes": {"Ada": "tea", "Grace": "cake"}}');
    await page.getByRole("tab", { name: "Form" }).click();
    await text("2 key").fill("Ada");
    t.equal(await text("1 key").getAttribute("aria-invalid"), "true", "given again below");
    t.equal(await text("1 value").inputValue(), "tea");
    t.equal(await text("2 value").inputValue(), "cake");
    await text("2 key").press("End");
    await page.keyboard.type("2");
    t.equal(await text("2 key").inputValue(), "Ada2", "typed without losing the focus");
    await text("2 key").fill("7");
    t.equal(await text("1 key").inputValue(), "Ada", "a number does not move to the front");
    await text("2 value").fill("leaf");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    const response = JSON.parse((await page.getByRole("region", { name: "Response" }).locator("pre").textContent())!);
    t.same(response.notes, { Ada: "tea", 7: "leaf" });
  });

  t.test("marks the field that was refused, until the request changes", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Call");
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByRole("textbox", { name: "Request as JSON" }).fill('{"items": [{}, {"count": "many"}], "tip": 1}');
    await page.getByRole("tab", { name: "Form" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("400 Bad Request").waitFor();
    const count = page.getByRole("group", { name: "items 2" }).getByRole("textbox", { name: "count" });
    t.equal(await count.getAttribute("aria-invalid"), "true");
    t.equal(await page.locator("[aria-invalid]").count(), 1, "and no other");
    await count.fill("3");
    t.equal(await count.getAttribute("aria-invalid"), null);
  });

  t.test("offers only JSON in a browser that would round integers", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.addInitScript(`{
      const parse = JSON.parse;
      JSON.parse = (text, change) => parse(text, change && function (key, value) { return change.call(this, key, value); });
    }`);
    await page.goto("/explore/shop/Shop.Call");
    const editor = page.getByRole("textbox", { name: "Request as JSON" });
    await editor.fill('{"number": 9007199254740993}');
    t.equal(await page.getByRole("tab", { name: "Form" }).count(), 0);
    await page.getByText("This browser would round 9007199254740993").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    t.match(await page.getByRole("region", { name: "Response" }).textContent(), '"number": "9007199254740993"');
  });

  const REFUSALS = [
    { code: "3", status: "400 Bad Request", advice: "Correct the request" },
    { code: "7", status: "403 Forbidden", advice: undefined },
    { code: "8", status: "429 Too Many Requests", advice: "Wait a moment" },
    { code: "14", status: "503 Service Unavailable", advice: "Try again in a moment" },
  ];

  t.test("shows the Detail of a failed call, and what to do about it", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Fail");
    const response = page.getByRole("region", { name: "Response" });
    for (const { code, status, advice } of REFUSALS) {
      await page.getByRole("textbox", { name: "code" }).fill(code);
      await page.getByRole("textbox", { name: "message" }).fill(`said with ${code}`);
      await page.getByRole("button", { name: "Send" }).click();
      await response.getByText(status).waitFor();
      await response.getByText(`said with ${code}`, { exact: false }).first().waitFor();
      const shown = await response.locator(".notice").textContent();
      if (advice === undefined) t.equal(shown, `said with ${code}`, `${status}: only the service knows what helps`);
      else t.match(shown, advice, status);
    }
  });

  t.test("sends the session's token, or none when the visitor chooses so", async (t) => {
    const login = await call(`${origin}/auth/login`, { account: "admin", password: ADMIN_PASSWORD });
    const authorization = `Bearer ${(login.body as { accessToken: string }).accessToken}`;
    const rule = { id: "closed", scope: "<public>", access: "DENIED", resource: "service:shop:Shop.Fail", priority: 1 };
    t.equal((await call(`${origin}/v1/auth/Rules/Create`, { rule }, { authorization })).status, 200);
    const grant = { id: "staff", scope: "*", access: "GRANTED", resource: "service:shop:Shop.Fail", priority: 2 };
    t.equal((await call(`${origin}/v1/auth/Rules/Create`, { rule: grant }, { authorization })).status, 200);

    const watched = await visit(t, setting, "/explore/shop/Shop.Fail");
    const { page } = watched;
    await page.getByRole("heading", { name: /There is no endpoint Shop.Fail that you may call/ }).waitFor();
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Fail" }).waitFor();
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await page.getByRole("button", { name: "Send" }).click();
    const request = await sent;
    t.equal(new URL(request.url()).pathname, "/v1/shop/Fail");
    t.match(await request.headerValue("authorization"), /^Bearer pta_/);

    await page.getByRole("combobox", { name: "Call as" }).selectOption("nobody");
    await page.getByRole("button", { name: "Send" }).click();
    const response = page.getByRole("region", { name: "Response" });
    await response.getByText("401 Unauthorized").waitFor();
    await response.getByText("Nobody may call this without a token").waitFor();
    checkClean(t, watched);
  });
});
