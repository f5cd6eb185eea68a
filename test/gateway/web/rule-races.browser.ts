// Rules that are changed at the same time: by two edits of one page, and by two administrators.
import t, { type Test } from "tap";
import { ADMIN_PASSWORD, checkClean, open, untilSettled } from "./browser.js";
import { chooseFor, hold, visitAgain } from "./console-browser.js";

t.test("rules that change meanwhile", { timeout: 120_000 }, async (t) => {
  const setting = await open(t);
  const enter = async (t: Test) => {
    const visited = await visitAgain(t, setting, "/console", { width: 1280, height: 800 });
    const { page, post } = visited;
    const login = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
    const call = (endpoint: string, body: unknown) => post(`/v1/auth/${endpoint}`, body, `${login.body.accessToken}`);
    await visited.signIn();
    return { ...visited, call, formOf: (id: string) => page.getByRole("form", { name: `Change of rule ${id}` }) };
  };
  const rule = { scope: "*", access: "DENIED", resource: "service:many:*", priority: 9 };

  await t.test("a change that is saved late leaves the edit of another rule as it is", async (t) => {
    const { page, go, call, formOf, watched } = await enter(t);
    for (const id of ["one", "two"]) t.equal((await call("Rules/Create", { rule: { ...rule, id } })).status, 200);
    await go("Rules");
    await chooseFor(page, "one", "Edit");
    await page.getByLabel("Priority of one").fill("10");
    const held = await hold(page, "**/Rules/Set");
    await formOf("one").getByRole("button", { name: "Save change" }).click();
    await held.asked;
    await chooseFor(page, "two", "Edit");
    await page.getByLabel("Priority of two").fill("11");
    await held.release();
    await page.getByText("Rule one is changed").first().waitFor();
    await untilSettled(page);
    t.equal(await page.getByLabel("Priority of two").count(), 1, "it is still edited");
    t.equal(await page.getByLabel("Priority of two").inputValue(), "11");
    checkClean(t, watched);
  });

  await t.test("a change that another administrator was ahead of can be made again", async (t) => {
    const { page, go, call, formOf } = await enter(t);
    await call("Rules/Create", { rule: { ...rule, id: "shared" } });
    await go("Rules");
    await chooseFor(page, "shared", "Edit");
    await page.getByLabel("Priority of shared").fill("20");
    t.equal((await call("Rules/Set", { rule: { ...rule, id: "shared", priority: 15 } })).status, 200);
    const save = formOf("shared").getByRole("button", { name: "Save change" });
    await save.click();
    await formOf("shared")
      .getByRole("alert")
      .getByText(/meanwhile/)
      .waitFor();
    await formOf("shared").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("row").filter({ hasText: "shared" }).getByText("15").waitFor();
    await chooseFor(page, "shared", "Edit");
    await page.getByLabel("Priority of shared").fill("21");
    await save.click();
    await formOf("shared").waitFor({ state: "detached" });
    await page.getByRole("row").filter({ hasText: "shared" }).getByText("21").waitFor();
  });
});
