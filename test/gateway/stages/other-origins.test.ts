// A cross-origin page can call nothing, unless PORTICO_CORS names its origin. The gateway
// recognizes it by the headers that browsers send.
import t from "tap";
import { createAdminHandler } from "../../../gateway/built-in/admin.js";
import { Hosts } from "../../../gateway/stages/cors.js";
import { ask, deploy } from "../deployment.js";

const GOOD = "https://good.example";
const BAD = "https://bad.example";
const NAVIGATION = ["Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"];
const IMAGE = ["Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"];
const CALL = "/helloworld/call?name=Ada";

const cases: [title: string, cors: string, method: string, target: string, headers: string[], status: number][] = [
  ["no browser", "none", "GET", CALL, [], 200],
  ["a page of the gateway", "none", "GET", CALL, ["Sec-Fetch-Site", "same-origin"], 200],
  ["an address that was typed", "none", "GET", CALL, ["Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"], 200],
  ["the gateway's own origin, by an older browser", "none", "GET", CALL, ["Origin", "http://portico.test"], 200],
  ["the same behind a proxy with TLS", "none", "GET", CALL, ["Origin", "https://portico.test"], 200],
  ["an image", "none", "GET", CALL, IMAGE, 403],
  ["an image of another port of this machine", "none", "GET", CALL, ["Sec-Fetch-Site", "same-site"], 403],
  ["a form", "none", "POST", CALL, ["Sec-Fetch-Site", "cross-site", "Origin", BAD], 403],
  ["a form, by an older browser", "none", "POST", CALL, ["Origin", BAD], 403],
  ["a sandboxed frame", "none", "POST", CALL, ["Origin", "null"], 403],
  ["an origin that ends like the gateway's", "none", "GET", CALL, ["Origin", "http://not-portico.test"], 403],
  ["another port of the same host", "none", "GET", CALL, ["Origin", "http://portico.test:81"], 403],
  ["a preflight", "none", "OPTIONS", CALL, ["Origin", BAD, "Access-Control-Request-Method", "POST"], 403],
  ["HEAD", "none", "HEAD", CALL, IMAGE, 403],
  ["a link to an endpoint", "none", "GET", CALL, NAVIGATION, 403],
  ["a link to a document", "none", "GET", "/openapi", NAVIGATION, 200],
  ["a link to a document, sent as a form", "none", "POST", "/openapi", NAVIGATION, 403],
  ["an image of a document", "none", "GET", "/openapi", IMAGE, 403],
  ["a link to nothing", "none", "GET", "/nothing", NAVIGATION, 404],
  ["an image of nothing", "none", "GET", "/nothing", IMAGE, 403],
  ["an origin that CORS names", GOOD, "GET", CALL, ["Sec-Fetch-Site", "cross-site", "Origin", GOOD], 200],
  ["its preflight", GOOD, "OPTIONS", CALL, ["Origin", GOOD, "Access-Control-Request-Method", "POST"], 204],
  ["an origin that CORS does not name", GOOD, "GET", CALL, ["Sec-Fetch-Site", "cross-site", "Origin", BAD], 403],
  ["an image, where CORS names origins", GOOD, "GET", CALL, IMAGE, 403], // the request does not name its origin
  ["any origin", "*", "GET", CALL, ["Sec-Fetch-Site", "cross-site", "Origin", BAD], 200],
  ["an image, where any origin may", "*", "GET", CALL, IMAGE, 200],
];

for (const cors of new Set(cases.map(([, setting]) => setting))) {
  t.test(`PORTICO_CORS=${cors}`, async (t) => {
    const deployment = await deploy(t.testdir(), { flags: { cors } });
    t.teardown(() => deployment.close());
    for (const [title, setting, method, target, headers, status] of cases) {
      if (setting !== cors) continue;
      deployment.decided.length = 0;
      const response = await ask(deployment.handler, { method, target, headers });
      t.equal(response.status, status, title);
      if (status === 403) {
        t.match(JSON.parse(response.body), { Code: 403, Detail: /may not call here; PORTICO_CORS names/ }, title);
        t.same(deployment.decided, [], `${title}: no rule is asked`);
        t.notOk("access-control-allow-origin" in response.headers, `${title}: the page cannot read the refusal`);
      }
    }
  });
}

t.test("PORTICO_CORS is off by default", async (t) => {
  const deployment = await deploy(t.testdir());
  t.teardown(() => deployment.close());
  const response = await ask(deployment.handler, { target: CALL, headers: ["Origin", BAD] });
  t.equal(response.status, 403);
});

t.test("no page can read metrics and health, whatever PORTICO_CORS is", async (t) => {
  const deployment = await deploy(t.testdir(), { flags: { cors: "*" } });
  t.teardown(() => deployment.close());
  const hosts = await Hosts.of({ host: "127.0.0.1", port: 0 }, ["portico.test"]);
  const admin = createAdminHandler({ ...deployment, hosts });
  for (const [headers, status] of [
    [[], 200],
    [["Sec-Fetch-Site", "none"], 200],
    [NAVIGATION, 200],
    [IMAGE, 403],
    [["Origin", BAD], 403],
    [["Host", "bad.example"], 421],
  ] as const) {
    for (const target of ["/metrics", "/livez"]) {
      const response = await ask(admin, { target, headers });
      t.equal(response.status, status, `${target} with ${headers.join(" ")}`);
      if (status !== 200) t.match(JSON.parse(response.body), { Id: "gateway", Code: status });
    }
  }
});
