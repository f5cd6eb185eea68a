// `portico server` runs the built-in services, or those that are named.
import t from "tap";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";

async function servicesAt(http: string): Promise<string[]> {
  const response = await fetch(`${http}/openapi`);
  const { services } = (await response.json()) as { services: { name: string }[] };
  return services.map(({ name }) => name);
}

const CASES: readonly [what: string, args: string[], env: Record<string, string>, has: boolean][] = [
  ["those named by the flag", ["--services", "helloworld"], {}, true],
  ["none, where the variable says so", [], { PORTICO_OWN_SERVICES: "none" }, false],
];

for (const [what, args, env, has] of CASES) {
  t.test(`a server runs ${what}`, async (t) => {
    const data = await installation(t.testdir());
    const server = await start(["server", ...args], { PORTICO_DATA: data, ...env });
    t.teardown(() => server.stop());
    const services = await servicesAt(server.address("HTTP"));
    t.same(
      services.filter((name) => !["auth", "registry"].includes(name)),
      has ? ["helloworld"] : [],
    );
    t.equal(server.output().includes("helloworld/call"), has, "what the banner tells to try");
  });
}

t.test("an unknown name of a built-in service stops the start, and the error lists all names", async (t) => {
  const started = start(["server", "--services", "helloworld,nothing"], {
    PORTICO_DATA: await installation(t.testdir()),
  });
  await t.rejects(started, {
    message: /exit 2\):\nPORTICO_OWN_SERVICES names nothing, which is no built-in service: cache, .*helloworld/,
  });
});
