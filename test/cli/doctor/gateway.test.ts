// What `portico doctor` finds at a running server, on its machine and from its callers.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import type { Finding } from "../../../cli/doctor/finding.js";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, call, start } from "../../support/process.js";
import { portico } from "../command-line.js";

const data = await installation(t.testdir());
const ports = {
  PORTICO_HTTP: `127.0.0.1:${await freePort()}`,
  PORTICO_GRPC: `127.0.0.1:${await freePort()}`,
  PORTICO_ADMIN: `127.0.0.1:${await freePort()}`,
};
const server = await start(["server"], { PORTICO_DATA: data, ...ports });
t.teardown(() => server.stop());
const url = server.address("HTTP");

async function examine(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { exit, stdout } = await portico(["doctor", ...words, "-o", "json"], { env });
  const findings = JSON.parse(stdout) as readonly Finding[];
  const of = (wanted: string) => findings.filter(({ check }) => check === wanted);
  return { exit, findings, of };
}

t.test("a healthy server has no problem, and a call reaches a service", async (t) => {
  const { exit, findings, of } = await examine(["server"], { PORTICO_DATA: data, PORTICO_URL: "", ...ports });
  t.equal(exit, 0);
  t.same(
    findings.filter(({ state }) => state === "problem" || state === "warning"),
    [],
  );
  t.match(
    of("ports"),
    [/HTTP/, /GRPC/, /ADMIN/].map((text) => ({ state: "ok", text })),
  );
  t.match(of("ports").at(0)?.text, /^Portico responds at/);
  t.match(of("store").at(0), { state: "ok", text: /portico\.sqlite opens; an authority uses it$/ });
  t.match(of("ready"), [{ state: "ok" }]);
  t.match(of("call"), [{ state: "ok", text: /^A call of helloworld took \d+ ms$/ }]);
});

t.test("a caller elsewhere learns what was not checked, and why", async (t) => {
  const { exit, of } = await examine(["--url", url]);
  t.equal(exit, 0);
  t.match(of("machine"), [{ state: "unchecked", text: /run there, such as: portico doctor server/ }]);
  t.match(of("token"), [{ state: "unchecked", text: `Log in: portico login --url ${url}` }]);
  t.match(of("versions"), [{ state: "ok" }, { state: "ok", text: /^The gateway and this program are Portico / }]);
});

t.test("a token that is valid, and one that is not", async (t) => {
  const { authorization } = await administrator(url, data);
  const valid = await examine(["--url", url], { PORTICO_TOKEN: authorization.replace("Bearer ", "") });
  t.match(valid.of("token"), [{ state: "ok" }]);
  t.equal(valid.exit, 0);
  const wrong = await examine(["--url", url], { PORTICO_TOKEN: "pta_nonsense" });
  t.match(wrong.of("token"), [{ state: "problem", text: `Log in: portico login --url ${url}` }]);
  t.equal(wrong.exit, 1);
  t.notMatch(JSON.stringify(wrong.findings), "pta_nonsense");
});

t.test("an enrolment token that is valid, and one that is not", async (t) => {
  const free = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0", PORTICO_AUTHORITY: ports.PORTICO_GRPC };
  const valid = await examine(["gateway", "--data", data], free);
  t.match(valid.of("authority"), [{ state: "ok" }]);
  const wrong = await examine(["gateway"], { ...free, PORTICO_ENROLMENT: "nonsense" });
  const text =
    /does not accept the enrolment token .* Create one where it runs: portico auth create enrolment gateway$/;
  t.match(wrong.of("authority"), [{ state: "problem", text }]);
});

t.test("another server than Portico", async (t) => {
  const other = createServer((_, response) => response.end("hello"));
  await once(other.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => other.close());
  const { exit, of } = await examine(["--url", `http://127.0.0.1:${(other.address() as AddressInfo).port}`]);
  t.match(of("gateway"), [{ state: "problem", text: /^Not Portico, .*: correct the address or the proxy$/ }]);
  t.equal(exit, 1);
});

t.test("a gateway that does not run", async (t) => {
  const { exit, of } = await examine(["--url", "http://127.0.0.1:1"]);
  t.match(of("gateway"), [{ state: "problem", text: /does not respond at .* Start it with: portico server/ }]);
  t.equal(exit, 1);
});

t.test("a role's words are checked before anything else", async (t) => {
  for (const words of [["gatway"], ["service"], ["server", "helloworld"]])
    t.equal((await portico(["doctor", ...words])).exit, 2);
});

t.test("a call that rules refuse", async (t) => {
  const { authorization } = await administrator(url, data);
  const denied = {
    id: "nobody",
    scope: "<public>",
    access: "DENIED",
    resource: "service:helloworld:Helloworld.Call",
    priority: 9,
  };
  const { status } = await call(`${url}/v1/auth/Rules/Create`, { rule: denied }, { authorization });
  t.equal(status, 200);
  const { of } = await examine(["--url", url]);
  const text = /failed: Unauthorized .*See which rule decides: portico auth explain helloworld:Helloworld\.Call$/;
  t.match(of("call"), [{ state: "problem", text }]);
});
