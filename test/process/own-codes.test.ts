// A service may define any number of status codes. The number of a process's metrics stays the
// same.
import t from "tap";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { Metrics } from "../../src/metrics.js";

t.test("all codes that a service defines share one label", async (t) => {
  const metrics = new Metrics();
  const endpoint = { service: "tuples", name: "tuples:Tuples.Check" } as Endpoint;
  for (let code = 0; code < 1_017; code++) metrics.grpcCall(endpoint, code, 0.001);
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith("portico_grpc_calls_total{"));
  t.equal(lines.length, 18, "those of google.rpc.Code, and one");
  t.match(lines.at(-1), /code="OTHER"\} 1000$/);
});
