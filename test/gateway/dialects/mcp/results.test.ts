// The result of a tool call: the response as an object and as text, with every digit, and an
// endpoint's error as a result.
import t from "tap";
import { deploy } from "../../deployment.js";
import { type Answered, send } from "./client.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { handler, logged } = deployment;
const callTool = (name: string, args: string): Promise<Answered> => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const message = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { _meta, name, arguments: 0 },
  });
  return send(handler, "tools/call", { name }, { text: message.replace('"arguments":0', `"arguments":${args}`) });
};

t.test("the response, as an object and as text", async (t) => {
  const { status, body } = await callTool("probe.Call", '{"text":"ä\\"\\\\}{","words":["a","b"]}');
  t.equal(status, 200);
  const { structuredContent, content, isError } = body.result;
  t.match(structuredContent, { text: 'ä"\\}{', words: ["a", "b"] });
  t.strictSame(JSON.parse(content[0].text), structuredContent);
  t.equal(isError, undefined);
});

t.test("a number keeps all its digits", async (t) => {
  const { body } = await callTool("probe.Call", '{"big":9223372036854775807}');
  t.equal(body.result.structuredContent.big, "9223372036854775807");
});

const FAILED: [title: string, name: string, args: string, code: number, detail: RegExp][] = [
  ["arguments that do not fit", "probe.Call", '{"nope":1}', 400, /nope: no such field/],
  ["an error of the endpoint", "probe.Fail", '{"code":5,"message":"no such book"}', 404, /no such book/],
  ["a code of the service's own", "probe.Fail", '{"code":2027,"message":"no such tuple"}', 500, /^no such tuple$/],
  ["a 401 of the endpoint", "probe.Fail", '{"code":16,"message":"log in there"}', 401, /log in there/],
  ["a response that is no message", "probe.Break", "{}", 502, /a valid probe.Fields/],
];
for (const [title, name, args, code, detail] of FAILED) {
  t.test(`${title} becomes a result with the error`, async (t) => {
    const { status, body } = await callTool(name, args);
    t.equal(status, 200);
    t.equal(body.result.isError, true);
    t.equal(body.result.structuredContent, undefined);
    const error = JSON.parse(body.result.content[0].text);
    t.match(error, { Id: "probe", Code: code, Detail: detail });
    t.match(logged.at(-1), { status: code, dialect: "mcp" }, "and is logged with its own status");
  });
}

t.test("a tool call is logged as a call of its endpoint", async (t) => {
  await callTool("helloworld.Call", '{"name":"Ada"}');
  t.match(logged.at(-1), { endpoint: "helloworld:Helloworld.Call", dialect: "mcp", status: 200, namespace: "default" });
});

for (const name of ["nope", "", "probe", "probe.", "probe.call", "helloworld.Helloworld.Nope"]) {
  t.test(`no tool is named ${JSON.stringify(name)}`, async (t) => {
    t.match((await callTool(name, "{}")).body.error, { code: -32602, message: `Unknown tool: ${name}` });
  });
}

t.test("a tool may be called by its full name", async (t) => {
  const { body } = await callTool("helloworld.Helloworld.Call", '{"name":"Ada"}');
  t.equal(body.result.structuredContent.message, "Hello Ada");
});
