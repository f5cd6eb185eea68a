// What a token of the pages' session costs: a POST of a page of this gateway, the cookie, and a
// signature by the key that the session was started with.
import t from "tap";
import { openDoor } from "../../oauth/browser.js";
import { ADMIN_PASSWORD } from "../deployment.js";
import { browserKey, type Replied, type Sent, SessionPage } from "../page-session.js";

const ADMIN = { account: "admin", password: ADMIN_PASSWORD };

t.test("a page gets tokens by its cookie and its key, until the session ends", async (t) => {
  const door = await openDoor(t);
  const page = await SessionPage.open(door.url);
  const started = await page.start(ADMIN);
  t.match(started, { status: 200, body: { account: "admin", namespace: "default", scopes: ["admin"] } });
  const cookie = /^portico-([0-9a-f-]{36})=pts_\w+; Path=\/session; Max-Age=2592000; HttpOnly; SameSite=Strict$/;
  t.match(started.headers.get("set-cookie"), cookie);
  t.equal(started.headers.get("cache-control"), "no-store");
  const renewed = [await page.createToken(), await page.createToken()];
  t.same(
    renewed.map(({ headers }) => headers.get("set-cookie")),
    [null, null],
    "a late response does not replace the cookie of a later sign-in",
  );
  const tokens = [started, ...renewed].map(({ body }) => body.accessToken!);
  t.equal(new Set(tokens).size, 3);
  for (const token of tokens) t.equal(await door.statusOf(token), 200, "a session is not used up");
  const ended = await page.end();
  t.match(ended, { status: 200, headers: { get: Function } });
  t.match(ended.headers.get("set-cookie"), /^portico-[^=]+=; .*Max-Age=0/);
  for (const token of tokens) t.equal(await door.statusOf(token), 401);
  t.match(await page.post("/session/challenge"), { status: 401 });
});

const ELSEWHERE = /Sec-Fetch-Site must be same-origin/;

/** A request for a token in which one thing is wrong, and the response to it. */
const wrong: readonly (Sent & { readonly name: string; readonly status: number; readonly detail?: RegExp })[] = [
  { name: "a page of another site", headers: { "sec-fetch-site": "cross-site" }, status: 403, detail: ELSEWHERE },
  {
    name: "a page of another port of this host",
    headers: { "sec-fetch-site": "same-site" },
    status: 403,
    detail: ELSEWHERE,
  },
  { name: "a person who types the address", headers: { "sec-fetch-site": "none" }, status: 403, detail: ELSEWHERE },
  { name: "no word about the page", headers: { "sec-fetch-site": "" }, status: 403, detail: ELSEWHERE },
  { name: "no cookie", headers: { cookie: "" }, status: 401, detail: /cookie/ },
  { name: "a cookie of nothing", headers: { cookie: "portico-x=y" }, status: 401 },
  { name: "a form", headers: { "content-type": "application/x-www-form-urlencoded" }, status: 415 },
  { name: "GET", method: "GET", status: 405 },
  { name: "PUT", method: "PUT", status: 405 },
  { name: "no signature", body: { signature: "" }, status: 403 },
  { name: "a padded signature", body: { signature: "AA==" }, status: 400 },
  { name: "a signature that is no text", body: { signature: 1 }, status: 400 },
  { name: "another challenge", body: { challenge: "AAAA" }, status: 403 },
];

t.test("with one thing wrong, there is no token", async (t) => {
  // Where pages of every origin may call, they still get no token of a session.
  const door = await openDoor(t, { flags: { cors: "*" } });
  const page = await SessionPage.open(door.url);
  await page.start(ADMIN);
  for (const path of ["/session", "/session/end"]) {
    for (const { name, status, detail = /./, ...sent } of wrong) {
      const body = { ...(await page.proof()), ...(sent.body as object) };
      const replied = await page.post(path, { ...sent, body });
      t.match(replied, { status, body: { Detail: detail } }, `${path}: ${name}`);
      t.notOk(replied.body.accessToken ?? replied.headers.get("set-cookie"), name);
    }
  }
  t.match(await page.createToken(), { status: 200 }, "with all right, there is one");
});

t.test("the cookie without the key is worth nothing", async (t) => {
  const door = await openDoor(t);
  const page = await SessionPage.open(door.url);
  await page.start(ADMIN);
  const stranger = page.withKey(await browserKey());
  t.match(await stranger.createToken(), { status: 403 }, "another key");
  t.match(await stranger.end(), { status: 403 });
  const proof = await page.proof();
  t.match(await page.post("/session", { body: proof }), { status: 200 });
  t.match(await page.post("/session", { body: proof }), { status: 403 }, "a proof that was used");
  t.match(await page.post("/session/end", { body: proof }), { status: 403 });
  const other = await SessionPage.open(door.url);
  await other.start(ADMIN);
  t.match(await other.post("/session", { body: await page.proof() }), { status: 403 }, "a proof of another session");
});

/** Sign-ins that fail, and what they are told. */
const refused: readonly (readonly [name: string, body: unknown, Partial<Replied>])[] = [
  ["a wrong password", { password: "wrong password" }, { status: 401, body: { Detail: "Wrong account or password" } }],
  ["an unknown account", { account: "nobody" }, { status: 401, body: { Detail: "Wrong account or password" } }],
  ["no key", { key: "" }, { status: 400 }],
  ["a key that is none", { key: "AAAA" }, { status: 400 }],
  ["a name that is no text", { account: {} }, { status: 400 }],
];

t.test("a sign-in needs the password and a key", async (t) => {
  const door = await openDoor(t);
  const page = await SessionPage.open(door.url);
  const right = { ...ADMIN, key: page.key.spki.toString("base64url") };
  for (const [name, part, expected] of refused) {
    const replied = await page.post("/session/start", { body: { ...right, ...(part as object) } });
    t.match(replied, expected, name);
    t.equal(replied.headers.get("set-cookie"), null);
  }
  const elsewhere = { headers: { "sec-fetch-site": "same-site" }, body: right };
  t.match(await page.post("/session/start", elsewhere), { status: 403 });
});

t.test("over TLS the cookie is secure, and one without TLS does not count", async (t) => {
  const door = await openDoor(t, { flags: { httpHosts: "portico.example" } });
  const page = await SessionPage.open(door.url);
  page.headers = { host: "portico.example", origin: "https://portico.example" };
  const { headers } = await page.start(ADMIN);
  t.match(headers.get("set-cookie"), /^__Secure-portico-[^;]+; .*HttpOnly; SameSite=Strict; Secure$/);
  t.match(await page.createToken(), { status: 200 });
  page.cookie = page.cookie.replace("__Secure-", "");
  t.match(await page.post("/session/challenge"), { status: 401 });
});
