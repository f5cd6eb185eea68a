// The snippets for browsers, each run exactly as the page shows it, in a page of the gateway's own origin.
import type { Page } from "playwright-core";
import t from "tap";
import { open, visit } from "./browser.js";
import { checkSnippets, type Run } from "./snippets.js";

/**
 * Runs a text as the body of a module, with PORTICO_TOKEN as a variable around it. What it does after it has run to its
 * end, as a WebSocket does, is over when the browser says so.
 */
function inPage(page: Page): Run {
  return async (text, token) => {
    const printed: string[] = [];
    const listen = (message: { text(): string }) => printed.push(message.text());
    page.on("console", listen);
    const closed = text.includes("new WebSocket") ? untilClosed(page) : undefined;
    await page.evaluate(`(async () => { const PORTICO_TOKEN = ${JSON.stringify(token)};\n${text}\n})()`);
    await closed;
    // What was printed comes on its own way, in order: after this mark everything is here.
    const mark = page.waitForEvent("console", (message) => message.text() === "end of snippet");
    await page.evaluate("setTimeout(() => console.log('end of snippet'))");
    await mark;
    page.off("console", listen);
    return printed.join("\n");
  };
}

async function untilClosed(page: Page): Promise<void> {
  const socket = await page.waitForEvent("websocket");
  if (!socket.isClosed()) await socket.waitForEvent("close");
}

t.test("snippets in a browser", async (t) => {
  const setting = await open(t);
  const { page } = await visit(t, setting, "/explore");
  await checkSnippets(t, setting, "browser", inPage(page));
});
