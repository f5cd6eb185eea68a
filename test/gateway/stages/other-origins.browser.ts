// A cross-origin page can do nothing to a fresh installation on the same computer, tested in a real
// browser. The same page at an installation with PORTICO_CORS=* and PORTICO_HTTP_HOSTS=* shows that
// its attempts are real.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import t, { type Test } from "tap";
import { call, type Portico, start } from "../../support/process.js";
import { launch } from "../web/browser.js";

const PASSWORD = "correct horse battery";
/** Makes this browser resolve the host name to this computer, as its owner could. */
const NAMES = "--host-resolver-rules=MAP evil.example 127.0.0.1";

/** Tries every way to send a request without a preflight. Resolves when all have ended. */
const ATTACK = `async (target) => {
  const done = (element, parent = document.body) => new Promise((resolve) => {
    element.onload = element.onerror = () => resolve();
    parent.append(element);
  });
  const element = (name, properties) => Object.assign(document.createElement(name), properties);
  const form = async (enctype, name) => {
    const frame = element("iframe", { name });
    await done(frame);
    const form = element("form", { method: "post", action: target + "/helloworld/call", enctype, target: name });
    form.append(element("input", { name: '{"name":"form","x":"', value: '"}' }));
    document.body.append(form);
    await new Promise((resolve) => { frame.onload = () => resolve(); form.submit(); });
  };
  const url = target + "/helloworld/call?name=page";
  await done(element("img", { src: url }));
  await done(element("script", { src: url }));
  await done(element("iframe", { src: url }));
  await done(element("link", { rel: "stylesheet", href: url }));
  await fetch(url, { mode: "no-cors" }).catch(() => {});
  const read = await fetch(url).then((answer) => answer.text()).catch(() => "");
  const json = { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } };
  await fetch(target + "/helloworld/call", json).catch(() => {});
  await fetch(target + "/helloworld/call", { ...json, mode: "no-cors" }).catch(() => {});
  await form("text/plain", "plain");
  await form("application/x-www-form-urlencoded", "urlencoded");
  for (let guess = 0; guess < 6; guess++)
    await done(element("img", { src: target + "/auth/login?account=admin&password=guess" + guess }));
  const socket = new WebSocket(target.replace("http", "ws") + "/helloworld/stream");
  const opened = await new Promise((resolve) => {
    socket.onopen = () => resolve(true);
    socket.onclose = () => resolve(false);
  });
  socket.close();
  return { read, opened };
}`;

t.test("a page of another origin", async (t) => {
  const browser = await launch(t, [NAMES]);
  const port = await serve(t);
  const page = await browser.newPage();

  // Another port of this computer is same-site, another name is cross-site.
  for (const host of ["127.0.0.1", "evil.example"]) {
    await t.test(`at ${host}, the page can call nothing`, async (t) => {
      const portico = await install(t, {});
      const { read, opened } = await attack(page, `http://${host}:${port}/`, portico);
      t.same({ read, opened }, { read: "", opened: false });
      const admin = { account: "admin", password: PASSWORD };
      const login = await call(`${portico.address("HTTP")}/auth/login`, admin);
      t.equal(login.status, 200, "the administrator is not locked out");
      await portico.stop(); // The log is complete only when the process has ended.
      const lines = requests(portico);
      const answered = lines.filter(({ status }) => status !== 403).map(({ endpoint, status }) => [endpoint, status]);
      t.same(answered, [["auth:Auth.Login", 200]], "all others were refused");
      t.ok(lines.length > 15, `and there were some: ${lines.length}`);
    });
  }

  await t.test("the page can call where any origin may", async (t) => {
    const portico = await install(t, { PORTICO_CORS: "*" });
    const { read, opened } = await attack(page, `http://evil.example:${port}/`, portico);
    t.match(read, /Hello page/);
    t.equal(opened, true);
    await portico.stop();
    t.ok(requests(portico).filter(({ status }) => status === 200).length > 5);
  });

  await t.test("the page can call where its origin may, with a preflight", async (t) => {
    const portico = await install(t, { PORTICO_CORS: `http://evil.example:${port}` });
    const { read, opened } = await attack(page, `http://evil.example:${port}/`, portico);
    t.match(read, /Hello page/);
    t.equal(opened, true);
  });

  await t.test("the page can link to a page of Portico, which then works", async (t) => {
    const portico = await install(t, {});
    await page.goto(`http://evil.example:${port}/`);
    const explore = `${portico.address("HTTP")}/explore`;
    await page.evaluate(`document.body.innerHTML = '<a href="${explore}">explore</a>'`);
    await page.click("a");
    await page
      .getByRole("link", { name: /helloworld/ })
      .first()
      .waitFor();
    t.equal(page.url(), explore);
  });
});

t.test("a page whose host name resolves to this computer after it was loaded", async (t) => {
  const browser = await launch(t, [NAMES]);
  await t.test("the page can read nothing", async (t) => {
    const portico = await install(t, {});
    for (const url of [portico.address("HTTP"), portico.address("Metrics")]) {
      t.match(await readRebound(browser, url), { status: 421, same: /"Code":421/ }, url);
    }
  });
  await t.test("the page can read everything where any host is served", async (t) => {
    const portico = await install(t, { PORTICO_HTTP_HOSTS: "*" });
    t.match(await readRebound(browser, portico.address("HTTP")), { same: /Hello page/ });
  });
});

/**
 * Opens the port by the name of another host, and calls it from there. The browser takes both for
 * one origin.
 */
async function readRebound(browser: Browser, url: string): Promise<{ status: number | undefined; same: string }> {
  const page = await browser.newPage();
  const { port } = new URL(url);
  const response = await page.goto(`http://evil.example:${port}/livez`);
  const same = await page.evaluate<string>(`fetch("/helloworld/call?name=page").then((answer) => answer.text())`);
  await page.close();
  return { status: response?.status(), same };
}

async function attack(page: Page, from: string, portico: Portico): Promise<{ read: string; opened: boolean }> {
  await page.goto(from);
  return page.evaluate(`(${ATTACK})(${JSON.stringify(portico.address("HTTP"))})`);
}

/** Serves an empty page for any host name. */
async function serve(t: Test): Promise<number> {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<body>"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function install(t: Test, env: Record<string, string>): Promise<Portico> {
  const data = { PORTICO_DATA: join(t.testdir({}), "data"), PORTICO_ADMIN_PASSWORD: PASSWORD };
  const portico = await start(["server"], { ...data, PORTICO_LOG_LEVEL: "info", PORTICO_DRAIN_NOTICE: "0s", ...env });
  t.teardown(() => portico.stop());
  return portico;
}

/** The lines of the access log. */
function requests(portico: Portico): { method: string; status: number; endpoint?: string; path?: string }[] {
  const lines = portico
    .errors()
    .split("\n")
    .filter((line) => line.includes('"status":'));
  return lines
    .map((line) => JSON.parse(line))
    .map(({ method, status, endpoint, path }) => ({ method, status, endpoint, path }));
}
