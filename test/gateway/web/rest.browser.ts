// The form of an endpoint sends a call by one of its REST paths: with its method, fields in the
// path, a query and a body.
import t from "tap";
import { Pages } from "../../../gateway/built-in/pages.js";
import { noServiceOptions } from "../../../src/config/service-options.js";
import { JsonNames, RestStyle } from "../../../src/gen/portico/registry/v1/service_options.js";
import { dispatcherOf, listen } from "../../rpc/serve.js";
import { deploy, login, post } from "../deployment.js";
import { createLibrary } from "../dialects/http-rule/library.js";
import { checkClean, launch, screenshot, untilDrawn, visit } from "./browser.js";

t.test("a call by a REST path", async (t) => {
  const own = [new Pages({ folder: "dist/console" })];
  const server = await listen(t, dispatcherOf([createLibrary()]));
  const style = { rest: RestStyle.GRPC_GATEWAY, jsonNames: JsonNames.PROTO, omitZeros: true };
  const options = { ...noServiceOptions(), ...style, bindingPrefix: "/api" };
  const targets = [{ target: server.address as { host: string; port: number }, weight: 1 }];
  const external = [{ name: "moved", targets, descriptors: createLibrary().descriptors as Buffer, options }];
  const { handler, gateway, logged, close } = await deploy(t.testdir(), { services: [createLibrary()], own, external });
  t.teardown(close);
  const token = await login(handler, "admin");
  for (const id of ["library", "moved"]) {
    const rule = { id, scope: "<public>", resource: `service:${id}:*`, access: "GRANTED", priority: 1 };
    await post(handler, "/v1/auth/rules/create", { rule }, token);
  }
  const setting = { browser: await launch(t), origin: `http://127.0.0.1:${gateway.address.port}` };

  await t.test("GET: fields go into the path and the query", async (t) => {
    const watched = await visit(t, setting, "/explore/library/Library.Get");
    const { page } = watched;
    await page.getByLabel("Call", { exact: true }).selectOption("GET /lib/{name=shelves/*}");
    const tryIt = page.locator(".request-part");
    await tryIt.getByText("name is a part of the path: fill it in").waitFor();
    await tryIt.getByRole("textbox", { name: /^name/ }).first().fill("racks/1");
    await tryIt.getByText("it must be like shelves/*").waitFor();
    await tryIt.getByRole("textbox", { name: /^name/ }).first().fill("shelves/poetry & prose");
    await tryIt
      .getByLabel(/^shelf/)
      .first()
      .fill("7");
    const line = page.getByLabel("Request line");
    t.equal(await line.innerText(), "GET\n/lib/shelves/poetry%20%26%20prose?shelf=7");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".response-part").getByText('"shelves/poetry & prose"').waitFor();
    const sent = logged.find(({ endpoint }) => endpoint === "library:Library.Get");
    t.match(sent, { method: "GET", dialect: "http-rule", status: 200 });
    const code = page.locator(".snippets pre");
    t.match(await code.innerText(), /^curl '[^']*\/lib\/shelves\/poetry%20%26%20prose\?shelf=7'$/);
    t.same(await page.locator(".snippets").getByRole("tab").allInnerTexts(), ["curl", "Node.js", "Browser"]);
    await screenshot(page, "explore-rest");
    checkClean(t, watched);
  });

  await t.test("PUT: the rest is the body, and a path can be chosen in the list too", async (t) => {
    const watched = await visit(t, setting, "/explore/library/Library.Put", { width: 390, scheme: "dark" });
    const { page } = watched;
    await page.getByRole("button", { name: "Docs" }).click();
    await page.getByRole("button", { name: "Try PUT /lib/all/{name}", exact: true }).click();
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("Request as JSON").fill('{"name":"a/b","shelf":"9007199254740993","tags":["x"]}');
    t.equal(await page.getByLabel("Request line").innerText(), "PUT\n/lib/all/a%2Fb");
    await page.locator(".try-it").getByRole("button", { name: "Send" }).click();
    await page.locator(".response-part").getByText('"9007199254740993"').waitFor();
    t.match(
      logged.find(({ endpoint }) => endpoint === "library:Library.Put"),
      { method: "PUT", status: 200 },
    );
    await untilDrawn(page);
    await screenshot(page, "explore-rest-phone");
    t.equal(await page.evaluate("document.documentElement.scrollWidth"), 390, "nothing is wider than a phone");
    checkClean(t, watched);
  });

  await t.test("DELETE: Enter asks before anything is sent", async (t) => {
    const watched = await visit(t, setting, "/explore/library/Library.Get");
    const { page } = watched;
    await page.getByLabel("Call", { exact: true }).selectOption("DELETE /lib/{name=shelves/*}:purge");
    const name = page.locator(".try-it").getByRole("textbox", { name: /^name/ }).first();
    await name.fill("shelves/1");
    await name.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Call Library.Get?" });
    await dialog.waitFor();
    t.notOk(logged.some(({ method }) => method === "DELETE"));
    await dialog.getByRole("button", { name: "Call Library.Get" }).click();
    await page.locator(".response-part").getByText('"shelves/1"').waitFor();
    t.match(
      logged.find(({ method }) => method === "DELETE"),
      { endpoint: "library:Library.Get", status: 200 },
    );
    checkClean(t, watched);
  });

  await t.test("the envelopes of grpc-gateway are described and read, with names of the .proto file", async (t) => {
    const watched = await visit(t, setting, "/explore/moved/Library.List");
    const { page } = watched;
    const note = page.getByText("For clients of grpc-gateway.");
    t.match(await note.innerText(), /\{"code":5,.* \{"result":…\} .* \{"error":/);
    await page.getByLabel("Call", { exact: true }).selectOption("GET /api/lib/{name=shelves/*}/list");
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("Request as JSON").fill('{"name":"shelves/1","page_size":1}');
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("complete").waitFor();
    const messages = page.getByRole("list", { name: "Messages" });
    t.equal(await messages.getByText('"result": {').count(), 3);
    t.equal(await messages.getByText('"page_size": 1').count(), 3);
    t.equal(await messages.getByText('"shelf"').count(), 0, "zeros are left out");
    await screenshot(page, "explore-envelopes");
    checkClean(t, watched);
  });

  await t.test("an error in the form of grpc-gateway says what is wrong", async (t) => {
    const { page } = await visit(t, setting, "/explore/moved/Library.Fail", { scheme: "dark" });
    t.notMatch(await page.getByText("For clients of grpc-gateway.").innerText(), /result/);
    await page.getByLabel("Call", { exact: true }).selectOption("GET /api/lib/fail/{shelf}");
    await page
      .getByLabel(/^shelf/)
      .first()
      .fill("7");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".notice.bad").getByText("no such shelf").waitFor();
    await screenshot(page, "explore-envelopes-error");
  });
});
