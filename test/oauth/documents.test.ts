// Client id metadata documents: what is fetched, from which addresses, and how often.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { Documents, type DocumentsOptions } from "../../gateway/built-in/oauth/documents.js";
import type { FetchedDocument } from "../../gateway/http/fetched-document.js";
import { consent, openDoor, PERSON, submit, visit } from "./browser.js";

const URL_OF_CLIENT = "https://app.example/client.json";
const GOOD = { client_id: URL_OF_CLIENT, client_name: "App", redirect_uris: ["https://app.example/callback"] };

function documents(
  options: Partial<DocumentsOptions> & { answer?: Partial<FetchedDocument> & { json?: unknown } } = {},
) {
  const { answer = {}, ...rest } = options;
  const { json = GOOD, ...own } = answer;
  const fetched: string[] = [];
  const opened = new Documents({
    hosts: "any",
    resolve: async () => ["93.184.215.14"],
    fetch: async ({ url, address }) => {
      fetched.push(`${url.href} at ${address}`);
      const body = Buffer.from(JSON.stringify(json));
      return { status: 200, contentType: "application/json", cacheControl: "", body, ...own };
    },
    ...rest,
  });
  return { opened, fetched };
}

t.test("a document is fetched from the address that was checked, and kept", async (t) => {
  let now = 0;
  const { opened, fetched } = documents({ now: () => now, answer: { cacheControl: "max-age=600" } });
  t.same(await opened.get(URL_OF_CLIENT), { name: "App", redirectUris: GOOD.redirect_uris });
  await opened.get(URL_OF_CLIENT);
  t.same(fetched, [`${URL_OF_CLIENT} at 93.184.215.14`]);
  now += 601_000;
  await opened.get(URL_OF_CLIENT);
  t.equal(fetched.length, 2);
});

for (const [what, cacheControl, lifeMs] of [
  ["a day at most", "max-age=999999999", 86_400_000],
  ["a minute at least", "no-store", 60_000],
] as const) {
  t.test(`it is kept for ${what}`, async (t) => {
    let now = 0;
    const { opened, fetched } = documents({ now: () => now, answer: { cacheControl } });
    for (now of [0, lifeMs - 1, lifeMs]) await opened.get(URL_OF_CLIENT);
    t.equal(fetched.length, 2);
  });
}

t.test("hosts with an address that is not globally reachable are refused", async (t) => {
  for (const addresses of [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["::1"], ["::ffff:169.254.169.254"], []]) {
    const { opened, fetched } = documents({ resolve: async () => addresses });
    await t.rejects(opened.get(URL_OF_CLIENT), /not globally reachable|no address/, addresses.join());
    t.same(fetched, []);
  }
});

t.test("other documents are refused", async (t) => {
  const cases: [what: string, answer: Partial<FetchedDocument> & { json?: unknown }, words: RegExp][] = [
    ["a redirect", { status: 302 }, /status 302/],
    ["a page", { contentType: "text/html" }, /no JSON/],
    ["another client's", { json: { ...GOOD, client_id: "https://app.example/other" } }, /not its URL/],
    ["a list", { json: [] }, /not its URL/],
    ["no redirect URIs", { json: { ...GOOD, redirect_uris: undefined } }, /redirect_uris/],
    ["a script as redirect URI", { json: { ...GOOD, redirect_uris: ["javascript:alert(1)"] } }, /redirect_uris/],
    ["a secret", { json: { ...GOOD, client_secret: "x" } }, /public/],
    ["a method with a secret", { json: { ...GOOD, token_endpoint_auth_method: "client_secret_post" } }, /public/],
  ];
  for (const [what, answer, words] of cases)
    await t.rejects(documents({ answer }).opened.get(URL_OF_CLIENT), words, what);
});

t.test("other URLs are refused before anything is fetched", async (t) => {
  const cases = [
    "http://app.example/client.json",
    "https://app.example:8443/client.json",
    "https://app.example/",
    "https://app.example",
    "https://user@app.example/client.json",
    "https://app.example/client.json#x",
    "https://app.example/a/../client.json",
    "https://APP.example/client.json",
  ];
  for (const url of cases) {
    const { opened, fetched } = documents();
    await t.rejects(opened.get(url), url);
    t.same(fetched, []);
  }
  t.equal(documents({ hosts: "off" }).opened.enabled, false);
  await t.rejects(documents({ hosts: "off" }).opened.get(URL_OF_CLIENT), /is off/);
  await t.rejects(documents({ hosts: ["other.example"] }).opened.get(URL_OF_CLIENT), /not allowed/);
});

t.test("ten a minute, one at a time for a host, and failures are remembered for a minute", async (t) => {
  let now = 0;
  let running = 0;
  let most = 0;
  const failing = documents({ now: () => now, answer: { status: 500 } });
  for (const time of [0, 59_000, 60_001]) {
    now = time;
    await t.rejects(failing.opened.get(URL_OF_CLIENT));
  }
  t.equal(failing.fetched.length, 2);
  const resolve = async () => {
    most = Math.max(most, ++running);
    await new Promise((done) => setImmediate(done));
    running--;
    return ["93.184.215.14"];
  };
  const { opened, fetched } = documents({ now: () => now, resolve });
  const urls = Array.from({ length: 11 }, (_, index) => `https://app.example/client${index}`);
  const results = await Promise.allSettled(urls.map((url) => opened.get(url)));
  t.equal(most, 1);
  t.equal(fetched.length, 10);
  t.match((results[10] as PromiseRejectedResult).reason.message, /Too many programs/);
});

t.test("a document is fetched only after the person has signed in", async (t) => {
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    const url = `http://${request.headers.host}/client`;
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ client_id: url, client_name: "Claude", redirect_uris: ["https://claude.example/back"] }),
    );
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const door = await openDoor(t, { flags: { oauthDocuments: host } });
  const parameters = {
    ...{ response_type: "code", client_id: `http://${host}/client`, redirect_uri: "https://claude.example/back" },
    ...{ code_challenge: "A".repeat(43), code_challenge_method: "S256", state: "s" },
  };
  const url = `${door.url}/oauth/authorize?${new URLSearchParams(parameters)}`;
  const signIn = await visit(url);
  t.match(signIn, { status: 200, text: new RegExp(host) });
  await submit(door, signIn, { ...PERSON, password: "wrong wrong wrong" });
  t.equal(asked, 0);
  const page = await submit(door, signIn, PERSON);
  t.match(page.text, /It calls itself “Claude”; nobody has checked that name/);
  t.equal(asked, 1);
  t.match((await consent(door, url)).href, /^https:\/\/claude\.example\/back\?code=ptx_/);
  t.equal(asked, 1, "kept");
  const elsewhere = url.replace("claude.example%2Fback", "evil.example%2Fback");
  t.match(await submit(door, await visit(elsewhere), PERSON), { status: 400, location: undefined });
  const { grants } = await door.auth<{ grants: unknown[] }>("Grants/List");
  t.match(grants, [{ clientId: `http://${host}/client`, clientName: "Claude" }]);
  t.match(await door.auth("Clients/Delete", { id: `http://${host}/client` }), { grants: 1 });
});
