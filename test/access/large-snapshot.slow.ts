// More rules than one message can contain: a guard that joins receives them in parts, and decides
// when it has all of them.
import t from "tap";
import { Access, RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { GrpcChannel } from "../../src/rpc/grpc-js/channel.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { call as endpoint } from "./endpoints.js";
import { codeOf, joinAt, openTestGateway } from "./test-gateway.js";

const RULES = 10_000;

t.test("10,000 rules of the largest size reach a guard over gRPC", { timeout: 100_000 }, async (t) => {
  const gateway = await openTestGateway(t, { maxRules: RULES });
  const longest = (at: number) => `service:${"n".repeat(200)}:${String(at).padStart(40, "e")}`;
  await gateway.call(RulesService.delete, { id: "default" }, gateway.admin);
  for (let at = 0; at < RULES - 1; at++) {
    const id = `rule-${at}`.padEnd(64, "-");
    const rule = {
      id,
      scope: "s".repeat(128),
      access: Access.GRANTED,
      resource: longest(at),
      priority: at,
      disabled: false,
    };
    await gateway.call(RulesService.create, { rule }, gateway.admin);
  }
  // The rule that decides is the last one of the snapshot.
  const open = {
    id: "open",
    scope: "<public>",
    access: Access.GRANTED,
    resource: "*:*:*",
    priority: 0,
    disabled: false,
  };
  await gateway.call(RulesService.create, { rule: open }, gateway.admin);
  const dispatcher = dispatcherOf([gateway.authority.service], { guard: gateway.guard });
  const server = await serveGrpc(dispatcher, { host: "127.0.0.1", port: 0 }, LIMITS);
  t.teardown(() => server.close(0));
  const channel = new GrpcChannel(server.address);
  t.teardown(() => channel.close());
  const guard = await joinAt(t, channel, gateway.enrolment);
  t.equal(await codeOf(guard, endpoint), 0);
});
