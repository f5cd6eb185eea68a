// A disabled account signs nobody in at the pages of consent, and what it granted ends for good.
import { createHash } from "node:crypto";
import t from "tap";
import { consent, openDoor, submit, visit } from "./browser.js";

const BOB = { account: "bob", password: "correct horse battery staple" };
const VERIFIER = "v".repeat(43);
const REDIRECT = "http://127.0.0.1:1/callback";
const request = {
  ...{ response_type: "code", client_id: "portico-cli", redirect_uri: REDIRECT, state: "s" },
  code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
  code_challenge_method: "S256",
};

async function openWithBob(t: Parameters<typeof openDoor>[0]) {
  const door = await openDoor(t);
  await door.auth("Accounts/Create", { name: BOB.account, password: BOB.password, scopes: [] });
  const setDisabled = (disabled: boolean) => door.auth("Accounts/SetDisabled", { name: BOB.account, disabled });
  const authorize = `${door.url}/oauth/authorize?${new URLSearchParams(request)}`;
  return { door, authorize, setDisabled };
}

async function exchange(url: string, form: Record<string, string>) {
  const body = new URLSearchParams({ client_id: "portico-cli", ...form });
  const response = await fetch(`${url}/oauth/token`, { method: "POST", body });
  return (await response.json()) as { error?: string; access_token: string; refresh_token: string };
}

const withCode = (url: string, done: URL) =>
  exchange(url, {
    ...{ grant_type: "authorization_code", code: done.searchParams.get("code") ?? "" },
    ...{ redirect_uri: REDIRECT, code_verifier: VERIFIER },
  });

t.test("a disabled account does not sign in; only whoever knows the password learns why", async (t) => {
  const { door, authorize, setDisabled } = await openWithBob(t);
  await setDisabled(true);
  const signIn = await visit(authorize);
  t.match(await submit(door, signIn, BOB), { status: 401, text: /The account bob is disabled; an administrator/ });
  t.match(await submit(door, signIn, { ...BOB, password: "wrong wrong wrong" }), { text: /Wrong account or password/ });
});

t.test("an account that is disabled after it signed in does not consent", async (t) => {
  const { door, authorize, setDisabled } = await openWithBob(t);
  const page = await submit(door, await visit(authorize), BOB);
  await setDisabled(true);
  const done = await submit(door, page, { decision: "allow" });
  t.match(done, { status: 400, location: undefined, text: /too old/ });
});

/** What ends all that an account has signed in for. */
const ENDINGS: Readonly<Record<string, (it: Awaited<ReturnType<typeof openWithBob>>) => Promise<unknown>>> = {
  "was disabled and is enabled again": async ({ setDisabled }) => {
    await setDisabled(true);
    await setDisabled(false);
  },
  "has signed out everywhere": async ({ door }) => {
    const response = await fetch(`${door.url}/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(BOB),
    });
    const { accessToken } = (await response.json()) as { accessToken: string };
    await door.auth("Logout", { everywhere: true }, accessToken);
  },
};

for (const [what, end] of Object.entries(ENDINGS)) {
  t.test(`a page of consent from before gives nothing to an account that ${what}`, async (t) => {
    const it = await openWithBob(t);
    const { door, authorize } = it;
    const page = await submit(door, await visit(authorize), BOB);
    await end(it);
    const done = await submit(door, page, { decision: "allow" });
    t.match(done, { status: 400, location: undefined, text: /too old/ });
    await consent(door, authorize, { person: BOB });
  });
}

t.test("codes and tokens of a disabled account end, and stay ended when it is enabled", async (t) => {
  const { door, authorize, setDisabled } = await openWithBob(t);
  const tokens = await withCode(door.url, await consent(door, authorize, { person: BOB }));
  const unused = await consent(door, authorize, { person: BOB });
  t.equal(await door.statusOf(tokens.access_token), 200);
  await setDisabled(true);
  for (const disabled of [true, false]) {
    if (!disabled) await setDisabled(false);
    t.equal(await door.statusOf(tokens.access_token), 401);
    t.match(await withCode(door.url, unused), { error: "invalid_grant" });
    const renewal = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    t.match(await exchange(door.url, renewal), { error: "invalid_grant" });
  }
});
