// A caller that may call more than 40 endpoints gets a list of three tools that find, describe and
// call them.
import t from "tap";
import { until } from "../../../support/until.js";
import { deploy } from "../../deployment.js";
import { type Answered, send } from "./client.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { handler } = deployment;
for (let number = 1; number <= 20; number++) deployment.add({ service: `library-${number}`, id: String(number) });
await until(() => deployment.catalog.routes.targetsOf("library-20") !== undefined);

const callTool = (name: string, args: object): Promise<Answered> =>
  send(handler, "tools/call", { name, arguments: args });

t.test("the list", async (t) => {
  const { body } = await send(handler, "tools/list");
  t.strictSame(
    body.result.tools.map(({ name }: { name: string }) => name),
    ["search_endpoints", "describe_endpoint", "call_endpoint"],
  );
});

t.test("a search by words of the name", async (t) => {
  const { body } = await callTool("search_endpoints", { query: "library-7 call" });
  const { endpoints, truncated } = body.result.structuredContent;
  t.strictSame(endpoints[0], { name: "library-7.Call", description: "Greets a name." });
  t.equal(endpoints.length, 20);
  t.equal(truncated, true);
});

t.test("a search by a word of the description", async (t) => {
  const { body } = await callTool("search_endpoints", { query: "greets" });
  t.equal(body.result.structuredContent.endpoints[0].description, "Greets a name.");
});

t.test("a search without a result", async (t) => {
  const { body } = await callTool("search_endpoints", { query: "zebra" });
  t.strictSame(body.result.structuredContent, { endpoints: [], truncated: false });
});

t.test("a description", async (t) => {
  const { body } = await callTool("describe_endpoint", { name: "helloworld.Call" });
  t.match(body.result.structuredContent, { name: "helloworld.Call", inputSchema: { properties: { name: {} } } });
});

t.test("a call, by call_endpoint and by its own name", async (t) => {
  const byFinder = await callTool("call_endpoint", { name: "helloworld.Call", arguments: { name: "Ada" } });
  t.equal(byFinder.body.result.structuredContent.message, "Hello Ada");
  const byName = await callTool("helloworld.Call", { name: "Ada" });
  t.equal(byName.body.result.structuredContent.message, "Hello Ada");
});

const WRONG: [title: string, name: string, args: object, message: RegExp][] = [
  ["a name that is not a string", "describe_endpoint", { name: 1 }, /params.arguments.name must be a string/],
  ["an unknown endpoint", "call_endpoint", { name: "nope.Nope" }, /Unknown tool: nope.Nope/],
  ["arguments that are a list", "call_endpoint", { name: "helloworld.Call", arguments: [] }, /must be an object/],
  ["a finder called by a finder", "call_endpoint", { name: "search_endpoints" }, /Unknown tool/],
];
for (const [title, name, args, message] of WRONG) {
  t.test(title, async (t) => t.match((await callTool(name, args)).body.error, { code: -32602, message }));
}
