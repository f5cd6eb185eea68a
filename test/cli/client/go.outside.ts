// Clients in Go pass gofmt and go vet, and call a running gateway.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { maxFlooded, openFaultyGateway } from "../../client/faulty-gateway.js";
import { temporaryFolder } from "../../support/temporary.js";
import { openHostileGateway, openTestGateway, portico, run } from "./test-gateway.js";

t.setTimeout(300_000);
const SERVICES = ["helloworld", "auth", "registry", "kinds", "probe", "studio", "feed", "awkward"];
const hasGo = spawnSync("go", ["version"]).status === 0;

t.test("clients in Go", { skip: !hasGo && "there is no Go here" }, async (t) => {
  const [gateway, faulty] = [await openTestGateway(t), await openFaultyGateway(t)];
  const folder = t.testdir({ "go.mod": "module example.com/clients\n\ngo 1.24\n" });
  for (const service of SERVICES)
    await portico(gateway, "client", service, "--lang", "go", "--dir", join(folder, service));
  copyFileSync("test/cli/client/go/calls_test.go", join(folder, "calls_test.go"));
  const env = { GOWORK: "off", PORTICO_URL: gateway.url, PORTICO_TOKEN: gateway.token, FAULTY_DOOR: faulty.url };
  const go = (...args: readonly string[]) => run("go", args, { cwd: folder, env });

  copyFileSync("test/cli/client/go/streams_test.go", join(folder, "feed/streams_test.go"));
  t.match(await go("mod", "tidy"), { status: 0 });

  await t.test("gofmt and go vet find no problems in them", async (t) => {
    t.same(await run("gofmt", ["-l", "."], { cwd: folder }), { status: 0, stdout: "", stderr: "" });
    t.same(await go("vet", "./..."), { status: 0, stdout: "", stderr: "" });
  });

  await t.test("the client of a malicious contract passes too, and does nothing", async (t) => {
    await portico(await openHostileGateway(t), "client", "hostile", "--lang", "go", "--dir", join(folder, "hostile"));
    writeFileSync(join(folder, "hostile/hostile_test.go"), "package hostile\n\nfunc init() { New(Options{}) }\n");
    const { status, stdout, stderr } = await go("test", "./hostile");
    t.same({ status, stderr }, { status: 0, stderr: "" }, stdout);
  });

  await t.test("they call a gateway", async (t) => {
    const { status, stdout } = await go("test", "-count=1", ".", "./feed");
    t.equal(status, 0, stdout);
    const tries = (failure: string, endpoint: string) => faulty.calls(`/${failure}/go/v1/probe/${endpoint}`);
    t.same(
      ["busy", "limited", "broken"].map((failure) => tries(failure, "Tell")),
      [3, 2, 2],
    );
    t.same(
      ["busy", "limited", "broken", "used-up", "used-up-for-long"].map((failure) => tries(failure, "Call")),
      [1, 1, 1, 2, 1],
    );
  });

  await t.test("a client that does not read slows the gateway down", async (t) => {
    t.ok(faulty.flooded() > 0);
    t.ok(faulty.flooded() < maxFlooded(), `${faulty.flooded()} messages of 1 MiB`);
  });

  await t.test("a client is a module of its own only outside of another module", async (t) => {
    t.notOk(existsSync(join(folder, "helloworld/go.mod")));
    const alone = temporaryFolder(t);
    await portico(gateway, "client", "helloworld", "--lang", "go", "--dir", alone);
    t.match(readFileSync(join(alone, "go.mod"), "utf8"), /^module helloworld$/m);
    t.same(await run("go", ["vet", "."], { cwd: alone, env }), { status: 0, stdout: "", stderr: "" });
  });
});
