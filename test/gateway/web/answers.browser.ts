// Responses are shown as what they are, files go into bytes fields, and comments are Markdown.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import t from "tap";
import { until } from "../../support/until.js";
import { seriousFaults } from "./axe.js";
import { checkClean, open, screenshot, visit } from "./browser.js";

/** A square of 2×2 pixels. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==",
  "base64",
);

/** In the page: the image that is shown. */
const IMAGE = `document.querySelector(".media img")`;

t.test("responses", async (t) => {
  const setting = await open(t, "helloworld,qr");
  const { folder, shop } = setting;
  const region = (page: Page) => page.getByRole("region", { name: "Response" });
  const file = (name: string, content: Buffer) => {
    mkdirSync(join(folder, "files"), { recursive: true });
    writeFileSync(join(folder, "files", name), content);
    return join(folder, "files", name);
  };

  t.test("a QR code can be scanned from the screen after two clicks", async (t) => {
    const watched = await visit(t, setting, "/explore/qr/Qr.Generate");
    const { page } = watched;
    const example = page.getByRole("region", { name: "Example", exact: true });
    await example.getByText("Nothing has been sent yet.").waitFor();
    await example.getByText("How it can fail").click();
    t.match(await example.textContent(), /"mediaType": "image\/png".*400The request is malformed.*otherAnything else/s);
    await screenshot(page, "explore-example-answer-light-1280");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    const image = region(page).getByRole("img", { name: /^image: .* PNG, 256×256$/ });
    await image.waitFor();
    t.equal(await example.count(), 0, "the response takes its place");
    const [natural, shown] = await page.evaluate<[number, number]>(
      `(async (one) => [await one.decode(), one.naturalWidth, one.clientWidth].slice(1))(${IMAGE})`,
    );
    t.equal(natural, 256);
    t.ok(shown >= 256, `as large as it is: ${shown}`);
    t.match(await region(page).locator("pre").textContent(), /"image": "‹.* PNG, 256×256›"/);

    await region(page).getByRole("tab", { name: "JSON" }).click();
    t.match(await region(page).locator("pre").textContent(), /"image": "iVBORw0KGgo/);
    t.equal(await region(page).getByRole("img").count(), 0);
    await region(page).getByRole("tab", { name: "Headers" }).click();
    await region(page).getByText("application/json").waitFor();
    await region(page).getByRole("tab", { name: "Preview" }).click();

    const saved = page.waitForEvent("download");
    await region(page).getByRole("button", { name: "Save image" }).click();
    t.equal((await saved).suggestedFilename(), "qr-Qr.Generate-image.png");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 900 });
        t.same(await seriousFaults(page), [], `${colorScheme}, ${width}`);
        await screenshot(page, `explore-qr-${colorScheme}-${width}`);
      }
    }
    checkClean(t, watched);
  });

  t.test("a bytes field takes a file, and the response shows it", async (t) => {
    const watched = await visit(t, setting, "/explore/shop/Shop.Print");
    const { page } = watched;
    await page.getByRole("textbox", { name: "customer" }).fill("Ada");
    const others = page.getByRole("button", { name: /other fields$/ });
    if ((await others.count()) > 0) await others.click();
    const stamp = page.getByRole("textbox", { name: /^stamp\b/ });
    const chosen = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose a file" }).click();
    await (await chosen).setFiles(file("large.bin", Buffer.alloc(10 * 1024 * 1024)));
    await page.getByText("large.bin has 10.0 MB. A file in this form may have 2.0 MB.").waitFor();
    t.equal(await stamp.inputValue(), "", "nothing is broken");

    const again = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose a file" }).click();
    // Bytes after the end of a PNG are ignored.
    await (await again).setFiles(file("stamp.png", Buffer.concat([PNG, Buffer.alloc(2_000)])));
    await until(async () => (await stamp.inputValue()) === "2.0 kB, PNG, 2×2");
    t.equal(await page.getByText("large.bin has").count(), 0);
    t.equal(await page.getByRole("textbox", { name: "customer" }).inputValue(), "Ada");
    await screenshot(page, "explore-file-light-1280");
    await page.getByRole("button", { name: "Send" }).click();
    await region(page).getByRole("img", { name: "response: 2.0 kB, PNG, 2×2" }).waitFor();
    t.ok((shop.received.at(-1) as { stamp: Buffer }).stamp.subarray(0, PNG.length).equals(PNG), "as it is in the file");
    await region(page).getByRole("tab", { name: "JSON" }).click();
    await region(page).getByText("This response is not JSON. It is image/png.").waitFor();

    await page.getByRole("button", { name: "Remove", exact: true }).click();
    t.equal(await stamp.inputValue(), "");
    await page.evaluate(`{
      const data = new DataTransfer();
      data.setData("text", "A".repeat(10 * 1024 * 1024));
      const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
      document.querySelector('[data-path="stamp"] input').dispatchEvent(paste);
    }`);
    await page.getByText("What was pasted has 10.0 MB. A field in this form may have 3.0 MB.").waitFor();
    t.equal(await stamp.inputValue(), "");
    // A screenshot is pasted as a file, and one of the desktop is dropped.
    for (const event of ["paste", "drop"]) {
      await page.evaluate(`{
        const input = document.querySelector('[data-path="stamp"] input');
        const data = new DataTransfer();
        const bytes = Uint8Array.from(atob("${PNG.toString("base64")}"), (one) => one.charCodeAt(0));
        data.items.add(new File([bytes], "a.png"));
        const [Made, member] = ${event === "paste" ? '[ClipboardEvent, "clipboardData"]' : '[DragEvent, "dataTransfer"]'};
        input.dispatchEvent(new Made("${event}", { [member]: data, bubbles: true, cancelable: true }));
      }`);
      await until(async () => (await stamp.inputValue()).startsWith("iVBORw0"));
      await stamp.fill("");
    }
    checkClean(t, watched);
  });

  t.test("a request that is too large is refused in words, and can be corrected", async (t) => {
    // Chromium needs 15 s to lay out 10 MB. A gateway takes 4 MB.
    const megabytes = process.env.TEST_FULL ? 10 : 5;
    const { page } = await visit(t, setting, "/explore/shop/Shop.Print");
    await page.getByRole("tab", { name: "JSON" }).click();
    const editor = page.getByRole("textbox", { name: "Request as JSON" });
    await editor.fill(JSON.stringify({ customer: "x".repeat(megabytes * 1024 * 1024) }));
    await page.getByRole("button", { name: "Send" }).click();
    await region(page).getByText("413").first().waitFor();
    await editor.fill('{ "customer": "Ada" }');
    await page.getByRole("button", { name: "Send" }).click();
    await region(page).getByText("413").first().waitFor({ state: "detached" });
    t.match(shop.received.at(-1), { customer: "Ada" });
  });

  t.test("an SVG of a service runs nothing and loads nothing", async (t) => {
    const watched = await visit(t, setting, "/explore/shop/Shop.Print");
    const { page } = watched;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="parent.document.title='owned'">
      <script>document.title = "owned"</script><image href="http://127.0.0.1:1/x.png"/></svg>`;
    await page.getByRole("tab", { name: "JSON" }).click();
    const request = { stamp: Buffer.from(svg).toString("base64") };
    await page.getByRole("textbox", { name: "Request as JSON" }).fill(JSON.stringify(request));
    await page.getByRole("button", { name: "Send" }).click();
    const image = region(page).getByRole("img", { name: /SVG$/ });
    await image.waitFor();
    await page.evaluate(`${IMAGE}.decode()`);
    t.notMatch(await page.title(), "owned");
    checkClean(t, watched);
  });

  t.test("comments are Markdown", async (t) => {
    const watched = await visit(t, setting, "/explore/shop/Shop.Fill");
    const { page } = watched;
    const head = page.locator(".page-head .prose");
    await head.locator("strong", { hasText: "basket" }).waitFor();
    t.equal(await head.locator("ol > li").count(), 2);
    const link = head.getByRole("link", { name: "a shop" });
    t.same(
      [await link.getAttribute("href"), await link.getAttribute("rel")],
      ["https://example.com/", "noopener noreferrer"],
    );
    await screenshot(page, "explore-markdown-light-1280");
    await page.goto(`${setting.origin}/explore/shop`);
    await page.getByText("Adds up what is put into the basket.", { exact: true }).waitFor();
    checkClean(t, watched);
  });
});
