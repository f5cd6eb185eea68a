// `portico mcp` transfers the lines of an agent to the gateway and back. `portico mcp config`
// prints the settings for an agent.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { Profile } from "../../../cli/http/profile.js";
import { deploy } from "../../gateway/deployment.js";
import { NOWHERE, portico } from "../command-line.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { host, port } = deployment.gateway.address;
const url = `http://${host}:${port}`;

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const message = (id: number | string, method: string, params = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const greet = (id: number, more = {}): string =>
  message(id, "tools/call", { name: "helloworld.Call", arguments: { name: "Ada" }, ...more });

/** What the command writes for these lines, by the ID of the request. */
async function carry(lines: readonly string[], env: NodeJS.ProcessEnv = { PORTICO_URL: url }) {
  const { exit, stdout } = await portico(["mcp"], { stdin: lines.map((line) => `${line}\n`).join(""), env });
  t.equal(exit, 0);
  const responses = stdout.split("\n").filter((line) => line !== "");
  return new Map(responses.map((line) => [JSON.parse(line).id, JSON.parse(line)]));
}

t.test("messages of the protocol version without sessions", async (t) => {
  const responses = await carry([message("d", "server/discover", { _meta: META }), greet(2, { _meta: META })]);
  t.match(responses.get("d"), { result: { supportedVersions: ["2026-07-28"] } });
  t.match(responses.get(2), { result: { structuredContent: { message: "Hello Ada" } } });
});

t.test("messages of an older client", async (t) => {
  const responses = await carry([
    message(1, "initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    }),
    JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
    message(2, "ping"),
    greet(3),
  ]);
  t.match(responses.get(1), { result: { protocolVersion: "2025-06-18" } });
  t.strictSame(responses.get(2), { jsonrpc: "2.0", id: 2, result: {} });
  t.match(responses.get(3), { result: { structuredContent: { message: "Hello Ada" } } });
  t.equal(responses.size, 3, "a notification is not answered");
});

t.test("a name that cannot be in a header", async (t) => {
  const responses = await carry([message(1, "tools/call", { _meta: META, name: "käse\n", arguments: {} })]);
  t.match(responses.get(1), { error: { code: -32602, message: "Unknown tool: käse\n" } });
});

t.test("a line that is not JSON gets an error, and the next line a response", async (t) => {
  const responses = await carry(["{", message(2, "ping")]);
  t.match(responses.get(null), { error: { code: -32700 } });
  t.match(responses.get(2), { result: {} });
});

t.test("a cancelled request gets no response", async (t) => {
  const hang = message(1, "tools/call", { _meta: META, name: "probe.Hang" });
  const cancel = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
  const responses = await carry([hang, cancel, message(2, "ping")]);
  t.strictSame([...responses.keys()], [2]);
});

t.test("a subscription ends with the input", async (t) => {
  const listen = { _meta: META, notifications: { toolsListChanged: true } };
  const responses = await carry([message("s", "subscriptions/listen", listen), message(1, "ping")]);
  t.match(responses.get(1), { result: {} });
});

t.test("a gateway that cannot be reached is an error of each request", async (t) => {
  const responses = await carry([message(1, "ping"), message(2, "ping")], { PORTICO_URL: NOWHERE });
  for (const id of [1, 2]) t.match(responses.get(id), { error: { code: -32603, message: /http:\/\/127.0.0.1:1/ } });
});

t.test("the refusal of a gateway that has not read the message is the response to the request", async (t) => {
  const refused = { jsonrpc: "2.0", id: null, error: { code: 401, message: "The token has expired" } };
  const server = createServer((_, response) => {
    response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify(refused));
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const responses = await carry([message(7, "ping")], { PORTICO_URL: `http://127.0.0.1:${port}` });
  t.strictSame(responses.get(7), { ...refused, id: 7 });
});

t.test("an invalid token", async (t) => {
  const responses = await carry([message(1, "ping")], { PORTICO_URL: url, PORTICO_TOKEN: "ptk_none" });
  t.match(responses.get(1), { error: { message: /PORTICO_TOKEN is wrong, has expired, or was revoked/ } });
});

t.test("the settings of an agent", async (t) => {
  const { stdout, stderr } = await portico(["mcp", "config"], { env: { PORTICO_URL: url } });
  t.strictSame(JSON.parse(stdout), { mcpServers: { portico: { command: "portico", args: ["mcp", "--url", url] } } });
  t.match(stderr, /portico login/);
  const config = t.testdir();
  new Profile("work", { XDG_CONFIG_HOME: config }).write({ url, namespace: "default", account: "bob" });
  const env = { PORTICO_URL: url, XDG_CONFIG_HOME: config };
  const ofProfile = await portico(["mcp", "config", "--profile", "work"], { env });
  t.strictSame(JSON.parse(ofProfile.stdout).mcpServers.portico.args, ["mcp", "--profile", "work"]);
  const argsOf = async (...args: string[]) =>
    JSON.parse((await portico([...args, "mcp", "config"])).stdout).mcpServers.portico.args;
  const below = "https://example.com/portico";
  t.strictSame(await argsOf("--url", `${below}/`), ["mcp", "--url", below], "the path of a proxy stays");
  const inTeam = await argsOf("--url", url, "--namespace", "team-a");
  t.strictSame(
    inTeam,
    ["mcp", "--url", url, "--namespace", "team-a"],
    "the agent calls in the namespace that was given",
  );
});
