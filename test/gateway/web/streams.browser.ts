// Messages of streams are shown as they arrive. Streams end when the visitor ends them or leaves.

import type { Page } from "playwright-core";
import t from "tap";
import { deferred } from "../../support/deferred.js";
import { checkClean, open, visit } from "./browser.js";

t.test("streams", async (t) => {
  const setting = await open(t);
  const { shop } = setting;

  t.test("messages are shown while the stream continues, and it can be cancelled", async (t) => {
    const watched = await visit(t, setting, "/explore/shop/Shop.Watch");
    const { page } = watched;
    await page.getByRole("textbox", { name: "every" }).fill("20");
    await page.getByRole("textbox", { name: "most" }).fill("");
    await page.getByRole("button", { name: "Send" }).click();
    const messages = page.getByRole("list", { name: "Messages" });
    await messages.getByText('{ "number": 3 }').waitFor();
    t.equal(shop.watchers(), 1, "the service is still sending");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("cancelled").waitFor();
    await t.resolves(shop.untilWatchers(0));
    t.pass("the service is told");
    checkClean(t, watched);
  });

  t.test("shows a stream that ended as complete", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Stream");
    await page.getByRole("textbox", { name: "messages" }).fill("3");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("complete").waitFor();
    t.equal(await page.getByRole("list", { name: "Messages" }).getByRole("listitem").count(), 3);
  });

  t.test("keeps the last five hundred of ten thousand messages", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Stream");
    await page.getByRole("textbox", { name: "messages" }).fill("10000");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("complete").waitFor();
    await page.getByText("10000 messages").waitFor();
    t.equal(await page.getByRole("list", { name: "Messages" }).getByRole("listitem").count(), 501);
    await page.getByText("9500 earlier messages are not shown").waitFor({ state: "attached" });
    const toEnd = "(({ scrollTop, clientHeight, scrollHeight }) => scrollHeight - scrollTop - clientHeight)";
    const left = await page.evaluate<number>(`${toEnd}(document.querySelector(".messages"))`);
    t.ok(left < 8, "it was followed, however fast they came");
  });

  t.test("cancels the call when the visitor leaves the page", async (t) => {
    const { page } = await visit(t, setting, "/explore/shop/Shop.Watch");
    await page.getByRole("textbox", { name: "most" }).fill("");
    await page.getByRole("button", { name: "Send" }).click();
    await shop.untilWatchers(1);
    await page.getByRole("link", { name: "All services" }).click();
    await t.resolves(shop.untilWatchers(0));
  });

  t.test("shows each response of a two-way stream as it arrives", async (t) => {
    const watched = await visit(t, setting, "/explore/shop/Shop.Haggle");
    const { page } = watched;
    await page.getByRole("button", { name: "Fill in the example" }).click();
    const messages = page.getByRole("list", { name: "Messages" });
    await page.getByRole("button", { name: "Open the stream" }).click();
    for (const name of ["tea", "cake"]) {
      await page.getByRole("textbox", { name: "name" }).fill(name);
      await page.getByRole("button", { name: "Send this message" }).click();
      await messages.getByText(`"text": "${name}"`).waitFor();
    }
    await page.getByRole("button", { name: "No more messages" }).click();
    await page.getByText("complete").waitFor();
    t.equal(await messages.getByRole("listitem").count(), 4);
    checkClean(t, watched);
  });

  t.test("a message can be sent once the stream is open, however long that takes", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    const release = await holdOpening(page);
    await page.goto("/explore/shop/Shop.Fill");
    await page.getByRole("button", { name: "Fill in the example" }).click();
    await page.getByRole("button", { name: "Open the stream" }).click();
    const sending = page.getByRole("button", { name: "Send this message" });
    await sending.waitFor();
    t.ok(await sending.isDisabled(), "not yet");
    release();
    await sending.click();
    await page.getByRole("button", { name: "No more messages" }).click();
    await t.resolves(page.getByText('"text": "tea"').last().waitFor());
  });

  t.test(
    "the response to a client stream arrives after its end; a wrong message ends the stream with the reason",
    async (t) => {
      const { page } = await visit(t, setting, "/explore/shop/Shop.Fill");
      await page.getByRole("button", { name: "Fill in the example" }).click();
      await page.getByRole("button", { name: "Open the stream" }).click();
      await page.getByRole("textbox", { name: "count" }).fill("2");
      for (let sent = 0; sent < 2; sent++) await page.getByRole("button", { name: "Send this message" }).click();
      await page.getByRole("button", { name: "No more messages" }).click();
      await t.resolves(page.getByText('{ "count": 4, "text": "tea, tea" }').waitFor());

      await page.getByRole("button", { name: "Open the stream" }).click();
      await page.getByRole("textbox", { name: "count" }).fill("many");
      await page.getByRole("button", { name: "Send this message" }).click();
      await t.resolves(page.getByText(/^400: count: /).waitFor());
    },
  );
});

/** Lets no WebSocket of the page open before the returned function is called. */
async function holdOpening(page: Page): Promise<() => void> {
  const { promise: released, resolve: release } = deferred();
  await page.routeWebSocket(/./, async (socket) => {
    await released;
    socket.connectToServer();
  });
  return release;
}
