// `portico mcp` calls with the login of `portico login --web`. The official client of MCP talks to
// it, while its access token and then its grant end.
import { PassThrough } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import t from "tap";
import { Profile } from "../../../cli/http/profile.js";
import { linesOf } from "../../../cli/http/request.js";
import { run } from "../../../cli/program.js";
import { openDoor } from "../../oauth/browser.js";
import { ioOf } from "../command-line.js";
import { loginByWeb } from "../login-by-web.js";

const CALLS = 5;

/** The client, connected to a running `portico mcp` by its standard input and output. */
async function agentOf(env: NodeJS.ProcessEnv) {
  const { io } = ioOf({ env });
  const stdin = Object.assign(new PassThrough(), { isTTY: false });
  const ended = run(["mcp"], { ...io, stdin });
  const transport = {
    async start() {
      void (async () => {
        for await (const line of linesOf(io.stdout as PassThrough)) transport.onmessage?.(JSON.parse(line.toString()));
      })();
    },
    send: async (message: unknown) => void stdin.write(`${JSON.stringify(message)}\n`),
    close: async () => void stdin.end(),
    onmessage: undefined as ((message: unknown) => void) | undefined,
  };
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(transport as never);
  return { client, ended };
}

t.test("an agent calls as who logged in by the web, for as long as the grant lives", async (t) => {
  const door = await openDoor(t);
  await door.auth("Rules/Delete", { id: "default" });
  const rule = { id: "known", scope: "*", access: "GRANTED", resource: "service:helloworld:*", priority: 0 };
  await door.auth("Rules/Create", { rule });
  const env = { PORTICO_URL: door.url, HOME: t.testdir(), XDG_CONFIG_HOME: t.testdir() };
  await loginByWeb(door, env);
  const { client, ended } = await agentOf(env);
  const greet = async () => {
    const { structuredContent } = await client.callTool({ name: "helloworld.Call", arguments: { name: "Ada" } });
    return (structuredContent as { message: string }).message;
  };
  t.match(await client.listTools(), { tools: [{ name: "helloworld.Call" }] });
  t.equal(await greet(), "Hello Ada");

  const tokenOf = (): string => new Profile("default", env).read()?.login?.token ?? "";
  const refreshes = () => door.deployment.decided.filter((resource) => resource === "service:auth:Auth.Refresh").length;
  const [before, old] = [refreshes(), tokenOf()];
  const form = new URLSearchParams({ client_id: "portico-cli", token: old });
  t.equal((await fetch(`${door.url}/oauth/revoke`, { method: "POST", body: form })).status, 200);
  const greetings = await Promise.all(Array.from({ length: CALLS }, greet));
  t.same(greetings, Array(CALLS).fill("Hello Ada"), "calls at once, after the access token has ended");
  t.equal(refreshes() - before, 1, "are renewed once, together");
  t.not(tokenOf(), old);

  const { grants } = await door.auth<{ grants: { id: string }[] }>("Grants/List");
  await door.auth("Grants/Delete", { id: grants[0]?.id });
  const failures = await Promise.allSettled(Array.from({ length: CALLS }, greet));
  t.ok(failures.every(({ status }) => status === "rejected"));
  t.match((failures[0] as PromiseRejectedResult).reason.message, /Your login has ended. Log in again: portico login/);

  await loginByWeb(door, env);
  t.equal(await greet(), "Hello Ada", "a new login holds for the agent that runs");
  await client.close();
  t.equal(await ended, 0);
});
