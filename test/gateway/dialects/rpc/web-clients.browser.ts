// The published web clients of gRPC-Web and of Connect in a real browser: on a page of the
// gateway's origin and on a cross-origin page, over HTTP/1.1 and over HTTP/2 with TLS.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import t, { type Test } from "tap";
import { createAuthority } from "../../../http2/certificates.js";
import { FULL } from "../../../support/full.js";
import { inTime, until } from "../../../support/until.js";
import type { DeployOptions } from "../../deployment.js";
import { launch, trusting } from "../../web/browser.js";
import { createRule, type Scene, scene } from "../json/streams/client.js";
import { bundleClients, CLIENTS, EXPECTED } from "./web-pages.js";

/** Maximum time of all attempts of a client, in milliseconds. */
const TIME = 60_000;

interface TestGateway {
  readonly title: string;
  /** The origin of the page; undefined for the gateway's own. */
  readonly origin?: string;
  readonly options?: DeployOptions;
}

t.test("the official web clients", async (t) => {
  const script = await bundleClients(t);
  const own = createAuthority("authority").issue("localhost");
  const browser = await launch(t, trusting(own));
  const origin = await serve(t, script);
  const gateways: readonly TestGateway[] = [
    { title: "on a page of an origin that may call", origin, options: { flags: { cors: origin } } },
    { title: "on a page of the same origin, over HTTP/2", options: { tls: own } },
    ...(FULL ? moreGateways(origin) : []),
  ];
  for (const gateway of gateways) await t.test(gateway.title, (t) => tryAll(t, browser, gateway, script));
});

/** More gateways for full runs. */
function moreGateways(origin: string): readonly TestGateway[] {
  return [
    { title: "on a page of the same origin" },
    { title: "on a page of an origin, where all may call", origin, options: { flags: { cors: "*" } } },
  ];
}

async function tryAll(t: Test, browser: Browser, { origin, options = {} }: TestGateway, script: string): Promise<void> {
  const it = await scene(t, {
    ...options,
    own: [{ roots: ["/console"], reply: (path) => pageAt(path, script) }],
  });
  await createRule(it, { id: "feed", scope: "<public>", resource: "service:feed:*", access: "GRANTED", priority: 1 });
  const url = `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${it.port}`;
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const page = await context.newPage();
  await page.goto(`${origin ?? url}/console/page`);
  for (const { name, isStreaming } of CLIENTS) {
    const tried = page.evaluate(`import("/console/clients.js").then(({ tryClient, toError }) =>
      tryClient(${JSON.stringify({ name, isStreaming, url, token: it.admin })}).catch((thrown) => { throw toError(thrown); }))`);
    t.hasStrict(await inTime(tried, name, TIME), { ...EXPECTED, cancelled: isStreaming }, name);
    await until(() => it.feed.open === 0, { what: () => `no open call at the service; ${it.feed.open}` });
  }
  checkRequests(t, it);
  if (options.tls !== undefined) t.same(await protocolsOf(page, "/probe.Probe/Call"), ["h2"]);
}

/**
 * Each call used its own dialect, and only a call that is declared free of side effects was a GET.
 */
function checkRequests(t: Test, { logged }: Scene): void {
  const calls = logged.filter(({ endpoint }) => /^(?:probe|feed):/.test(`${endpoint}`));
  t.same(new Set(calls.map(({ dialect }) => dialect)), new Set(["connect", "grpc-web"]));
  const gets = calls.filter(({ method }) => method === "GET").map(({ endpoint }) => endpoint);
  t.same(new Set(gets), new Set(["probe:Probe.Tell"]));
}

/** The protocols (ALPN) over which the page requested a path. */
async function protocolsOf(page: Page, path: string): Promise<string[]> {
  const entries = await page.evaluate<{ name: string; nextHopProtocol: string }[]>(
    `performance.getEntriesByType("resource").map(({ name, nextHopProtocol }) => ({ name, nextHopProtocol }))`,
  );
  return [...new Set(entries.filter(({ name }) => name.includes(path)).map((entry) => entry.nextHopProtocol))];
}

/** An empty page, and the module with the clients. */
function pageAt(path: string, script: string) {
  if (path === "/console/page") return { status: 200, contentType: "text/html", body: "<body>" };
  return path === "/console/clients.js" ? { status: 200, contentType: "text/javascript", body: script } : undefined;
}

/** The same page at another origin. */
async function serve(t: Test, script: string): Promise<string> {
  const server = createServer(({ url = "" }, response) => {
    const { status, contentType, body } = pageAt(url, script) ?? { status: 404, contentType: "text/plain", body: "" };
    response.writeHead(status, { "content-type": contentType }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
