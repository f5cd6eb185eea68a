// Takes a new screenshot for the README: docs/explore.png, the page of an endpoint with a response.
// It builds the program first. It needs Chromium: `chromium-headless-shell` or `chromium`, or the
// program that PORTICO_CHROMIUM names.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { build } from "./build.mjs";

const SCREENSHOT = "docs/explore.png";
const SIZE = { width: 1200, height: 728 };
const MAX_BYTES = 120 * 1024;
const WAIT_MS = 30_000;

const which = (name) => spawnSync("which", [name], { encoding: "utf8" }).stdout.trim();
const found = process.env.PORTICO_CHROMIUM || which("chromium-headless-shell") || which("chromium");
if (found === "")
  throw new Error("There is no Chromium: install it (apt-get install chromium-headless-shell) or set PORTICO_CHROMIUM");
await build();
const folder = mkdtempSync(join(tmpdir(), "portico-screenshot-"));
const server = spawn(process.execPath, ["dist/portico.js", "server"], {
  env: {
    PATH: process.env.PATH,
    PORTICO_DATA: folder,
    PORTICO_HTTP: "127.0.0.1:0",
    PORTICO_GRPC: "127.0.0.1:0",
    PORTICO_ADMIN: "127.0.0.1:0",
    PORTICO_DRAIN_NOTICE: "0s",
    PORTICO_LOG_LEVEL: "warn",
  },
  stdio: ["ignore", "pipe", "inherit"],
});
const stopped = once(server, "exit");
let browser;
try {
  const address = await addressOf(server);
  browser = await chromium.launch({ executablePath: found, args: ["--no-sandbox", "--disable-gpu"] });
  await take(await browser.newPage({ viewport: SIZE, colorScheme: "light" }), address);
} finally {
  await browser?.close();
  server.kill();
  await stopped;
  rmSync(folder, { recursive: true });
}
const { size } = statSync(SCREENSHOT);
if (size > MAX_BYTES) throw new Error(`${SCREENSHOT} has ${size} bytes; at most ${MAX_BYTES} are wanted`);
console.log(`${SCREENSHOT}: ${SIZE.width} × ${SIZE.height}, ${size} bytes`);

/** The address of the HTTP port, once the server is ready. */
async function addressOf({ stdout }) {
  let address = "";
  for await (const line of createInterface({ input: stdout, signal: AbortSignal.timeout(WAIT_MS) })) {
    address = /^ *HTTP +(\S+)/.exec(line)?.[1] ?? address;
    if (/^ *Ready/.test(line)) return address;
  }
  throw new Error("The server did not start");
}

async function take(page, address) {
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(`${address}/explore/helloworld/Helloworld.Call`);
  await page.getByRole("textbox", { name: "name" }).fill("Ada");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("region", { name: "Response" }).getByText("200 OK").waitFor();
  await page.waitForFunction(() => [...document.fonts].some(({ status }) => status === "loaded"));
  await page.screenshot({ path: SCREENSHOT });
}
