// grpcurl and `buf curl` know nothing about the services: they use reflection at the HTTP port. To
// install them, Go is needed once.
import t from "tap";
import { goProgram, run } from "../../outside/tools.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";

t.setTimeout(240_000);

const grpcurl = goProgram("github.com/fullstorydev/grpcurl/cmd/grpcurl", "v1.9.4");
const buf = "node_modules/.bin/buf";

const data = await installation(t.testdir());
const portico = await start(["server", "--services", "helloworld"], { PORTICO_DATA: data });
t.teardown(() => portico.stop());
const http = portico.address("HTTP");
const { host } = new URL(http);
const admin = await administrator(http, data);
const rule = { id: "closed", scope: "<public>", access: "DENIED", priority: 1, resource: "service:helloworld:*" };
await call(`${http}/v1/auth/Rules/Create`, { rule }, admin);
const granted = { id: "admin", scope: "admin", access: "GRANTED", priority: 2, resource: "service:helloworld:*" };
await call(`${http}/v1/auth/Rules/Create`, { rule: granted }, admin);
const token = ["-H", `Authorization: ${admin.authorization}`];

t.test("grpcurl", { skip: grpcurl === undefined && "there is no Go here" }, async (t) => {
  const ask = (...parameters: string[]) => run(grpcurl as string, ["-plaintext", ...parameters]);

  t.test("lists what the caller may call", async (t) => {
    const { status, output } = await ask(...token, host, "list");
    t.equal(status, 0, output);
    t.match(output, /^helloworld\.Helloworld$/m);
    const without = await ask(host, "list");
    t.equal(without.status, 0, without.output);
    t.notMatch(without.output, /helloworld/);
    t.match(without.output, /^grpc\.health\.v1\.Health$/m);
  });

  t.test("describes a service, a method and a message", async (t) => {
    const cases: [symbol: string, shown: RegExp][] = [
      ["helloworld.Helloworld", /rpc Call \( \.helloworld\.CallRequest \) returns/],
      ["helloworld.Helloworld.Call", /is a method:/],
      [".helloworld.CallRequest", /string name = 1/],
    ];
    for (const [symbol, shown] of cases) t.match((await ask(...token, host, "describe", symbol)).output, shown);
    t.match((await ask(host, "describe", "helloworld.Helloworld")).output, /not found|not known/i);
  });

  t.test("calls an endpoint", async (t) => {
    const parameters = ["-d", '{"name":"Ada"}', host, "helloworld.Helloworld/Call"];
    const { status, output } = await ask(...token, ...parameters);
    t.equal(status, 0, output);
    t.match(JSON.parse(output), { message: "Hello Ada" });
    const stream = ["-d", '{"name":"Ada","messages":2}', host, "helloworld.Helloworld/Stream"];
    t.equal((await ask(...token, ...stream)).output.match(/Hello Ada/g)?.length, 4);
  });

  t.test("asks for health", async (t) => {
    const { output } = await ask(host, "grpc.health.v1.Health/Check");
    t.match(JSON.parse(output), { status: "SERVING" });
  });
});

for (const protocol of ["connect", "grpcweb", "grpc"]) {
  t.test(`buf curl by ${protocol}`, async (t) => {
    const parameters = ["curl", "--protocol", protocol, ...token, "--reflect-header", "*", "--http2-prior-knowledge"];
    const url = `${http}/helloworld.Helloworld/Call`;
    const { status, output } = await run(buf, [...parameters, "-d", '{"name":"Ada"}', url]);
    t.equal(status, 0, output);
    t.match(JSON.parse(output), { message: "Hello Ada" });
    const listed = await run(buf, [...parameters, "--list-services", http]);
    t.match(listed.output, /^helloworld\.Helloworld$/m);
  });
}
