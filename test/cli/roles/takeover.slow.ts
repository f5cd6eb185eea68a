// An enrolled service cannot use endpoints of another service as its own. It registers the
// process's own address, and endpoints of a service there, under its own name, so that calls are
// authorized by the rules for its name. But the calls are authorized again where they arrive. The
// authority's own names are rejected (test/services/registry/grpc-names.test.ts).

import t from "tap";
import { parseAddress } from "../../../src/address/address.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { Instance } from "../../../src/gen/portico/registry/v1/registry.js";
import { createLog } from "../../../src/log.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { register } from "../../../src/rpc/registration.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

t.test("an enrolled service cannot use endpoints of another service as its own", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const http = portico.address("HTTP");
  const admin = await administrator(http, data);

  const bob = { name: "bob", password: "correct horse battery" };
  await call(`${http}/v1/auth/Accounts/Create`, bob, admin);
  const login = await call(`${http}/auth/login`, { account: "bob", password: bob.password });
  const asBob = { authorization: `Bearer ${(login.body as { accessToken: string }).accessToken}` };

  const enrolled = await call(`${http}/v1/auth/Enrolments/Create`, { name: "evil" }, admin);
  const channel = new GrpcChannel(parseAddress(portico.address("gRPC")));
  t.teardown(() => channel.close());
  const registration = register({
    channel,
    metadata: [["authorization", `Bearer ${(enrolled.body as { secret: string }).secret}`]],
    instance: Instance.fromPartial({
      service: "evil",
      id: "1",
      addresses: [portico.address("gRPC")],
      descriptors: descriptorsOf(),
      grpcServices: ["helloworld.Helloworld"],
    }),
    log: createLog("silent"),
  });
  t.teardown(() => registration.close());
  await registration.registered();

  const through = `${http}/v1/evil/Helloworld/Call`;
  let response = await call(through, { name: "Ada" }, asBob);
  await until(async () => {
    response = await call(through, { name: "Ada" }, asBob);
    return response.status !== 404;
  });
  t.equal(response.status, 401);
  t.match(response.body, {
    Detail: "Unauthorized call made to helloworld:Helloworld.Call: its caller assertion is not valid",
  });
});
