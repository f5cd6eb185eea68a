// Clients in Python pass ruff and mypy, and call a running gateway.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { maxFlooded, openFaultyGateway } from "../../client/faulty-gateway.js";
import { pythonPrograms } from "../../outside/tools.js";
import { openHostileGateway, openTestGateway, PYTHON_PACKAGES, portico, run } from "./test-gateway.js";

t.setTimeout(300_000);
const SERVICES = ["helloworld", "auth", "registry", "kinds", "probe", "studio", "feed", "awkward"];
const programs = pythonPrograms(...PYTHON_PACKAGES);

t.test("clients in Python", { skip: programs === undefined && "there is no Python here" }, async (t) => {
  const [gateway, faulty] = [await openTestGateway(t), await openFaultyGateway(t)];
  const folder = t.testdir();
  for (const service of SERVICES) await portico(gateway, "client", service, "--lang", "python", "--dir", folder);
  copyFileSync("test/cli/client/calls.py", join(folder, "calls.py"));
  const python = (program: string, ...args: readonly string[]) => {
    const env = { PORTICO_URL: gateway.url, PORTICO_TOKEN: gateway.token, FAULTY_DOOR: faulty.url };
    return run(join(programs!, program), args, { cwd: folder, env });
  };

  await t.test("ruff finds no problems in their code and format", async (t) => {
    const check = await python("ruff", "check", "--isolated", "--target-version=py310", "--line-length=120", ".");
    t.equal(check.status, 0, check.stdout);
    const format = await python(
      "ruff",
      "format",
      "--isolated",
      "--line-length=120",
      "--diff",
      ...SERVICES.map((service) => `${service}_client.py`),
    );
    t.equal(format.status, 0, format.stdout);
  });

  await t.test("mypy finds no problems in strict mode", async (t) => {
    const { status, stdout } = await python(
      "mypy",
      "--strict",
      "--python-version=3.10",
      "calls.py",
      "registry_client.py",
    );
    t.equal(status, 0, stdout);
  });

  await t.test("the client of a malicious contract passes too, and does nothing", async (t) => {
    await portico(await openHostileGateway(t), "client", "hostile", "--lang", "python", "--dir", folder);
    const { status, stdout } = await python("mypy", "--strict", "--python-version=3.10", "hostile_client.py");
    t.equal(status, 0, stdout);
    const { stderr } = await python("python", "-c", "import os, hostile_client; assert not hasattr(os, 'INJECTED')");
    t.equal(stderr, "");
  });

  await t.test("they call a gateway", async (t) => {
    const { stdout, stderr } = await python("python", "calls.py");
    const parts =
      "calls_and_streams every_type awkward_names raw_bytes errors_and_deadlines retries token_functions sent_streams limits awaited_tokens awaited_streams awaited rules";
    t.same({ parts: stdout.trim().split("\n").join(" "), stderr }, { parts, stderr: "" });
    const tries = (failure: string, endpoint: string) => faulty.calls(`/${failure}/python/v1/probe/${endpoint}`);
    t.same(
      ["busy", "limited", "broken"].map((failure) => tries(failure, "Tell")),
      [3, 2, 2],
    );
    t.same(
      ["busy", "limited", "broken", "used-up", "used-up-for-long"].map((failure) => tries(failure, "Call")),
      [1, 1, 1, 2, 1],
    );
    t.equal(faulty.calls("/busy/asyncio/v1/probe/Tell"), 3);
    const sent = `${faulty.flooded()} messages of 1 MiB were sent to a client that does not read them`;
    t.ok(faulty.flooded() < maxFlooded(), sent);
  });
});
