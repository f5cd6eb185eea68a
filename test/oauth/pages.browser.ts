// The pages of sign-in and consent in Chromium: without scripts, by keyboard, on a phone, in both
// themes, and without a frame around them.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { Pages } from "../../gateway/built-in/pages.js";
import { launch, screenshot } from "../gateway/web/browser.js";
import { openDoor, PERSON } from "./browser.js";

async function asked(t: Test): Promise<{ url: string; back: string }> {
  const door = await openDoor(t, { own: [new Pages({ folder: "dist/console" })] });
  const server = createServer((_, response) => response.end("back")).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const back = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  await door.auth("Clients/Create", {
    name: "desktop",
    redirectUris: ["http://127.0.0.1/callback"],
    confidential: false,
  });
  const parameters = new URLSearchParams({
    ...{ response_type: "code", client_id: "desktop", redirect_uri: back, state: "s" },
    ...{ code_challenge: "A".repeat(43), code_challenge_method: "S256" },
  });
  return { url: `${door.url}/oauth/authorize?${parameters}`, back };
}

for (const colorScheme of ["light", "dark"] as const) {
  t.test(`a person consents by keyboard, on a phone, ${colorScheme}`, async (t) => {
    const { url, back } = await asked(t);
    const viewport = { width: 360, height: 640 };
    const context = await (await launch(t)).newContext({ javaScriptEnabled: false, viewport, colorScheme });
    const page = await context.newPage();
    const loaded: string[] = [];
    page.on("response", (it) => it.url() !== url && loaded.push(`${it.status()} ${new URL(it.url()).pathname}`));
    const fits = async (): Promise<void> => {
      const { width = 0 } = (await page.locator("main").boundingBox()) ?? {};
      t.ok(width > 300 && width <= viewport.width, `${width}`);
      for (const control of await page.locator("button, input[type=text], input[type=password], select").all()) {
        const box = await control.boundingBox();
        if (box === null) continue;
        t.ok(box.height >= 44 && box.x >= 0 && box.x + box.width <= viewport.width, "controls fit a finger");
      }
    };
    await page.goto(url, { waitUntil: "networkidle" });
    t.same(loaded, ["200 /console/assets/public-sans.woff2"]);
    t.ok(await page.evaluate("document.querySelector('.brand img').naturalWidth > 0"), "the icon is shown");
    await fits();
    await screenshot(page, `oauth-sign-in-${colorScheme}`);
    await page.keyboard.type(PERSON.account);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PERSON.password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "a program on your computer that calls itself desktop" }).waitFor();
    await fits();
    await screenshot(page, `oauth-consent-${colorScheme}`);
    t.ok(await page.getByRole("checkbox", { name: "helloworld" }).isChecked());
    await page.getByRole("checkbox", { name: "probe" }).focus();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Allow" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${back}?**`);
    t.match(new URL(page.url()).searchParams.get("code"), /^ptx_/);
  });
}

t.test("no page can frame them", async (t) => {
  const { url } = await asked(t);
  const page = await (await launch(t)).newPage();
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<iframe src="${url.replaceAll("&", "&amp;")}"></iframe>`);
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await page.waitForLoadState("networkidle");
  const frames = page.frames().filter((frame) => frame !== page.mainFrame());
  for (const frame of frames) t.equal(await frame.locator("form").count(), 0);
});
