// What a person reads when a sign-in by an issuer fails, and what the operator finds in the log:
// the cause, by the request's ID, and no secret.
import t, { type Test } from "tap";
import { IssuerKeys } from "../../services/auth/jwt/issuer-keys.js";
import { type Door, openDoor } from "./browser.js";
import { openIssuer, type TestIssuer } from "./issuer.js";
import { Browser, goToIssuer, type Page, PUBLIC, reasonOn, registerApp } from "./people.js";

const SECRET = "the client's secret";
const CODE = "the code of the issuer";

interface Company {
  readonly door: Door;
  readonly issuer: TestIssuer;
}

async function company(t: Test): Promise<Company> {
  const [door, issuer] = [await openDoor(t, { flags: { publicUrl: PUBLIC } }), await openIssuer(t)];
  const signIn = { clientId: "portico", createAccounts: true };
  await door.auth("Issuers/Create", { name: "company", url: issuer.url, signIn, clientSecret: SECRET });
  await registerApp(door);
  return { door, issuer };
}

/** Goes to the issuer, and comes back after a fault. */
async function signIn({ door }: Company, fault: () => void): Promise<Page> {
  const browser = new Browser(door);
  const { headers } = await goToIssuer(browser);
  const state = new URL(headers.get("location") ?? "").searchParams.get("state") ?? "";
  fault();
  return browser.once(`${PUBLIC}/oauth/callback/company?${new URLSearchParams({ code: CODE, state })}`);
}

function logged({ door }: Company, message: string): Record<string, unknown> {
  const lines = door.deployment.logged;
  for (const secret of [SECRET, CODE])
    if (JSON.stringify(lines).includes(secret)) throw new Error(`${secret} is logged`);
  return lines.find(({ msg }) => msg === message) ?? {};
}

t.test("the issuer does not respond: the person may try again, and the log has the cause", async (t) => {
  const it = await company(t);
  it.issuer.metadata = { token_endpoint: "http://127.0.0.1:1/token" };
  const page = await signIn(it, () => undefined);
  t.equal(reasonOn(page), "400 company cannot be reached at the moment. Try again.");
  const line = logged(it, "an issuer by which people sign in cannot be used");
  t.match(line, { issuer: "company", level: "warn", requestId: page.headers.get("x-request-id") });
  t.match(JSON.stringify(line), /http:\/\/127\.0\.0\.1:1\/token/);
});

t.test("the issuer's document cannot be read: nobody is sent there, and the log has the cause", async (t) => {
  const it = await company(t);
  const signIn = { clientId: "portico" };
  await it.door.auth("Issuers/Delete", { name: "company" });
  await it.door.auth("Issuers/Create", { name: "company", url: "http://127.0.0.1:1", signIn });
  const page = await goToIssuer(new Browser(it.door));
  t.match(
    reasonOn(page),
    /^400 company cannot be used at the moment: the keys of http:\/\/127\.0\.0\.1:1 cannot be read/,
  );
  const line = logged(it, "an issuer by which people sign in cannot be used");
  t.match(line, { issuer: "company", level: "warn", requestId: page.headers.get("x-request-id") });
  t.match(JSON.stringify(line), /openid-configuration cannot be reached/);
});

t.test("a fault of Portico's own is not put on the issuer, and the person has the request's ID", async (t) => {
  const it = await company(t);
  // No fault of this kind is known, so one is made.
  const { metadata } = IssuerKeys.prototype;
  t.teardown(() => Object.assign(IssuerKeys.prototype, { metadata }));
  const page = await signIn(it, () =>
    Object.assign(IssuerKeys.prototype, { metadata: () => Promise.reject(new RangeError("out of bounds")) }),
  );
  const id = page.headers.get("x-request-id") ?? "";
  t.not(id, "");
  t.match(reasonOn(page), /^400 Portico could not sign you in, which is no fault of yours or of company\./);
  t.ok(reasonOn(page).endsWith(`in the log of the request ${id}.`), reasonOn(page));
  const line = logged(it, "a sign-in by an issuer has failed");
  t.match(line, { issuer: "company", level: "error", requestId: id, err: { message: "out of bounds" } });
});
