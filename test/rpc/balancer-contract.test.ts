import t from "tap";
import { Balancer } from "../../src/rpc/balancer.js";
import { GrpcChannel } from "../../src/rpc/grpc-js/channel.js";
import { channelContract, MAX_BODY } from "../contract/channel.js";
import { dispatcherOf, listen } from "./serve.js";

channelContract(t, async (t, service) => {
  const server = await listen(t, dispatcherOf([service]));
  const channel = new Balancer("raw");
  channel.update(new Map([["the only one", new GrpcChannel(server.address, { maxBody: MAX_BODY })]]));
  t.teardown(() => channel.close());
  return { channel, kill: () => void server.close(0) };
});
