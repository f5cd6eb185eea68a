// Whatever schemathesis sends to the built-in services, the responses match their documents, and
// none is a 5xx.
import t, { type Test } from "tap";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { disagreements, type TestGateway } from "../gateway/openapi/schemathesis.js";
import { installation } from "../support/installation.js";
import { administrator, start } from "../support/process.js";

async function openAll(t: Test): Promise<TestGateway> {
  const data = await installation(t.testdir());
  const server = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => server.stop());
  const url = server.address("HTTP");
  const { authorization } = await administrator(url, data);
  return { url, token: authorization.replace("Bearer ", "") };
}

// A plain request does not end these streams. A service also has rules that no type expresses, so
// it may refuse a request that matches its document.
const args = [
  "--max-examples=8",
  "--include-path-regex=^/v1/",
  "--exclude-path-regex=(Stream|Events|Consume)$",
  "--exclude-checks=positive_data_acceptance",
];
const services = Object.keys(BUILT_IN_SERVICES).filter((name) => name !== "helloworld");
t.ok(services.length >= 10);
await disagreements(
  services.map((service) => ({ title: service, service, args })),
  openAll,
);
