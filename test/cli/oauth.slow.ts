// `portico login --device` (cli/http/oauth-login.ts). Slow: devices poll every five seconds.
import t from "tap";
import { run } from "../../cli/program.js";
import { openDoor, PERSON, submit, visit } from "../oauth/browser.js";
import { until } from "../support/until.js";
import { ioOf, portico } from "./command-line.js";

for (const [decision, namespace] of [["allow"], ["deny", "team"]] as const) {
  t.test(`portico login --device, when the person chooses to ${decision}`, async (t) => {
    const door = await openDoor(t);
    const folders = { HOME: t.testdir(), XDG_CONFIG_HOME: t.testdir() };
    const env = { PORTICO_URL: door.url, ...folders, ...(namespace !== undefined && { PORTICO_NAMESPACE: namespace }) };
    const { io, outcome } = ioOf({ env });
    let printed = "";
    io.stderr.on("data", (text) => {
      printed += text;
    });
    const running = run(["login", "--device"], io);
    const shown = () => /Open (\S+) and type the code (\S+)/.exec(printed);
    await until(() => shown() !== null);
    const [, address = "", code = ""] = shown() ?? [];
    const shownPage = await visit(address);
    t.match(shownPage.text, `name="namespace" value="${namespace ?? "default"}"`, "the page of the namespace");
    const page = await submit(door, shownPage, { ...PERSON, user_code: code, namespace: "default" });
    t.match(page.text, /A device that calls itself portico on /);
    t.equal((await submit(door, page, { decision })).status, 200);
    const { exit } = outcome(await running);
    if (decision === "deny") return t.match([exit, printed], [4, /Not logged in: it was refused in the browser/]);
    t.match([exit, printed], [0, /Logged in to .* as admin \(namespace default\)/]);
    t.match((await portico(["auth", "list", "grants"], { env })).stdout, /portico-cli/);
  });
}
