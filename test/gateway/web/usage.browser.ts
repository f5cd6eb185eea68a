// Usage with its chart, what needs attention, and the export of the audit trail, in one browser.
import { readFileSync } from "node:fs";
import t from "tap";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, intercept, open, screenshot, untilSettled, untilTrue } from "./browser.js";
import { overflow, visitAgain } from "./console-browser.js";

t.test("usage, attention and audit", { timeout: 120_000 }, async (t) => {
  const setting = await open(t);
  const { page, watched, post, signIn, go } = await visitAgain(t, setting, "/console");
  const { body } = await post("/auth/Auth/Login", { account: "admin", password: ADMIN_PASSWORD });
  const token = String(body.accessToken);
  const key = (await post("/v1/auth/Keys/Create", { name: "=1+1", lifetime: "172800s" }, token)).body;
  const { prefix } = key.key as { prefix: string };
  for (const name of ["Ada", "Grace", "Linus"]) await post("/v1/helloworld/Call", { name }, String(key.secret));
  await post("/v1/helloworld/Call", { nam: "Ada" }, String(key.secret));
  await post("/v1/helloworld/Call", { name: "Ada" });
  const limited = { name: "limited", lifetime: "8640000s", resources: ["service:shop:*"] };
  const narrow = (await post("/v1/auth/Keys/Create", limited, token)).body as unknown as {
    secret: string;
    key: { prefix: string };
  };
  t.equal((await post("/v1/helloworld/Call", { name: "Ada" }, narrow.secret)).status, 403);
  await signIn();

  await t.test("the overview names keys that end soon, and nothing else on a new installation", async (t) => {
    const attention = page.getByRole("region", { name: "Needs attention" });
    await attention.getByRole("link", { name: "The key =1+1" }).waitFor();
    t.match(await attention.innerText(), /of admin expires/);
    t.equal(await attention.getByRole("listitem").count(), 1);
    await screenshot(page, "overview-attention");
  });

  await t.test("rows lead to the endpoint and the key", async (t) => {
    await go("Usage");
    const row = page.getByRole("row").filter({ hasText: "helloworld:Helloworld.Call" });
    await row.waitFor({ timeout: 25_000 });
    const hrefs = async () =>
      row.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    t.same(await hrefs(), [
      "/console/usage?service=helloworld&endpoint=Helloworld.Call",
      "/explore/helloworld/Helloworld.Call",
      "/console/refusals?service=helloworld&endpoint=Helloworld.Call",
    ]);
    await page.getByRole("tab", { name: "API keys" }).click();
    const ofKey = page.getByRole("row").filter({ hasText: prefix });
    await ofKey.waitFor();
    t.match((await ofKey.innerText()).split(/\s+/).slice(0, 6).join(" "), `${prefix} of admin 4 3 1`);
    t.equal(await ofKey.getByRole("link", { name: "Key" }).getAttribute("href"), `/console/keys/${prefix}`);
    const ofLimited = page.getByRole("row").filter({ hasText: narrow.key.prefix });
    t.match(
      (await ofLimited.innerText()).split(/\s+/).slice(0, 8).join(" "),
      `${narrow.key.prefix} of admin 1 0 0 0 1`,
    );
    await ofLimited.getByRole("link", { name: "Refusals" }).waitFor();
    await ofKey.getByRole("link", { name: "Chart" }).click();
    await page.getByText(`Key ${prefix}`).waitFor();
    await page.getByRole("group", { name: /^4 calls by status/ }).waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
  });

  const chart = page.getByRole("group", { name: /calls by status/ });
  await t.test("arrow keys show values; Shift, arrow keys and Enter set the time", async () => {
    await chart.waitFor();
    await chart.focus();
    await page.keyboard.press("End");
    const values = page.getByRole("status").filter({ hasText: /:\d\d/ });
    await values.first().waitFor();
    for (let steps = 0; steps < 5; steps++) await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Enter");
    await page.waitForURL(/start=.*span=360s|span=360s.*start=/);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForURL((url) => !url.search.includes("start="));
  });

  await t.test("a drag sets the time", async (t) => {
    await chart.waitFor();
    await untilSettled(page);
    await chart.scrollIntoViewIfNeeded();
    const box = (await chart.boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.waitForURL(/start=/);
    await page.getByRole("group", { name: /^[1-9]\d* calls by status/ }).waitFor();
    t.equal(Number(/span=(\d+)s/.exec(page.url())?.[1]) % 60, 0);
    t.same(await seriousFaults(page), []);
    for (const width of [360, 768, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      await untilSettled(page);
      t.ok((await overflow(page)) <= 0, `no wider than ${width} px`);
      await screenshot(page, `usage-${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  await t.test("what each limit has refused stands below", async (t) => {
    const base = { scope: "<public>", resource: "service:helloworld:*", rate: "1/d" };
    for (const limit of [
      { ...base, id: "enforced", per: "ADDRESS", rate: "1000/s" },
      { ...base, id: "counting", per: "EVERYONE", shadow: true },
    ]) {
      t.equal((await post("/v1/auth/Limits/Create", { limit }, token)).status, 200);
    }
    for (const name of ["Ada", "Grace", "Linus"]) await post("/v1/helloworld/Call", { name }, String(key.secret));
    await go("Usage");
    const table = page.getByRole("table", { name: "Limits, most refused first" });
    await table.getByText(/^would have refused 2 calls since/).waitFor({ timeout: 25_000 });
    await table.getByText(/^refused no calls since/).waitFor();
    t.equal(
      await table.getByRole("link", { name: "counting" }).getAttribute("href"),
      "/console/limits?filter=counting",
    );
    t.same(await seriousFaults(page), []);
    for (const id of ["enforced", "counting"]) await post("/v1/auth/Limits/Delete", { id }, token);
  });

  await t.test("the audit trail is filtered and exported", async (t) => {
    await go("Audit trail");
    await page.getByLabel("Action").fill("key created");
    await page.getByLabel("Time zone").selectOption("utc");
    await page.waitForURL(/action=key\+created.*zone=utc/);
    const rows = page.getByRole("row").filter({ hasText: "Key created" });
    await untilTrue(page, "document.querySelectorAll('tbody tr').length === 2");
    t.match(await rows.first().innerText(), /\d:\d\d:\d\d.*UTC/s, "seconds, and the zone");
    const exported = async (name: string) => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
      return readFileSync(await download.path(), "utf8");
    };
    const csv = await exported("Export CSV");
    t.match(csv, /^revision,time,actor,action,subject,address,key,requestId\r\n/);
    t.equal(csv.trim().split("\r\n").length, 3, "only what is filtered");
    const [first = ""] = (await exported("Export JSON lines")).split("\n");
    t.match(JSON.parse(first), { action: "key created", actor: "admin" });
    t.same(await seriousFaults(page), []);
    await screenshot(page, "audit-filtered");
  });

  await t.test("the overview names a service that cannot be reached any more", async () => {
    setting.shop.close();
    const problem = { name: "The authority at 10.0.0.7:8081", text: "does not respond. Start it" };
    await page.route("**/console/attention.json", (route) => route.fulfill({ json: { problems: [problem] } }));
    const rejected = [
      { service: "orders", id: "i-1", error: "two files define Order", time: new Date().toISOString() },
    ];
    await intercept(page, "**/v1/registry/Services/List", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), rejected } });
    });
    await go("Overview");
    const orders = page.getByRole("listitem").filter({ hasText: "the instance i-1 was rejected" });
    await orders.filter({ hasText: "two files define Order" }).getByRole("link", { name: "orders" }).waitFor();
    await page
      .getByRole("listitem")
      .filter({ hasText: `${problem.name} ${problem.text}` })
      .waitFor();
    const line = page.getByRole("listitem").filter({ hasText: "has no instance that can be reached" });
    await line.getByRole("link", { name: "shop" }).waitFor();
    await screenshot(page, "overview-attention");
  });
  checkClean(t, watched);
});
