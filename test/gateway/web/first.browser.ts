// The first page at `/`, whose steps tick themselves, and the page Connect, whose blocks work as
// they are written.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { sampleOf } from "../../support/full.js";
import { installation } from "../../support/installation.js";
import { call, start } from "../../support/process.js";
import { seriousFaults } from "./axe.js";
import { ADMIN_PASSWORD, checkClean, launch, screenshot, signIn, signOut, untilSettled, visit } from "./browser.js";
import { overflow } from "./console-browser.js";
import { openShop } from "./shop.js";

const run = promisify(execFile);

const folder = t.testdir({});
const shop = await openShop(folder);
t.teardown(() => shop.close());
const portico = await start(["server"], {
  PORTICO_DATA: await installation(join(folder, "data")),
  PORTICO_OWN_SERVICES: "helloworld",
});
t.teardown(() => portico.stop());
const origin = portico.address("HTTP");
const setting = { browser: await launch(t), origin };
const login = await call(`${origin}/auth/login`, { account: "admin", password: ADMIN_PASSWORD });
const asAdmin = { authorization: `Bearer ${(login.body as { accessToken: string }).accessToken}` };

async function change(path: string, request: object): Promise<Record<string, unknown>> {
  const { status, body } = await call(`${origin}/v1/${path}`, request, asAdmin);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body as Record<string, unknown>;
}

const step = (page: Page, title: string) => page.getByRole("heading", { level: 3, name: title });
const heading = (page: Page) => page.getByRole("heading", { name: "The HTTP door to your gRPC services." });

/** Makes the page read the steps now, as it does when a visitor comes back to it. */
const look = (page: Page) => page.evaluate("dispatchEvent(new Event('focus'))");

const LOOKS = (["light", "dark"] as const).flatMap((colorScheme) =>
  [360, 768, 1280, 1920].map((width) => ({ colorScheme, width })),
);

/** Each theme and width; a sample has a narrow page in light colours, and a wide one in dark. */
async function checkLooks(t: Test, page: Page, name: string): Promise<void> {
  for (const { colorScheme, width } of sampleOf(LOOKS, 6)) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: 900 });
    t.ok((await overflow(page)) <= 0, `nothing to scroll sideways at ${width}`);
    t.same(await seriousFaults(page), [], `axe finds nothing serious, ${colorScheme}, ${width}`);
    await screenshot(page, `${name}-${colorScheme}-${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

t.test("the first page", async (t) => {
  const watched = await visit(t, setting, "/");
  const { page } = watched;

  await t.test("a visitor calls at once, and the step ticks", async (t) => {
    await heading(page).waitFor();
    await step(page, "Call it (to do)").waitFor();
    await checkLooks(t, page, "first-new");
    const name = page.getByRole("textbox", { name: "Name" });
    await name.fill("Grace O'Hara & Söhne");
    await page.keyboard.press("Enter");
    await page.getByRole("status", { name: "Response" }).getByText("Hello Grace O'Hara & Söhne").first().waitFor();
    await step(page, "Call it (done)").waitFor();
    await page.reload();
    await step(page, "Call it (done)").waitFor();
    t.equal(
      await page
        .locator("[aria-current=step]")
        .innerText()
        .then((text) => /Add a service/.test(text)),
      true,
    );
  });

  await t.test("the command that it copies runs", async (t) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("textbox", { name: "Name" }).fill("it's $HOME");
    await page.getByRole("button", { name: "Copy the command", exact: true }).click();
    await page.getByText("Copied the command").waitFor();
    const command = await page.evaluate<string>("navigator.clipboard.readText()");
    t.match(JSON.parse((await run("sh", ["-c", command])).stdout), { message: "Hello it's $HOME" });
  });

  await t.test("a stranger learns nothing of rules and keys", async (t) => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.reload();
    await step(page, "Give out a key (to do)").waitFor();
    await untilSettled(page);
    t.same([...new Set(asked.filter((path) => !path.startsWith("/console/assets/")))].sort(), ["/", "/registry/list"]);
  });

  await t.test("the other steps tick themselves", async (t) => {
    const { name, target, descriptors } = shop.entry;
    const read = readFileSync(descriptors).toString("base64");
    await change("registry/Services/Put", { service: { name, targets: [{ address: target }], descriptors: read } });
    await step(page, "Add a service (done)").waitFor();
    await signIn(page);
    await step(page, "Close the door (to do)").waitFor();
    const rule = { id: "onlyloggedin", scope: "*", access: "GRANTED", resource: "*:*:*" };
    await change("auth/Rules/Create", { rule });
    await change("auth/Rules/Delete", { id: "default" });
    await look(page);
    await step(page, "Close the door (done)").waitFor();
    await checkLooks(t, page, "first-three-done");
    await page.getByText("Authorization: Bearer $PORTICO_TOKEN").first().waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Hello Ada").first().waitFor();
  });

  await t.test("until the last step `/` stays the first page here, and is the catalogue for a stranger", async (t) => {
    await page.reload();
    await heading(page).waitFor();
    const stranger = await visit(t, setting, "/");
    await stranger.page.waitForURL("**/explore");
    checkClean(t, stranger);
    await change("auth/Keys/Create", { name: "ci" });
    await look(page);
    await page.getByRole("heading", { name: "All four steps are done" }).waitFor();
    await screenshot(page, "first-done-light-1280");
    await page.getByRole("link", { name: "Portico", exact: true }).click();
    await heading(page).waitFor();
    await page.getByRole("link", { name: "Explore", exact: true }).click();
    await page.getByRole("link", { name: "Portico", exact: true }).click();
    await page.waitForURL("**/explore");
    await page.goBack();
    t.notMatch(new URL(page.url()).pathname, /^\/$/, "Back does not lead into a loop");
  });

  await t.test("it can be dismissed, and stays so in this browser", async (t) => {
    const { page } = await visit(t, setting, "/");
    await page.waitForURL("**/explore");
    await signIn(page);
    await change("auth/Rules/Create", {
      rule: { id: "default", scope: "<public>", access: "GRANTED", resource: "*:*:*" },
    });
    await page.getByRole("link", { name: "Portico", exact: true }).click();
    await page.getByRole("button", { name: "Do not show this again in this browser" }).click();
    await page.waitForURL("**/explore");
    await page.goto("/");
    await page.waitForURL("**/explore");
  });

  checkClean(t, watched);
});

t.test("Connect", async (t) => {
  const watched = await visit(t, setting, "/explore");
  const { page } = watched;
  const block = (title: RegExp | string) =>
    page.locator("section.block").filter({ has: page.getByRole("heading", { name: title }) });
  const code = (title: RegExp | string) => block(title).locator("pre").innerText();
  const tab = async (name: string) => page.getByRole("tab", { name }).click();

  await t.test("is in the navigation and in the search", async () => {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Connect" }).click();
    await page.getByRole("heading", { level: 1, name: "Connect" }).waitFor();
    await page.goto("/console");
    await untilSettled(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.type("connect");
    await page.getByRole("option", { name: /^Connect.*Page$/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Connect" }).waitFor();
    await block("A call, with curl").waitFor();
  });

  await t.test("while everyone may call, no token is in the way", async (t) => {
    const { stdout } = await run("sh", ["-c", await code("A call, with curl")]);
    t.match(JSON.parse(stdout), { message: /^Hello / });
    await tab("Agents");
    t.match(JSON.parse(await code(/^Cursor/)), { mcpServers: { portico: { url: `${origin}/mcp` } } });
  });

  await t.test("one click makes a limited key, which is in every block", async (t) => {
    await tab("HTTP");
    await signIn(page);
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByText("It cannot be shown again").waitFor();
    const key = await page.locator(".secret code").innerText();
    const { keys } = (await change("auth/Keys/List", {})) as { keys: { name: string; resources: string[] }[] };
    t.match(keys.find(({ name }) => name === "connect helloworld")?.resources, ["service:helloworld:*"]);
    await change("auth/Rules/Delete", { id: "default" });
    const command = await code("A call, with curl");
    t.match(command, key);
    t.match(JSON.parse((await run("sh", ["-c", command])).stdout), { message: /^Hello / });
    await checkLooks(t, page, "connect-key");
  });

  await t.test("the program for Node.js, the name for gRPC and the settings for agents work", async (t) => {
    await tab("TypeScript");
    const cwd = mkdtempSync(join(tmpdir(), "connect-"));
    writeFileSync(join(cwd, "call.mts"), await code(/^Save as call\.mts/));
    const exported = await code(/^First, the key/);
    const tsx = join(process.cwd(), "node_modules/.bin/tsx");
    t.match((await run("sh", ["-c", `${exported}\n'${tsx}' call.mts`], { cwd })).stdout, /200 .*Hello /s);
    await tab("Agents");
    const { url, headers } = JSON.parse(await code(/^VS Code/)).servers.portico;
    const listed = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
    t.match(await listed.json(), { result: { tools: [{ name: "helloworld.Call" }] } });
    await tab("gRPC");
    const [, path] = /(\S+)$/.exec((await code(/grpcurl/)).trim())!;
    t.match(await call(`${origin}/${path}`, { name: "Ada" }, { ...headers, "connect-protocol-version": "1" }), {
      status: 200,
    });
  });

  await t.test("a key that is shown is not lost by Back, and is hidden by a button", async (t) => {
    await page.goBack();
    await page.getByText("The key is shown only now").waitFor();
    await page.getByRole("button", { name: "hide the key" }).click();
    await page.getByRole("button", { name: "Make a key" }).waitFor();
    await page.reload();
    await block(/^First, the token/)
      .getByText("portico user token")
      .waitFor();
    await tab("Agents");
    t.equal(await code(/^Claude or ChatGPT, by sign-in/), `${origin}/mcp`);
    t.match(JSON.parse(await code(/^VS Code, by sign-in/)), { servers: { portico: { url: `${origin}/mcp` } } });
    await tab("HTTP");
    await page.getByRole("combobox", { name: "Service" }).selectOption("shop");
    await page.locator(".block").last().getByText("/v1/shop/").waitFor();
    await signOut(page);
    await page.getByRole("heading", { name: "There is nothing that you may call" }).waitFor();
  });

  checkClean(t, watched);
});
