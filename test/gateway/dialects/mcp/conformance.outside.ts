// The protocol's own conformance suites, and its official client: over HTTP and by `portico mcp`,
// with and without sessions.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { npmPackages, run } from "../../../outside/tools.js";
import { deferred } from "../../../support/deferred.js";
import { FULL } from "../../../support/full.js";
import { login } from "../../deployment.js";
import { createRule, scene } from "../json/streams/client.js";

const scenery = await scene(t);
const url = `http://127.0.0.1:${scenery.port}/mcp`;

/** The suites need a newer Node than the oldest version that Portico supports. */
const NODE = "node@22.23.3";

/**
 * The scenarios of the suites about tools, which is what the gateway offers. The other scenarios
 * ask a server for prompts, resources, logging, or tools of certain names that return images or
 * questions.
 */
const SUITES: { title: string; packages: string[]; scenarios: string[]; version?: string }[] = [
  {
    title: "of the revisions with initialize",
    packages: ["@modelcontextprotocol/conformance@0.1.16", NODE],
    scenarios: ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
  },
  {
    title: "of the revision without sessions",
    packages: ["@modelcontextprotocol/conformance@0.2.0-alpha.12", NODE],
    scenarios: ["server-stateless", "http-header-validation", "tools-list", "dns-rebinding-protection"],
    version: "2026-07-28",
  },
];

/** Checks that need a tool of a certain name. The suite says that it could not run them. */
const NOT_TESTABLE = new Set([
  "sep-2575-server-rejects-undeclared-capability",
  "sep-2575-missing-capability-http-400",
  "sep-2575-http-server-no-independent-requests-on-stream",
  "sep-2575-server-no-log-without-loglevel",
]);

for (const { title, packages, scenarios, version } of SUITES) {
  t.test(`the conformance suite ${title}`, async (t) => {
    const modules = join(npmPackages(...packages), "node_modules");
    const node = join(modules, "node", "bin", "node");
    const program = join(modules, "@modelcontextprotocol/conformance/dist/index.js");
    for (const scenario of FULL ? scenarios : scenarios.slice(0, 2)) {
      const asked = version === undefined ? [] : ["--spec-version", version];
      const { output } = await run(node, [program, "server", "--url", url, "--scenario", scenario, ...asked]);
      const checks = [...output.matchAll(/\[([\w-]+) *\] \S*?(SUCCESS|FAILURE)/g)].map(([, id, result]) => ({
        id,
        result,
      }));
      t.ok(checks.length > 0, `${scenario} made ${checks.length} checks`);
      const failed = checks.filter(({ id, result }) => result === "FAILURE" && !NOT_TESTABLE.has(String(id)));
      t.strictSame(failed, [], scenario);
    }
  });
}

const folder = npmPackages("@modelcontextprotocol/client@2.4.0");
const entry = (file: string) =>
  pathToFileURL(join(folder, "node_modules/@modelcontextprotocol/client/dist", file)).href;
const { Client, StreamableHTTPClientTransport } = await import(entry("index.mjs"));
const { StdioClientTransport } = await import(entry("stdio.mjs"));

const token = await login(scenery.handler, "admin");
const overHttp = () =>
  new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
const byProgram = () =>
  new StdioClientTransport({
    command: process.execPath,
    args: [join("dist", "portico.js"), "mcp", "--url", new URL(url).origin],
    env: { PATH: process.env.PATH, PORTICO_TOKEN: token, XDG_CONFIG_HOME: "/nonexistent" },
  });

type Tool = { readonly name: string; readonly description: string };

const CLIENTS: [title: string, connect: () => unknown, options: object, revision: string][] = [
  ["over HTTP", overHttp, { versionNegotiation: { mode: "auto" } }, "2026-07-28"],
  ["over HTTP, with initialize", overHttp, {}, "2025-11-25"],
  ["by portico mcp", byProgram, { versionNegotiation: { mode: "auto" } }, "2026-07-28"],
  ["by portico mcp, with initialize", byProgram, {}, "2025-11-25"],
];

for (const [title, connect, options, revision] of CLIENTS) {
  t.test(`the official client ${title}`, async (t) => {
    const client = new Client({ name: "test", version: "1" }, options);
    await client.connect(connect());
    t.teardown(() => client.close());
    t.equal(client.getNegotiatedProtocolVersion(), revision);
    const { tools } = await client.listTools();
    t.ok(tools.some(({ name }: { name: string }) => name === "helloworld.Call"));
    const greeting = await client.callTool({ name: "helloworld.Call", arguments: { name: "Ada" } });
    t.equal(greeting.structuredContent.message, "Hello Ada");
    const counted = await client.callTool({ name: "feed.Count", arguments: { messages: "2" } });
    t.match(counted.structuredContent, { messages: [{ number: "1" }, { number: "2" }], truncated: false });
    await t.rejects(client.callTool({ name: "nope", arguments: {} }), { message: /Unknown tool/ });
  });
}

t.test("an agent finds a tool, calls it, is refused by a rule, and loses the tool while it is connected", async (t) => {
  const { promise, resolve } = deferred<string[]>();
  const client = new Client(
    { name: "agent", version: "1" },
    {
      versionNegotiation: { mode: "auto" },
      listChanged: {
        tools: { onChanged: (_error: unknown, tools: { name: string }[]) => resolve(tools.map(({ name }) => name)) },
      },
    },
  );
  await client.connect(overHttp());
  t.teardown(() => client.close());
  const { tools } = await client.listTools();
  const found = tools.find(({ name, description }: Tool) => name.startsWith("hello") && /greets/i.test(description));
  const { content } = await client.callTool({ name: found.name, arguments: { name: "Grace" } });
  t.match(content, [{ type: "text", text: /Hello Grace/ }]);
  await createRule(scenery, {
    ...{ id: "no-greeting", scope: "*", access: "DENIED", resource: "service:helloworld:*", priority: 20 },
  });
  await t.rejects(client.callTool({ name: found.name, arguments: { name: "Grace" } }), {
    message: /Insufficient scope/,
    errorDescription: /^Forbidden call made to helloworld:Helloworld.Call by admin$/,
  });
  t.notOk((await promise).includes("helloworld.Call"), "the client was told that its tools have changed");
});
