// A browser's own EventSource runs a finished stream once.
import t from "tap";
import { launch } from "../../../web/browser.js";
import { scene } from "./client.js";

t.test("a finished stream is not run again by Chromium", async (t) => {
  const { port } = await scene(t);
  const page = await (await launch(t)).newPage();
  await page.goto(`http://127.0.0.1:${port}/livez`);
  const seen = await page.evaluate(`new Promise((resolve) => {
    const source = new EventSource("/helloworld/stream?name=Ada&messages=2");
    const seen = { messages: 0, ends: 0 };
    source.onmessage = () => { if (++seen.messages > 2) resolve(seen); };
    source.addEventListener("complete", () => seen.ends++);
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) resolve(seen); };
  })`);
  t.same(seen, { messages: 2, ends: 1 });
});
