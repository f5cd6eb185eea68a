// The pages over https, with a certificate of a private authority that the browser trusts. The
// pages, their calls and their streams use HTTP/2. A WebSocket gets a connection of HTTP/1.1,
// because the gateway does not offer RFC 8441.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import t from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";
import { inTime, until } from "../../support/until.js";
import { checkClean, launch, trusting, visit } from "./browser.js";
import { visitAgain } from "./console-browser.js";

/** The protocols (ALPN) of a page and of all that it loaded or called. */
function protocolsOf(page: Page): Promise<string[]> {
  const entries = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]`;
  // A request that the page has given up has no protocol.
  return page.evaluate<string[]>(
    `[...new Set(${entries}.map(({ nextHopProtocol }) => nextHopProtocol).filter((protocol) => protocol !== ""))]`,
  );
}

/**
 * Runs in the page: sends one message over a WebSocket. Returns its messages until it is closed,
 * and the close code.
 */
const CONVERSE = `async (path, message) => {
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + path);
  const messages = [];
  socket.onopen = () => socket.send(JSON.stringify(message));
  socket.onmessage = ({ data }) => messages.push(JSON.parse(data).message);
  const { code } = await new Promise((resolve) => { socket.onclose = resolve; });
  return { messages, code };
}`;

/** Runs in the page: the first messages of a stream of events. */
const LISTEN = `async (path, count) => {
  const source = new EventSource(path);
  const messages = [];
  await new Promise((resolve, reject) => {
    source.onmessage = ({ data }) => messages.push(JSON.parse(data).message) === count && resolve();
    source.onerror = () => messages.length < count && reject(new Error("the stream broke off"));
  });
  source.close();
  return messages;
}`;

/**
 * Waits until calls are served. On a busy computer the program may start without a lease, and a
 * page that was told so does not ask again.
 */
async function untilServed({ browser, origin }: { readonly browser: Browser; readonly origin: string }): Promise<void> {
  const { request } = await browser.newContext({ ignoreHTTPSErrors: true });
  await until(async () => (await request.get(`${origin}/helloworld/Call`)).status() === 200);
}

t.test("over https", async (t) => {
  const own = createAuthority("authority").issue("localhost");
  const folder = t.testdir({ "own.pem": own.cert, "own.key": own.key });
  const portico = await start(["server"], {
    PORTICO_DATA: await installation(join(folder, "data")),
    PORTICO_OWN_SERVICES: "helloworld",
    PORTICO_HTTP_TLS_CERT: join(folder, "own.pem"),
    PORTICO_HTTP_TLS_KEY: join(folder, "own.key"),
  });
  t.teardown(() => portico.stop());
  const origin = portico.address("HTTP");
  const setting = { browser: await launch(t, trusting(own)), origin };
  await untilServed(setting);

  await t.test("an endpoint is called from its page", async (t) => {
    const watched = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    const { page } = watched;
    await page.getByRole("textbox", { name: "name" }).fill("Ada");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("region", { name: "Response" }).getByText("Hello Ada").first().waitFor();
    t.match(await page.locator(".snippets pre").innerText(), `curl ${origin}/helloworld/Call`);
    t.same(await protocolsOf(page), ["h2"]);
    checkClean(t, watched);
  });

  await t.test("a visitor signs in at the console", async (t) => {
    const { page, watched, signIn, go } = await visitAgain(t, setting, "/console");
    await signIn();
    await go("Rules");
    await page.getByText("default").first().waitFor();
    t.same(await protocolsOf(page), ["h2"]);
    const cookies = await page.context().cookies();
    t.match(cookies, [{ name: /^__Secure-portico-/, secure: true, httpOnly: true, sameSite: "Strict" }]);
    await page.reload();
    await t.resolves(page.locator(".who").waitFor(), "the session survives a reload");
    checkClean(t, watched);
  });

  await t.test("streams of events and lines use HTTP/2", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Stream");
    await page.getByRole("textbox", { name: "messages" }).fill("3");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("complete").waitFor();
    const events = page.evaluate<string[]>(`(${LISTEN})("/helloworld/stream?name=Ada&messages=2", 2)`);
    t.same(await inTime(events, "two events"), ["Hello Ada", "Hello Ada"]);
    t.same(await protocolsOf(page), ["h2"]);
  });

  await t.test("a WebSocket is opened over HTTP/1.1", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    const client = await page.context().newCDPSession(page);
    const handshakes: { status: number; headersText?: string }[] = [];
    await client.send("Network.enable");
    client.on("Network.webSocketHandshakeResponseReceived", ({ response }) => handshakes.push(response));
    const talk = page.evaluate(`(${CONVERSE})("/helloworld/stream", { name: "Ada", messages: 2 })`);
    t.same(await inTime(talk, "the end of the WebSocket"), { messages: ["Hello Ada", "Hello Ada"], code: 1000 });
    t.match(handshakes, [{ status: 101, headersText: /^HTTP\/1\.1 101 / }]);
    t.same(await protocolsOf(page), ["h2"], "beside the connection of the page");
  });
});
