// The snippets for browsers. Each runs exactly as the page shows it, in a page of the gateway's
// origin.
import type { ConsoleMessage, Dialog, Page } from "playwright-core";
import t from "tap";
import { open, visit } from "./browser.js";
import { checkSnippets, type Run } from "./snippets.js";

/**
 * Runs a text as a module. The snippet asks for its token, because the page does not know it. Some
 * work continues after the module has run, such as a WebSocket. That work has ended when the
 * browser says so.
 */
function inPage(page: Page): Run {
  return async (text, token) => {
    const printed: string[] = [];
    const listen = async (message: ConsoleMessage) => {
      // A Blob is printed by its type, not by its content.
      const values = await Promise.all(message.args().map((arg) => arg.evaluate(TEXT_OF)));
      printed.push(values.join(" "));
    };
    const listening: Promise<void>[] = [];
    const onConsole = (message: ConsoleMessage) => listening.push(listen(message));
    const onDialog = (dialog: Dialog) => dialog.accept(token);
    page.on("console", onConsole).on("dialog", onDialog);
    const closed = text.includes("new WebSocket") ? untilClosed(page) : undefined;
    await page.evaluate(`(async () => {\n${text}\n})()`);
    await closed;
    // Console output arrives separately, but in order. After this mark all of it has arrived.
    const mark = page.waitForEvent("console", (message) => message.text() === "end of snippet");
    await page.evaluate("setTimeout(() => console.log('end of snippet'))");
    await mark;
    await Promise.all(listening);
    page.off("console", onConsole).off("dialog", onDialog);
    return printed.join("\n");
  };
}

const TEXT_OF = (value: unknown) => (value instanceof Blob ? value.text() : JSON.stringify(value));

async function untilClosed(page: Page): Promise<void> {
  const socket = await page.waitForEvent("websocket");
  if (!socket.isClosed()) await socket.waitForEvent("close");
}

t.test("snippets in a browser", async (t) => {
  const setting = await open(t);
  const { page } = await visit(t, setting, "/explore");
  await checkSnippets(t, setting, "browser", inPage(page));
});
