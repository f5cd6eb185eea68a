// A service in a process of its own is called by another service with a caller assertion from the
// authority.

import t from "tap";
import { delegate } from "../../../src/access/assertions/delegation.js";
import { parseAddress } from "../../../src/address/address.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { HelloworldService } from "../../../src/gen/helloworld/helloworld.js";
import { unary } from "../../../src/rpc/client.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";

const RESOURCE = "service:helloworld:Helloworld.Call";

t.test("a service calls another, as long as the rules allow it", async (t) => {
  const data = await installation(t.testdir());
  const server = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => server.stop());
  const authority = server.address("gRPC");
  const service = await start(["service", "helloworld"], { PORTICO_DATA: data, PORTICO_AUTHORITY: authority });
  t.teardown(() => service.stop());
  const http = server.address("HTTP");
  const admin = await administrator(http, data);
  const rule = { id: "front", scope: "service:front", access: "GRANTED", resource: RESOURCE };
  await call(`${http}/v1/auth/Rules/Create`, { rule }, admin);
  await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin);
  const enrolled = await call(`${http}/v1/auth/Enrolments/Create`, { name: "front" }, admin);
  const token: Metadata = [["authorization", `Bearer ${(enrolled.body as { secret: string }).secret}`]];

  const channels = [authority, service.address("gRPC")].map((address) => new GrpcChannel(parseAddress(address)));
  t.teardown(() => channels.map((channel) => channel.close()));
  const [toAuthority, toService] = channels as [GrpcChannel, GrpcChannel];
  const hello = (metadata: Metadata) => unary(toService, HelloworldService.call, { name: "Ada" }, { metadata });
  const ask = () => delegate({ channel: toAuthority, metadata: token, resource: RESOURCE });

  await t.rejects(hello([]), { code: Code.UNAUTHENTICATED }, "without a context it is nobody");
  await t.rejects(hello(token), { code: Code.UNAUTHENTICATED }, "its enrolment token opens no other service");
  const { metadata } = await ask();
  t.equal((await hello(metadata)).message, "Hello Ada");
  await call(`${http}/v1/auth/Rules/Delete`, { id: "front" }, admin);
  await t.rejects(hello(metadata), { code: Code.UNAUTHENTICATED }, "what it was issued is good no longer");
  await t.rejects(ask(), { code: Code.UNAUTHENTICATED }, "and nothing more is issued");
});
