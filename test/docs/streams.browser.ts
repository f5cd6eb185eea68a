// The browser code of docs/streams.md runs in a browser.
import { readFileSync } from "node:fs";
import t from "tap";
import { launch } from "../gateway/web/browser.js";
import { codeOf } from "./markdown.js";
import { openStudio } from "./studio.js";

const code = codeOf(readFileSync("docs/streams.md", "utf8"), "").filter((one) => one.startsWith("const "));

const GREETING = { message: "Hello Ada", msg: "Hello Ada" };
const examples: [api: string, first: string, seen: unknown[]][] = [
  ["EventSource", "const events", ["Hello Ada", "Hello Ada", "Hello Ada"]],
  ["fetch", "const response", [GREETING, GREETING]],
  ["WebSocket", "const socket", [{ text: "Hello to you" }]],
];
t.equal(code.length, examples.length, "every example is run");

t.test("the code runs in a browser", async (t) => {
  const { url, token } = await openStudio(t);
  const browser = await launch(t);

  for (const [api, first, expected] of examples) {
    t.test(api, async (t) => {
      const page = await browser.newPage();
      const seen: unknown[] = [];
      const all = new Promise<void>((resolve) => {
        page.on("console", async (message) => {
          if (message.args().length === 0) return; // The browser itself reports that there is no icon.
          seen.push(await message.args()[0]?.jsonValue());
          if (seen.length === expected.length) resolve();
        });
      });
      await page.goto(`${url}/helloworld/call?name=Ada`);
      const example = code.find((one) => one.startsWith(first)) ?? "";
      const local = example.replaceAll("127.0.0.1:8080", new URL(url).host);
      const values = { token, url: `${url}/helloworld/stream?name=Ada&messages=2` };
      const given = `const { token, url } = ${JSON.stringify(values)};`;
      await page.evaluate(`(async () => { ${given} ${local} })()`);
      await all;
      t.same(seen, expected);
      await page.close();
    });
  }
});
