// The page of examples/tickets in a browser, with `portico dev`: tickets that are created or closed
// in one tab change live in the other.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { type Dev, edit, install, startDev } from "../cli/dev/project.js";
import { launch } from "../gateway/web/browser.js";
import { ADMIN_PASSWORD, installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { printedBy } from "../support/printed.js";
import { call } from "../support/process.js";

/**
 * Runs the example as its README says.
 * @returns the page's address, the running `portico dev`, and the project's folder
 */
async function startTickets(t: Test, folder: string): Promise<{ dev: Dev; address: string; project: string }> {
  const project = join(folder, "tickets");
  cpSync("examples/tickets", project, { recursive: true });
  install(project);
  const address = `127.0.0.1:${await freePort()}`;
  const data = await installation(join(folder, "data"));
  const dev = await startDev(t, project, {
    PORTICO_DATA: data,
    PORTICO_CORS: `http://${address}`,
    PORTICO_DRAIN: "1s", // Streams of the old version end soon after a restart.
  });
  await dev.prints(/tickets started in/);
  edit(join(project, "page/index.html"), "http://127.0.0.1:8080", dev.http);
  const env = { PATH: process.env.PATH, HOME: folder, PORTICO_URL: dev.http };
  const words = ["client", "tickets", "--lang", "ts", "--dir", "page"];
  execFileSync(process.execPath, [resolve("dist/portico.js"), ...words], { cwd: project, env });
  const served = ["--outdir=page", "--servedir=page", `--serve=${address}`];
  const esbuild = join(project, "node_modules/.bin/esbuild");
  const child = spawn(esbuild, ["page/page.ts", "--bundle", "--format=esm", ...served], { cwd: project, env });
  t.teardown(async () => {
    child.stdin.end(); // esbuild ends when its input ends.
    if (child.exitCode === null) await once(child, "exit");
  });
  await printedBy(child, "esbuild").prints(/Local: +http/);
  return { dev, address: `http://${address}`, project };
}

async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel("Account").fill("admin");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function create(page: Page, title: string): Promise<void> {
  await page.getByLabel("What is wrong?").fill(title);
  await page.getByRole("button", { name: "Create" }).click();
}

t.test("the page of tickets", { timeout: 120_000 }, async (t) => {
  const { dev, address, project } = await startTickets(t, t.testdir());
  const browser = await launch(t);
  const open = async (): Promise<Page> => {
    const page = await browser.newPage();
    page.on("pageerror", ({ message }) => t.fail(message));
    await page.goto(address);
    return page;
  };
  const [here, there] = [await open(), await open()];
  const ticket = (page: Page, title: string) => page.getByRole("listitem").filter({ hasText: title });

  t.test("shows that a password is wrong", async (t) => {
    await signIn(here, "not the password");
    await t.resolves(here.getByRole("alert").filter({ hasText: /\w/ }).waitFor());
  });

  t.test("shows a ticket that another tab creates or closes", async (t) => {
    await signIn(here, ADMIN_PASSWORD);
    await signIn(there, ADMIN_PASSWORD);
    await create(here, "The printer is out of paper");
    const printer = ticket(there, "The printer is out of paper");
    await printer.waitFor();
    t.equal(await printer.locator("span").textContent(), "1. The printer is out of paper (admin) ");
    await printer.getByRole("button", { name: "Close" }).click();
    await t.resolves(ticket(here, "The printer is out of paper").locator("s").waitFor());
    t.equal(await ticket(here, "printer").getByRole("button", { name: "Close" }).count(), 0);
  });

  t.test("continues when the service runs again after a crash", async (t) => {
    const handlers = join(project, "tickets.ts");
    const crash = "if (number < 0) process.exit(1);";
    edit(handlers, "async close({ number }, call) {", `async close({ number }, call) { ${crash}`);
    await dev.prints(/tickets reloaded in/);
    await call(`${dev.http}/tickets/close`, { number: -1 });
    await dev.prints(/It starts again when one of its files is saved/);
    edit(handlers, crash, "");
    await dev.prints(/tickets started in/);
    await create(here, "The door is stuck");
    await t.resolves(ticket(there, "The door is stuck").waitFor());
    t.equal(await there.getByRole("listitem").count(), 2, "each ticket is shown once");
    t.match(await there.getByRole("listitem").first().textContent(), /The door is stuck/, "the newest first");
  });

  t.test("removes all data from the page at sign-out", async (t) => {
    await here.getByRole("button", { name: "Sign out" }).click();
    await here.getByRole("button", { name: "Sign in" }).waitFor();
    t.equal(await here.getByRole("listitem").count(), 0);
  });
});
