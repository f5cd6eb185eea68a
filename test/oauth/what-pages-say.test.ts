// What the pages of sign-in and consent say about who asks, and that they let nothing out.
import t from "tap";
import { formActionOf } from "../../gateway/built-in/oauth/page.js";
import { consent, type Door, openDoor, PERSON, submit, visit } from "./browser.js";
import { grantTo, register } from "./granted.js";

const HOSTILE = '<img src=x onerror="alert(1)">';

function urlFor({ url }: Door, changes: Record<string, string>): string {
  return `${url}/oauth/authorize?${new URLSearchParams({
    ...{ response_type: "code", client_id: "app", redirect_uri: "https://app.example/callback", state: "s" },
    ...{ code_challenge: "A".repeat(43), code_challenge_method: "S256", ...changes },
  })}`;
}

t.test("pages and redirects name no address to other sites", async (t) => {
  const door = await openDoor(t);
  await register(door, "app");
  const signIn = await visit(urlFor(door, {}));
  const page = await submit(door, signIn, PERSON);
  const done = await submit(door, page, { decision: "allow" });
  t.match(done, { status: 303, location: /code=ptx_/ });
  t.same(
    [signIn, page, done].map(({ headers }) => headers.get("referrer-policy")),
    ["same-origin", "same-origin", "no-referrer"],
  );
});

t.test("a name that a device gives itself is text, and claimed", async (t) => {
  const door = await openDoor(t);
  const form = new URLSearchParams({ client_id: "portico-cli", client_name: HOSTILE });
  const asked = await fetch(`${door.url}/oauth/device_authorization`, { method: "POST", body: form });
  const { verification_uri_complete: url } = (await asked.json()) as { verification_uri_complete: string };
  const page = await submit(door, await visit(url), PERSON);
  t.notMatch(page.text, "<img src=x");
  t.match(page.text, "A device that calls itself &lt;img");
  t.match(page.text, "Nobody can tell which device it is.");
});

t.test("a program at a loopback address is asked about each time", async (t) => {
  const door = await openDoor(t);
  await door.auth("Clients/Create", { name: "desktop", redirectUris: ["http://127.0.0.1/callback"] });
  const url = urlFor(door, { client_id: "desktop", redirect_uri: "http://127.0.0.1:7777/callback" });
  for (const time of ["first", "second"]) {
    t.match(await visit(url), { status: 200, text: /a program on your computer that calls itself desktop/ }, time);
    await consent(door, url);
  }
});

t.test("the page counts endpoints as Connected apps does: Portico's own are counted apart", async (t) => {
  const door = await openDoor(t);
  await register(door, "app");
  for (const [scope, words] of [
    ["", /: (\d+) of \1 endpoints at the moment/],
    ["*:*:*", /: (\d+) of \1 endpoints, and [1-9]\d* of Portico's own, at the moment/],
    ["service:auth:*", /: 0 of \d+ endpoints, and [1-9]\d* of Portico's own, at the moment/],
  ] as const) {
    const { text } = await submit(door, await visit(urlFor(door, { scope })), PERSON);
    t.match(text.replaceAll("&#39;", "'"), words, scope);
  }
});

t.test("a token in an address counts for nothing", async (t) => {
  const door = await openDoor(t);
  await register(door, "app");
  const { access_token: token } = await grantTo(door, { client: "app" });
  const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  t.equal((await fetch(`${door.url}/v1/auth/WhoAmI?access_token=${token}`, json)).status, 401);
  t.equal(await door.statusOf(token, "/v1/auth/WhoAmI"), 200);
});

t.test("a form leads to the origin of the redirect URI, or where that cannot be said, to its scheme", async (t) => {
  for (const [redirectUri, source] of [
    ["https://app.example:8443/callback?a=1", "https://app.example:8443"],
    ["http://[::1]:8080/callback", "http:"],
    ["https://app;script-src.example/callback", "https:"],
    ["com.example.app:/callback", "com.example.app:"],
    ["", ""],
  ] as const) {
    t.equal(formActionOf(redirectUri), source, redirectUri);
  }
});
