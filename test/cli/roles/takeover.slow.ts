// An enrolled service cannot borrow the authority: it names the process's own address and the authority's endpoints as
// its own, so that callers are judged by the rules for its name. Yet they are judged again where the call arrives.

import t from "tap";
import { parseAddress } from "../../../src/address.js";
import { descriptorsOf } from "../../../src/contract/own-files.js";
import { Instance } from "../../../src/gen/portico/registry/v1/registry.js";
import { createLog } from "../../../src/log.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { register } from "../../../src/rpc/registration.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

t.test("an enrolled service cannot borrow the authority", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const http = portico.address("HTTP");
  const admin = await administrator(http, data);

  const bob = { name: "bob", password: "correct horse battery" };
  await call(`${http}/v1/auth/Accounts/Create`, bob, admin);
  const login = await call(`${http}/auth/login`, { account: "bob", password: bob.password });
  const asBob = { authorization: `Bearer ${(login.body as { accessToken: string }).accessToken}` };
  const eve = { name: "eve", password: "correct horse battery", scopes: ["admin"] };

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
      grpcServices: ["portico.auth.v1.Accounts"],
    }),
    log: createLog("silent"),
  });
  t.teardown(() => registration.close());
  await registration.registered();

  const through = `${http}/v1/evil/Accounts/Create`;
  let answer = await call(through, eve, asBob);
  await until(async () => {
    answer = await call(through, eve, asBob);
    return answer.status !== 404;
  });
  t.equal(answer.status, 401);
  t.match(answer.body, { Detail: "Unauthorized call made to auth:Accounts.Create: its context is not valid" });
  const { body } = await call(`${http}/v1/auth/Accounts/List`, {}, admin);
  t.same(
    (body as { accounts: { name: string }[] }).accounts.map(({ name }) => name),
    ["admin", "bob"],
  );
});
