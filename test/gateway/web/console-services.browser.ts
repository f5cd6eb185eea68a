// A gRPC server that knows nothing of Portico: added by its address, changed, and removed.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import t from "tap";
import { checkClean, screenshot, untilSettled } from "./browser.js";
import { chooseFor, hold, visitConsole } from "./console-browser.js";

const descriptors = join(t.testdir({}), "greeter.binpb");
execFileSync("node_modules/.bin/buf", ["build", "examples/external-greeter", "-o", descriptors]);
const greeter = spawn(process.execPath, ["examples/external-greeter/server.js", "127.0.0.1:0", descriptors]);
t.teardown(() => greeter.kill());
const [line] = await once(greeter.stdout, "data");
const address = `127.0.0.1:${/:(\d+)\s*$/.exec(String(line))![1]}`;

t.test("services", { timeout: 90_000 }, async (t) => {
  const { page, watched, origin, signIn } = await visitConsole(t, "/console/services");
  const dialog = page.getByRole("dialog");
  const rest = async () => fetch(`${origin}/greeter/greet?firstName=Ada`);
  await signIn();
  // A service of the configuration file, which only its author may change.
  await page.getByRole("row", { name: "shop" }).getByText("portico.json").waitFor();

  const search = page.getByRole("combobox", { name: "Search" });
  await t.test("the search has been read before anything is added", async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /^shop/ }).first().waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
  });

  await t.test("an address is looked up before the service is added", async (t) => {
    await page.getByRole("button", { name: "Add service" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("Greeter");
    await dialog.getByRole("textbox", { name: "Addresses" }).fill(address);
    await dialog.getByRole("button", { name: "Look it up" }).click();
    await dialog.getByRole("alert").getByText("name").waitFor();
    await dialog.getByRole("textbox", { name: "Name" }).fill("greeter");
    await dialog.getByRole("button", { name: "Look it up" }).click();
    await dialog.getByText("Found 1 endpoint").waitFor();
    await dialog.getByText("/v1/greeter/Greet").waitFor();
    await screenshot(page, "console-service-found");
    t.equal((await rest()).status, 404, "it is not added yet");
    await dialog.getByRole("button", { name: "Add service" }).click();
    await page.getByRole("rowheader", { name: "greeter" }).waitFor();
    await page.getByRole("row", { name: "greeter" }).getByText("Served").waitFor();
    t.match(await (await rest()).json(), { greeting: "Greetings Ada" });
    await screenshot(page, "console-services");
  });

  await t.test("an address that is changed while it is looked up is looked up again", async (t) => {
    await page.getByRole("button", { name: "Add service" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("second");
    await dialog.getByRole("textbox", { name: "Addresses" }).fill(address);
    const held = await hold(page, "**/registry/Services/Put");
    await dialog.getByRole("button", { name: "Look it up" }).click();
    await held.asked;
    await dialog.getByRole("textbox", { name: "Addresses" }).fill("127.0.0.1:1");
    await held.release();
    await untilSettled(page);
    await dialog.getByRole("button", { name: "Look it up" }).waitFor();
    t.equal(await dialog.getByText("Found 1 endpoint").count(), 0);
    await dialog.getByRole("textbox", { name: "Addresses" }).fill(address);
    await dialog.getByText("Found 1 endpoint").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
  });

  await t.test("the search finds the service that was just added", async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("greeter");
    await page.getByRole("option", { name: /^greeter.*Service$/ }).waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
  });

  await t.test("its options are changed, and seen in the table", async () => {
    await chooseFor(page, "greeter", "Change");
    await dialog.locator("summary").click();
    await dialog.getByLabel("Names of fields").selectOption("PROTO");
    await dialog.getByRole("button", { name: "Look it up" }).click();
    await dialog.getByRole("button", { name: "Change service" }).click();
    await page.getByText("jsonNames: PROTO").waitFor();
  });

  await t.test("a removed service is not found any more", async (t) => {
    await chooseFor(page, "greeter", "Remove");
    await dialog.getByRole("textbox").fill("greeter");
    await dialog.getByRole("button", { name: "Remove service" }).click();
    await page.getByRole("rowheader", { name: "greeter" }).waitFor({ state: "detached" });
    t.equal((await rest()).status, 404);
  });

  checkClean(t, watched);
});
