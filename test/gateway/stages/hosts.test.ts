// A port that is bound to loopback serves only loopback names and PORTICO_HTTP_HOSTS. So no web
// page can reach it by making its own host name resolve to this computer (DNS rebinding).
import t from "tap";
import { Hosts } from "../../../gateway/stages/cors.js";
import { loadConfig } from "../../../src/config/config.js";
import { ask, deploy } from "../deployment.js";

const LOOPBACK = "127.0.0.1";
const cases: [bound: string, names: string, host: string | undefined, served: boolean][] = [
  [LOOPBACK, "none", "localhost:8080", true],
  [LOOPBACK, "none", "LOCALHOST", true],
  [LOOPBACK, "none", "shop.localhost:8080", true], // a name that nobody can own (RFC 6761)
  [LOOPBACK, "none", "127.0.0.1:8080", true],
  [LOOPBACK, "none", "127.9.8.7", true],
  [LOOPBACK, "none", "[::1]:8080", true],
  [LOOPBACK, "none", undefined, true], // HTTP/1.0
  [LOOPBACK, "none", "evil.example:8080", false],
  [LOOPBACK, "none", "localhost.evil.example", false],
  [LOOPBACK, "none", "evil-localhost", false],
  [LOOPBACK, "none", "127.0.0.1.evil.example", false],
  [LOOPBACK, "none", "evil@127.0.0.1", false],
  [LOOPBACK, "none", "127.0.0.1:80:80", false],
  [LOOPBACK, "none", "192.0.2.7", false],
  [LOOPBACK, "none", "", false],
  ["::1", "none", "evil.example", false],
  ["localhost", "none", "evil.example", false],
  [LOOPBACK, "api.example.com, [2001:db8::1]", "API.example.com:443", true],
  [LOOPBACK, "api.example.com, [2001:db8::1]", "[2001:db8::1]", true],
  [LOOPBACK, "api.example.com", "localhost", true],
  [LOOPBACK, "api.example.com", "www.api.example.com", false],
  [LOOPBACK, "*", "evil.example", true],
  ["0.0.0.0", "none", "evil.example", true], // clients on other computers use names that the gateway does not know
  ["192.0.2.7", "none", "portico.lan", true],
  ["0.0.0.0", "api.example.com", "api.example.com", true],
  ["0.0.0.0", "api.example.com", "localhost:8080", true],
  ["0.0.0.0", "api.example.com", "evil.example", false],
  ["0.0.0.0", "api.example.com", "10.1.2.3:8082", true], // a probe of Kubernetes, which uses no name
  ["0.0.0.0", "api.example.com", "[2001:db8::1]:8082", true],
  ["0.0.0.0", "api.example.com", "2001:db8::1", false],
  ["0.0.0.0", "api.example.com", "10.1.2.3.evil.example", false],
  [LOOPBACK, "api.example.com", "10.1.2.3", false],
];

for (const [bound, names, host, served] of cases) {
  t.test(`bound to ${bound}, PORTICO_HTTP_HOSTS=${names}: ${host ?? "no Host"}`, async (t) => {
    const { httpHosts } = loadConfig({ httpHosts: names, data: t.testdir() }, {});
    const hosts = await Hosts.of({ host: bound, port: 8080 }, httpHosts);
    const check = () => hosts.check({ host } as Parameters<Hosts["check"]>[0]);
    if (served) t.doesNotThrow(check);
    else t.throws(check, { message: /PORTICO_HTTP_HOSTS/ });
  });
}

t.test("an accepted host does not make other hosts accepted", async (t) => {
  const hosts = await Hosts.of({ host: LOOPBACK, port: 8080 }, []);
  const check = (host: string) => () => hosts.check({ host } as Parameters<Hosts["check"]>[0]);
  t.doesNotThrow(check("localhost:8080"));
  t.throws(check("evil.example:8080"), { name: "HttpError" });
  t.doesNotThrow(check("localhost:8080"));
});

t.test("calls, pages, health and WebSockets are all rejected before the guard decides", async (t) => {
  const deployment = await deploy(t.testdir());
  t.teardown(() => deployment.close());
  const headers = ["Host", "evil.example:8080", "Origin", "http://evil.example:8080"];
  for (const target of ["/helloworld/call", "/openapi", "/livez", "/nothing"]) {
    const { status, body } = await ask(deployment.handler, { target, headers });
    t.equal(status, 421, target);
    t.match(JSON.parse(body), { Id: "gateway", Code: 421, Status: "Misdirected Request" });
  }
  t.same(deployment.decided, []);
});
