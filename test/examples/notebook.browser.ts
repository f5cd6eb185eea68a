// examples/notebook in a browser, with the built program: sign-in, notes that change live, short
// links.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { launch } from "../gateway/web/browser.js";
import { ADMIN_PASSWORD, installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { start } from "../support/process.js";

/**
 * Runs the example as its README says, with the package in its node_modules.
 * @returns the page's address
 */
async function startNotebook(t: Test, folder: string, port: number, portico: string): Promise<string> {
  cpSync("examples/notebook", folder, { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(resolve("."), join(folder, "node_modules/portico"));
  const child = spawn(process.execPath, ["server.js", `${port}`], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORTICO_URL: portico },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.teardown(() => child.kill());
  const [address] = await once(child.stdout.setEncoding("utf8"), "data");
  return address.trim();
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel("Account").fill("admin");
  await page.getByLabel("Password").fill(ADMIN_PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Notes" }).waitFor();
}

t.test("the notebook", { timeout: 120_000 }, async (t) => {
  const folder = t.testdir({ data: {}, notebook: {} });
  const port = await freePort();
  const data = await installation(join(folder, "data"));
  const server = await start(["server"], { PORTICO_DATA: data, PORTICO_CORS: `http://127.0.0.1:${port}` });
  t.teardown(() => server.stop());
  const address = await startNotebook(t, join(folder, "notebook"), port, server.address("HTTP"));
  const browser = await launch(t);
  const open = async (): Promise<Page> => {
    const page = await browser.newPage();
    page.on("pageerror", ({ message }) => t.fail(message));
    await page.goto(address);
    return page;
  };
  const [here, there] = [await open(), await open()];

  t.test("shows that a password is wrong", async (t) => {
    await here.getByLabel("Account").fill("admin");
    await here.getByLabel("Password").fill("not the password");
    await here.getByRole("button", { name: "Sign in" }).click();
    await t.resolves(here.getByRole("alert").filter({ hasText: /\w/ }).waitFor());
  });

  t.test("shows a change in another window", async (t) => {
    await signIn(here);
    await signIn(there);
    await here.getByLabel("New note").fill("Tea and bread");
    await here.getByRole("button", { name: "Add" }).click();
    const note = there.getByRole("textbox", { name: "Note", exact: true });
    await note.waitFor();
    t.equal(await note.inputValue(), "Tea and bread");
    await note.fill("Tea, bread and jam");
    await note.blur();
    const same = here.getByRole("textbox", { name: "Note", exact: true });
    while ((await same.inputValue()) !== "Tea, bread and jam") await here.waitForTimeout(20);
    await here.getByRole("list").first().getByRole("button", { name: "Delete" }).click();
    await note.waitFor({ state: "detached" });
  });

  t.test("makes a short link for an address, and follows it", async (t) => {
    await here.getByLabel("Address").fill("http://127.0.0.1:1/a/long/address?with=query");
    await here.getByRole("button", { name: "Shorten" }).click();
    const link = await here.getByRole("link").getAttribute("href");
    const { status, headers } = await fetch(link!, { redirect: "manual" });
    t.equal(status, 302);
    t.equal(headers.get("location"), "http://127.0.0.1:1/a/long/address?with=query");
    t.equal((await fetch(`${address}/l/absent`)).status, 404);
  });

  t.test("removes all data from the page at sign-out", async (t) => {
    await here.getByRole("button", { name: "Sign out" }).click();
    await here.getByRole("button", { name: "Sign in" }).waitFor();
    t.equal(await here.getByRole("link").count(), 0);
  });
});
