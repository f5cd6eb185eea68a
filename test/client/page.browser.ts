// The package's portico/client in a page of another origin, in a real browser: loaded from dist/,
// and bundled from the package's export.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { deploy, login } from "../gateway/deployment.js";
import { Feed } from "../gateway/dialects/json/streams/feed.js";
import { launch } from "../gateway/web/browser.js";

/** Runs in the page: calls of every shape, with the client in a module. */
const CALLS = `async (module, options) => {
  const { Portico, PorticoClient, PorticoError } = await import(module);
  class FeedClient extends PorticoClient {
    feed = this.bind("feed", {
      count: { path: "/feed/Count", shape: "server" },
      chat: { path: "/feed/Chat", shape: "bidi" },
      collect: { path: "/feed/Collect", shape: "client" },
    });
  }
  const { helloworld } = new Portico(options);
  const { feed } = new FeedClient(options);
  const collect = async (messages) => {
    const all = [];
    for await (const message of messages) all.push(message);
    return all;
  };
  const errorOf = async (call) => {
    const error = await call.then((answer) => { throw new Error("answered: " + JSON.stringify(answer)); }, (error) => error);
    const { name, message, Id, Code, Detail, Status } = error;
    return error instanceof PorticoError ? { Id, Code, Detail, Status } : { name, message };
  };
  async function* ticksUntil(signal) {
    yield { number: 1n };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }
  const aborted = async (messages, controller) => {
    await messages.next();
    controller.abort(new Error("enough"));
    return errorOf(messages.next());
  };
  const [one, two] = [new AbortController(), new AbortController()];
  return {
    unary: await helloworld.call({ name: "Ada" }),
    server: await collect(feed.count({ messages: 2 })),
    client: await feed.collect([{ number: 1n }, { number: "2" }]),
    bidi: await collect(feed.chat([{ number: 1n }, { number: 2n }])),
    abortedServer: await aborted(feed.count({ messages: 1, hang: true }, { signal: one.signal }), one),
    abortedBidi: await aborted(feed.chat(ticksUntil(two.signal), { signal: two.signal }), two),
    late: await errorOf(helloworld.call({}, { timeout: 0.001 })),
    failed: await errorOf(collect(feed.count({ messages: 1, code: 5 }))),
    refused: await errorOf(new Portico({ ...options, token: "pta_wrong" }).helloworld.call({})),
    refusedBidi: await errorOf(collect(new FeedClient({ ...options, token: "pta_wrong" }).feed.chat([{}]))),
  };
}`;

const unauthorized = (resource: string, Id: string) => {
  return { Id, Code: 401, Detail: `Unauthorized call made to ${resource}`, Status: "Unauthorized" };
};
const ticks = ["1", "2"].map((number) => ({ number, padding: "" }));
const EXPECTED = {
  unary: { message: "Hello Ada", msg: "Hello Ada" },
  server: ticks,
  client: { count: "2", total: "3" },
  bidi: ticks,
  abortedServer: { name: "Error", message: "enough" },
  abortedBidi: { name: "Error", message: "enough" },
  late: { Id: "helloworld", Code: 504, Status: "Gateway Timeout" },
  failed: { Id: "feed", Code: 404, Detail: "as told", Status: "Not Found" },
  refused: unauthorized("helloworld:Helloworld.Call", "helloworld"),
  refusedBidi: unauthorized("feed:Feed.Chat", "feed"),
};

t.test("the package's client in a page", async (t) => {
  const origin = await servePage(t);
  const page = await (await launch(t)).newPage();
  await page.goto(origin);

  await t.test("calls a gateway that allows its origin", async (t) => {
    const { feed, options } = await openTestGateway(t, origin);
    for (const module of ["/dist.js", "/bundle.js"]) t.match(await run(page, module, options), EXPECTED, module);
    await feed.idle();
  });

  await t.test("is refused by a gateway that does not allow its origin", async (t) => {
    const { options } = await openTestGateway(t, "http://other.example");
    const error = `async (module, options) => {
      const { Portico } = await import(module);
      const { name, Code, Detail } = await new Portico(options).helloworld.call({}).catch((error) => error);
      return { name, Code, Detail };
    }`;
    const { url } = options;
    const refused = { name: "PorticoError", Code: 503, Detail: `No response from ${url}: Failed to fetch` };
    t.same(await page.evaluate(`(${error})("/dist.js", ${JSON.stringify(options)})`), refused);
  });
});

function run(page: Page, module: string, options: object): Promise<unknown> {
  return page.evaluate(`(${CALLS})(${JSON.stringify(module)}, ${JSON.stringify(options)})`);
}

async function openTestGateway(t: Test, cors: string) {
  const feed = new Feed();
  const { handler, gateway, close } = await deploy(t.testdir(), { services: [feed.service], flags: { cors } });
  t.teardown(close);
  const options = { url: `http://127.0.0.1:${gateway.address.port}`, token: await login(handler, "admin") };
  return { feed, options };
}

/** Serves an empty page and the client's modules. */
async function servePage(t: Test): Promise<string> {
  const bundled = await build({
    stdin: { contents: 'export * from "portico/client";', resolveDir: process.cwd() },
    ...{ bundle: true, minify: true, format: "esm", platform: "browser", write: false },
  });
  const files: Readonly<Record<string, string>> = {
    "/dist.js": readFileSync("dist/client/index.js", "utf8"),
    "/bundle.js": bundled.outputFiles[0]?.text ?? "",
  };
  const server = createServer(({ url = "" }, response) => {
    const script = files[url];
    response.setHeader("content-type", script === undefined ? "text/html" : "text/javascript");
    response.end(script ?? "<body>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
