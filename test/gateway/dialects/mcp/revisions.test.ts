// Which revision a message uses, and the responses in each: in the revision without sessions, and
// in those that begin with `initialize`.
import t from "tap";
import { deploy } from "../../deployment.js";
import { type Answered, post, STATELESS } from "./client.js";

const { handler, close } = await deploy(t.testdir());
t.teardown(close);

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const META = { [VERSION]: STATELESS, [CAPABILITIES]: {} };
const HEADERS = ["MCP-Protocol-Version", STATELESS, "Mcp-Method", "server/discover"];
const call = (params: object) => ({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { _meta: META, ...params } });
const callHeaders = (name: string) => ["MCP-Protocol-Version", STATELESS, "Mcp-Method", "tools/call", "Mcp-Name", name];
const old = (method: string, params = {}) => ({ jsonrpc: "2.0", id: 7, method, params });
const discover = (_meta: object) => ({ jsonrpc: "2.0", id: 7, method: "server/discover", params: { _meta } });
const all = [STATELESS, "2025-11-25", "2025-06-18", "2025-03-26"];

const CASES: {
  title: string;
  message: unknown;
  headers?: readonly string[];
  status?: number;
  code?: number;
  data?: object;
  result?: object;
}[] = [
  { title: "discovery", message: discover(META), headers: HEADERS, result: { supportedVersions: all } },
  {
    title: "metadata without the client's name",
    message: discover({ ...META, "io.modelcontextprotocol/clientInfo": undefined }),
    headers: HEADERS,
    result: { resultType: "complete" },
  },
  { title: "no metadata", message: discover({}), headers: HEADERS, status: 400, code: -32602 },
  {
    title: "metadata without capabilities",
    message: discover({ [VERSION]: STATELESS }),
    headers: HEADERS,
    status: 400,
    code: -32602,
  },
  { title: "no headers", message: discover(META), status: 400, code: -32020 },
  {
    title: "no header for the method",
    message: discover(META),
    headers: HEADERS.slice(0, 2),
    status: 400,
    code: -32020,
  },
  {
    title: "a header for another method",
    message: discover(META),
    headers: [...HEADERS.slice(0, 3), "tools/list"],
    status: 400,
    code: -32020,
  },
  {
    title: "the method's header twice",
    message: discover(META),
    headers: [...HEADERS, "Mcp-Method", "server/discover"],
    status: 400,
    code: -32020,
  },
  {
    title: "another revision in the header",
    message: discover(META),
    headers: ["MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "server/discover"],
    status: 400,
    code: -32020,
  },
  {
    title: "an unknown revision",
    message: discover({ ...META, [VERSION]: "1900-01-01" }),
    headers: ["MCP-Protocol-Version", "1900-01-01"],
    status: 400,
    code: -32022,
    data: { supported: all, requested: "1900-01-01" },
  },
  {
    title: "an unknown revision only in the header",
    message: old("tools/list"),
    headers: ["MCP-Protocol-Version", "1900-01-01"],
    status: 400,
    code: -32022,
  },
  {
    title: "the name of another tool in the header",
    message: call({ name: "helloworld.Call" }),
    headers: callHeaders("probe.Call"),
    status: 400,
    code: -32020,
  },
  {
    title: "the tool's name in base64",
    message: call({ name: "helloworld.Call", arguments: { name: "Ada" } }),
    headers: callHeaders("=?base64?aGVsbG93b3JsZC5DYWxs?="),
    result: { structuredContent: { message: "Hello Ada", msg: "Hello Ada" } },
  },
  {
    title: "a method that was removed",
    message: { ...discover(META), method: "ping" },
    headers: ["MCP-Protocol-Version", STATELESS, "Mcp-Method", "ping"],
    status: 404,
    code: -32601,
  },
  {
    title: "initialize with a supported revision",
    message: old("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    }),
    result: { protocolVersion: "2025-06-18", capabilities: { tools: {} } },
  },
  {
    title: "initialize with an unsupported revision",
    message: old("initialize", { protocolVersion: "2024-11-05" }),
    result: { protocolVersion: "2025-11-25" },
  },
  { title: "an older ping", message: old("ping"), headers: ["MCP-Protocol-Version", "2025-11-25"], result: {} },
  { title: "an older message without any header", message: old("ping"), result: {} },
  { title: "an older unknown method", message: old("prompts/list"), status: 200, code: -32601 },
  { title: "a notification", message: { jsonrpc: "2.0", method: "notifications/initialized" }, status: 202 },
  { title: "a batch", message: [old("ping")], status: 400, code: -32600 },
  { title: "a response", message: { jsonrpc: "2.0", id: 1, result: {} }, status: 400, code: -32600 },
  { title: "another protocol", message: { id: 1, method: "ping" }, status: 400, code: -32600 },
  { title: "an id that is null", message: { ...old("ping"), id: null }, status: 400, code: -32600 },
  { title: "params that are a list", message: { ...old("ping"), params: [] }, status: 400, code: -32602 },
];

for (const { title, message, headers, status = 200, code, data, result } of CASES) {
  t.test(title, async (t) => {
    const response: Answered = await post(handler, message, headers === undefined ? {} : { headers });
    t.equal(response.status, status);
    if (code !== undefined) t.match(response.body.error, { code, ...(data && { data }) });
    if (result !== undefined) t.match(response.body, { jsonrpc: "2.0", id: 7, result });
    if (status === 202) t.equal(response.body, undefined);
  });
}

t.test("a body that is not JSON", async (t) => {
  const { status, body } = await post(handler, undefined, { text: "{" });
  t.equal(status, 400);
  t.match(body, { error: { code: -32700 } });
});
