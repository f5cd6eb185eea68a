// A response that exceeds the maximum size of a message, on the wire or as JSON, gets an error that
// says so in every dialect. The service has no defect, and the caller can ask for less.
import t from "tap";
import { rawService } from "../../rpc/raw-service.js";
import { deploy } from "../deployment.js";

t.test("a response that is too large as JSON", async (t) => {
  const deployment = await deploy(t.testdir(), { maxMessage: 20 });
  t.teardown(() => deployment.close());
  // Each of these characters takes six bytes of JSON, and the response contains the name twice.
  const name = "\u0001".repeat(16);
  const url = `http://127.0.0.1:${deployment.gateway.address.port}/helloworld`;
  for (const [endpoint, fields, accept] of [
    ["call", { name }, "application/json"],
    ["stream", { name, messages: 1 }, "application/x-ndjson"],
    ["stream", { name, messages: 1 }, "text/event-stream"],
  ] as const) {
    t.test(`${endpoint}, ${accept}`, async (t) => {
      const response = await fetch(`${url}/${endpoint}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: accept },
        body: JSON.stringify(fields),
      });
      t.equal(response.status, 502);
      t.match(
        await response.text(),
        /"Code":502,"Detail":"helloworld responded with too much: the message is larger than 160 bytes as JSON"/,
      );
    });
  }
  t.test("Connect reports resource_exhausted", async (t) => {
    const response = await fetch(`http://127.0.0.1:${deployment.gateway.address.port}/helloworld.Helloworld/Call`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1", "Portico-Service": "helloworld" },
      body: JSON.stringify({ name }),
    });
    t.match(await response.json(), { code: "resource_exhausted", message: /responded with too much/ });
  });
});

t.test("a response that is too large on the wire", async (t) => {
  const large = Buffer.alloc(4 * 2 ** 20 + 1);
  const service = rawService({
    one: () => large,
    async *download() {
      yield Buffer.alloc(0);
      yield large;
    },
  });
  const deployment = await deploy(t.testdir(), { services: [service] });
  t.teardown(() => deployment.close());
  const { gateway, logged, metrics } = deployment;
  const nothing = Buffer.alloc(5);
  const json = { "Content-Type": "application/json" };
  const detail = "raw responded with too much: a message is larger than 4194304 bytes";
  const inErrorObject = `"Code":502,"Detail":"${detail}"`;
  const inTrailers = `grpc-status: 8\r\ngrpc-message: ${detail}`;
  const inConnect = `{"code":"resource_exhausted","message":"${detail}"}`;
  const mcp = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "raw.One", arguments: {} },
  };
  for (const [title, path, headers, body, end] of [
    ["JSON", "/raw/one", json, "{}", inErrorObject],
    ["NDJSON", "/raw/download", json, "{}", `{"error":{"Id":"raw",${inErrorObject}`],
    ["server-sent events", "/raw/download", { ...json, Accept: "text/event-stream" }, "{}", inErrorObject],
    ["gRPC-Web", "/raw.Raw/One", { "Content-Type": "application/grpc-web" }, nothing, inTrailers],
    ["gRPC-Web, a stream", "/raw.Raw/Download", { "Content-Type": "application/grpc-web" }, nothing, inTrailers],
    ["Connect", "/raw.Raw/One", { "Content-Type": "application/proto" }, Buffer.alloc(0), inConnect],
    ["Connect, a stream", "/raw.Raw/Download", { "Content-Type": "application/connect+proto" }, nothing, inConnect],
    ["MCP", "/mcp", { ...json, Accept: "application/json, text/event-stream" }, JSON.stringify(mcp), detail],
  ] as const) {
    t.test(title, async (t) => {
      const response = await fetch(`http://127.0.0.1:${gateway.address.port}${path}`, {
        method: "POST",
        headers,
        body,
      });
      t.match(Buffer.from(await response.arrayBuffer()).toString(), end);
      const endpoint = `raw:Raw.${/one/i.test(path) || title === "MCP" ? "One" : "Download"}`;
      t.match(logged.at(-1), { endpoint, status: 502, failure: detail }, "the log names the endpoint");
    });
  }
  t.test("the metrics count the error for the endpoint", async (t) => {
    t.match(await metrics.text(), /portico_requests_total\{service="raw",endpoint="raw:Raw\.One",code="502"\} 4/);
  });
});
