// Which service a call by a gRPC name reaches if several services have the name, and the response
// while the owner is away.
import t from "tap";
import { declaring } from "../../../services/registry/instances.js";
import { until } from "../../../support/until.js";
import { ask, type Deployment, deploy } from "../../deployment.js";

const it = await deploy(t.testdir(), { flags: { lease: "60s" } });
t.teardown(it.close);

/** Calls by Connect, because its errors name their code. */
async function call(path: string, service?: string): Promise<{ status: number; code?: string; message?: string }> {
  const named = service === undefined ? [] : ["Portico-Service", service];
  const headers = ["Content-Type", "application/json", "Connect-Protocol-Version", "1", ...named];
  const { status, body } = await ask(it.handler, { method: "POST", target: path, headers, body: "{}" });
  return { status, ...JSON.parse(body) };
}

const add = (service: string, name: string): ReturnType<Deployment["add"]> =>
  it.add({ service, addresses: ["127.0.0.1:1"], descriptors: declaring(name), grpcServices: [name] });
const has = (service: string) => () => it.catalog.routes.targetsOf(service) !== undefined;

t.test("without the header the owner is called, although another service has the name", async (t) => {
  // A second service of the deployment has the name, but cannot be reached.
  t.equal(it.catalog.routes.rpc.find("/helloworld.Helloworld/Call")?.routes.length, 2);
  t.match(await call("/helloworld.Helloworld/Call"), { status: 200, message: "Hello " });
  t.match(await call("/helloworld.Helloworld/Call", "gone"), { status: 503 });
  t.match(await call("/helloworld.Helloworld/Call", "helloworld"), { status: 200 });
});

t.test(
  "while the owner has no instance the response is UNAVAILABLE, never a response of another service",
  async (t) => {
    const leave = add("orders", "p.Orders");
    await until(has("orders"));
    const leaveThief = add("thief", "p.Orders");
    await until(has("thief"));
    leave();
    await until(() => !has("orders")());
    const away = {
      status: 503,
      code: "unavailable",
      message: "p.Orders is served by orders, which has no instance now",
    };
    t.match(await call("/p.Orders/Call"), away);
    t.match(await call("/p.Orders/Call", "orders"), away);
    t.match(await call("/p.Orders/Nothing"), away);
    it.decided.length = 0;
    await call("/p.Orders/Call", "thief");
    t.same(new Set(it.decided), new Set(["service:thief:Orders.Call"]), "the header reaches the other one");
    leaveThief();
    await until(() => !has("thief")());
    t.match(await call("/p.Orders/Call"), away);
  },
);

t.test("an endpoint that the owner lacks is not found, and the response names the service that has it", async (t) => {
  t.teardown(add("shop", "q.Carts"));
  await until(has("shop"));
  t.teardown(add("other", "q.carts"));
  await until(has("other"));
  t.match(await call("/q.carts/Call"), {
    status: 404,
    message:
      "q.carts/Call is served by other, and not by shop, to which q.carts belongs: name one in the header Portico-Service",
  });
});
