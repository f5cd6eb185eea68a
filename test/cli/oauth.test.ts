// `portico login --web`, and the nouns client, grant, issuer and trust.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { consent, openDoor, visit } from "../oauth/browser.js";
import { openIssuer } from "../oauth/issuer.js";
import { portico } from "./command-line.js";
import { loginByWeb } from "./login-by-web.js";

t.test("portico login --web logs in by the browser, renews, and logs out", async (t) => {
  const door = await openDoor(t);
  const env = { PORTICO_URL: door.url, HOME: t.testdir(), XDG_CONFIG_HOME: t.testdir() };
  const { exit, stderr } = await loginByWeb(door, env, async (url) => {
    const signIn = await visit(url);
    t.match(signIn.text, /a program on your computer that calls itself Portico&#39;s command line/);
    const back = await consent(door, url);
    const forged = new URL(back);
    forged.searchParams.set("state", "another");
    t.equal((await fetch(forged)).status, 404);
    t.equal((await fetch(back)).status, 200);
  });
  t.equal(exit, 0);
  t.match(stderr, /Logged in to .* as admin \(namespace default\)/);
  const listed = await portico(["auth", "list", "grants"], { env });
  t.match(listed.stdout, /admin +portico-cli +Portico's command line +all/);
  const file = join(env.XDG_CONFIG_HOME, "portico/profiles/default.json");
  writeFileSync(file, readFileSync(file, "utf8").replace(/"expires": "[^"]*"/, '"expires": "2020-01-01T00:00:00Z"'));
  t.equal((await portico(["auth", "list", "grants"], { env })).exit, 0, "renewed");
  t.equal((await portico(["logout"], { env })).exit, 0);
  const [again, there] = [env, { ...env, PORTICO_URL: "http://127.0.0.1:1" }].map((env) =>
    portico(["auth", "list", "grants"], { env }),
  );
  t.match(await again, { exit: 4, stderr: /Log in first: portico login --web\n$/ });
  t.match(await there, { exit: 4, stderr: /Log in first: portico login\n$/ }, "another gateway");
  t.match(await door.auth("Grants/List"), { grants: [] }, "a logout ends the grant");
});

t.test("portico login --web asks for the page of the namespace", async (t) => {
  const door = await openDoor(t);
  const folders = { HOME: t.testdir(), XDG_CONFIG_HOME: t.testdir() };
  await loginByWeb(door, { ...folders, PORTICO_NAMESPACE: "team" }, async (url) => {
    t.match((await visit(url)).text, /<input type="text" name="namespace" value="team"/);
    await fetch(await consent(door, url.replace("&namespace=team", "")));
  });
});

t.test("clients and grants are created, listed and deleted", async (t) => {
  const door = await openDoor(t);
  const env = { PORTICO_URL: door.url, PORTICO_TOKEN: door.admin };
  const created = await portico(["auth", "create", "client", "app", "--redirect-uri=https://app.example/back"], {
    env,
  });
  t.match(created, { exit: 0, stdout: /Client created. Its client_id is app/ });
  const secret = await portico(["auth", "create", "client", "web", "--secret"], { env });
  t.match(secret, { exit: 0, stdout: /^ptc_\w{49}\n$/, stderr: /client_id is web/ });
  const wrong = await portico(["auth", "create", "client", "x", "--redirect-uri=http://app.example/back"], { env });
  t.match(wrong, { exit: 1, stderr: /redirect_uris\[0\]: must be https/ });
  t.match((await portico(["auth", "list", "clients"], { env })).stdout, /app +https:\/\/app.example\/back +no/);
  const url = new URL(`${door.url}/oauth/authorize`);
  url.search = new URLSearchParams({
    ...{ response_type: "code", client_id: "app", redirect_uri: "https://app.example/back" },
    ...{ code_challenge: "A".repeat(43), code_challenge_method: "S256", scope: "service:helloworld:*" },
  }).toString();
  await consent(door, url.href);
  const listed = await portico(["auth", "list", "grants", "-o", "json"], { env });
  const [{ id }] = JSON.parse(listed.stdout) as [{ id: string }];
  t.match(await portico(["auth", "delete", "grant", id], { env }), { exit: 0, stdout: /Grant ended/ });
  t.match(await portico(["auth", "delete", "grant", id], { env }), { exit: 1, stderr: /no grant/ });
  t.match(await portico(["auth", "delete", "client", "app"], { env }), { exit: 0, stdout: /Client deleted/ });
});

t.test("issuers and trusts are created, listed and deleted, and a JWT is revoked", async (t) => {
  const [door, issuer] = [await openDoor(t), await openIssuer(t)];
  const env = { PORTICO_URL: door.url, PORTICO_TOKEN: door.admin };
  const auth = (...words: string[]) => portico(["auth", ...words], { env });
  t.match(await auth("create", "account", "deployer", "--service"), { exit: 0 });
  t.match(await auth("create", "issuer", "ci", `--issuer-url=${issuer.url}`), { exit: 0, stdout: /Issuer created/ });
  const trust = ["--issuer=ci", "--audience=api", "--account=deployer", "--bearer"];
  t.match(await auth("create", "trust", "all", ...trust, "--subject=*"), { exit: 1, stderr: /subject: must say more/ });
  t.match(await auth("create", "trust", "deploy", ...trust, "--subject=repo:acme/*"), {
    exit: 0,
    stdout: "Trust created\n",
  });
  t.match((await auth("list", "issuers")).stdout, /ci +http:/);
  t.match((await auth("list", "trusts")).stdout, /deploy +ci +api +repo:acme\/\* +deployer +yes/);
  const jwt = await issuer.sign({ sub: "repo:acme/shop", aud: "api", jti: "run-1" });
  t.equal(await door.statusOf(jwt), 200);
  t.match(await auth("revoke", "token", "run-1"), { exit: 0, stdout: "Revoked: 1 token\n" });
  t.equal(await door.statusOf(jwt), 401);
  t.match(await auth("revoke", "token", "run-1"), { exit: 1, stderr: /no JWT with this jti/ });
  t.match(await auth("delete", "trust", "deploi"), { exit: 1, stderr: /deploy/ });
  t.match(await auth("delete", "trust", "deploy"), { exit: 0, stdout: /Trust deleted/ });
  t.match(await auth("delete", "issuer", "ci"), { exit: 0, stdout: /Issuer deleted/ });
});
