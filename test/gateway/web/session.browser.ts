// A token is only in the page's memory; the tabs' session gets the next one.
import t from "tap";
import { checkClean, open, signIn, signOut, untilSettled, visit } from "./browser.js";

t.test("the session", async (t) => {
  const setting = await open(t);

  t.test("keeps tokens out of storage, of cookies that scripts read, and of the address", async (t) => {
    const watched = await visit(t, setting, "/explore");
    const { page } = watched;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await signIn(page);
    await page.getByRole("link", { name: "helloworld" }).click();
    await page.getByRole("link", { name: "Helloworld.Call" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    const kept = await page.evaluate<string>(
      "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state, document.documentElement.outerHTML])",
    );
    t.notMatch(kept, /pt[ark]_/);
    t.notMatch(asked.join(" "), /pt[ark]_/);
    checkClean(t, watched);
  });

  t.test("revokes the token at the authority when signing out", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    await signIn(page);
    const sent = page.waitForRequest("**/v1/helloworld/Call");
    await page.getByRole("button", { name: "Send" }).click();
    const authorization = await (await sent).headerValue("authorization");
    await signOut(page);
    await page.getByText("Signed out").waitFor();
    const headers = { authorization: authorization as string, "content-type": "application/json" };
    const response = await fetch(`${setting.origin}/v1/helloworld/Call`, { method: "POST", headers, body: "{}" });
    t.equal(response.status, 401);
  });

  t.test("a token that is about to expire is replaced before the next call", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    await page.clock.install();
    const calls: (string | undefined)[] = [];
    page.on("request", (request) => calls.push(`${new URL(request.url()).pathname}`));
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Call" }).waitFor();
    // By then the requests for both lists of the new session have ended.
    await untilSettled(page);
    calls.length = 0;
    await page.clock.fastForward("59:30");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("200 OK").waitFor();
    t.same(calls, ["/session/challenge", "/session", "/v1/helloworld/Call"]);
  });

  for (const hours of [2, -2]) {
    t.test(`a token is replaced when it expires, even if the page's clock is wrong by ${hours} hours`, async (t) => {
      const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
      await page.clock.install({ time: Date.now() + hours * 3_600_000 });
      await signIn(page);
      await untilSettled(page);
      const calls: string[] = [];
      page.on("request", (request) => calls.push(new URL(request.url()).pathname));
      for (const [passes, asks] of [
        ["30:00", ["/v1/helloworld/Call"]],
        ["29:30", ["/session/challenge", "/session", "/v1/helloworld/Call"]],
      ] as const) {
        await page.clock.fastForward(passes);
        calls.length = 0;
        const answered = page.waitForResponse("**/v1/helloworld/Call");
        await page.getByRole("button", { name: "Send" }).click();
        await answered;
        t.same(calls, asks);
      }
    });
  }

  t.test("simultaneous calls wait for one new token", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.clock.install();
    await signIn(page);
    await untilSettled(page);
    let renewed = 0;
    page.on("request", (request) => {
      if (new URL(request.url()).pathname === "/session") renewed++;
    });
    await page.clock.fastForward("59:30");
    await page.getByRole("link", { name: "Console" }).click();
    await page.getByText("The door is open.").waitFor();
    t.equal(renewed, 1);
  });

  t.test("a session that was ended elsewhere is reported as ended", async (t) => {
    const { page } = await visit(t, setting, "/explore/helloworld/Helloworld.Call");
    await signIn(page);
    const sent = page.waitForRequest("**/v1/helloworld/Call");
    await page.getByRole("button", { name: "Send" }).click();
    const authorization = (await (await sent).headerValue("authorization")) as string;
    const headers = { authorization, "content-type": "application/json" };
    const left = await fetch(`${setting.origin}/v1/auth/Auth/Logout`, { method: "POST", headers, body: "{}" });
    t.equal(left.status, 200);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("status").getByText("Your session was ended").waitFor();
    const form = page.getByRole("dialog").locator("form");
    await form.getByText("Your session was ended. Sign in again to go on.").waitFor();
  });

  t.test("says that a password is wrong, and where the first one was printed", async (t) => {
    const { page } = await visit(t, setting, "/explore");
    await page.getByRole("banner").getByRole("button", { name: "Sign in" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Account").fill("admin");
    await dialog.getByLabel("Password").fill("wrong wrong wrong");
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.getByRole("alert").getByText("first start of Portico printed the password").waitFor();
    t.pass();
  });
});
