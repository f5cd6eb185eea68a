// A person signs in by an issuer in Chromium, by keyboard: from the page of sign-in to the issuer,
// and back to the page of consent.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { seriousFaults } from "../gateway/web/axe.js";
import { launch } from "../gateway/web/browser.js";
import { openDoor } from "./browser.js";
import { openIssuer } from "./issuer.js";
import { authorizeUrl, PUBLIC, registerApp } from "./people.js";

/** Over plain HTTP, to which the browser is led without a certificate. */
const PLAIN = "http://portico.test";

/** The page of an issuer, on which one link signs ann in. Returns its address. */
async function openPage(t: Test, onAsked: (nonce: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? "", "http://127.0.0.1").searchParams;
    onAsked(asked.get("nonce") ?? "");
    const back = new URL(asked.get("redirect_uri") ?? "");
    back.search = new URLSearchParams({ code: "c", state: asked.get("state") ?? "" }).toString();
    response.setHeader("content-type", "text/html");
    response.end(`<a href="${back.href.replaceAll("&", "&amp;")}">I am ann</a>`);
  }).listen(0, "127.0.0.1");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/authorize`;
}

t.test("a person signs in by an issuer, and is back at consent", async (t) => {
  const door = await openDoor(t, { flags: { publicUrl: PLAIN } });
  const issuer = await openIssuer(t);
  let nonce = "";
  issuer.metadata = {
    authorization_endpoint: await openPage(t, (asked) => {
      nonce = asked;
    }),
  };
  const signIn = { clientId: "portico", createAccounts: true };
  await door.auth("Issuers/Create", { name: "company", url: issuer.url, signIn });
  await registerApp(door);
  const flag = `--host-resolver-rules=MAP portico.test 127.0.0.1:${new URL(door.url).port}`;
  const page = await (await launch(t, [flag])).newPage({ viewport: { width: 360, height: 640 } });

  await page.goto(authorizeUrl().replace(PUBLIC, PLAIN));
  const link = page.getByRole("link", { name: "Sign in with company" });
  const box = await link.boundingBox();
  t.ok(box !== null && box.height >= 44 && box.x >= 0 && box.x + box.width <= 360, "it is there, and fits a finger");
  t.same(await seriousFaults(page), []);
  const isFocused = () => link.evaluate((element) => element === element.ownerDocument.activeElement);
  for (let tabs = 0; tabs < 6 && !(await isFocused()); tabs++) await page.keyboard.press("Tab");
  t.ok(await isFocused(), "the keyboard reaches it");
  await page.keyboard.press("Enter");

  const ann = page.getByRole("link", { name: "I am ann" });
  await ann.waitFor();
  t.match(await page.context().cookies(), [{ path: "/oauth/callback/company", httpOnly: true, sameSite: "Lax" }]);
  const iat = Math.floor(Date.now() / 1000);
  const claims = { sub: "ann1", aud: "portico", iat, nonce, email: "ann@acme.example", email_verified: true };
  issuer.tokens = { status: 200, body: { access_token: "a", id_token: await issuer.sign(claims) } };
  await ann.press("Enter");

  await page.getByRole("heading", { name: "app asks to call for you" }).waitFor();
  t.match(await page.getByText("You are signed in as").innerText(), /ann@acme\.example, namespace default/);
  t.same(await seriousFaults(page), []);
  t.same(await page.context().cookies(), [], "the attempt is over");
});
