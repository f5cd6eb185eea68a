// Portico's channel and server fulfil the channel contract together, and each with grpc-js at the
// other end.
import t from "tap";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { channelContract, MAX_BODY } from "../../contract/channel.js";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { dispatcherOf, listen } from "../serve.js";

t.test("Portico's channel to Portico's server", async (t) => {
  channelContract(t, async (t, service) => {
    const server = await listenHttp2(t, dispatcherOf([service]));
    return { channel: channelTo(t, server.address), kill: () => void server.close(0) };
  });
});

t.test("Portico's channel to a grpc-js server", async (t) => {
  channelContract(t, async (t, service) => {
    const server = await listen(t, dispatcherOf([service]));
    return { channel: channelTo(t, server.address), kill: () => void server.close(0) };
  });
});

t.test("a grpc-js channel to Portico's server", async (t) => {
  channelContract(t, async (t, service) => {
    const server = await listenHttp2(t, dispatcherOf([service]));
    const channel = new GrpcChannel(server.address, { maxBody: MAX_BODY });
    t.teardown(() => channel.close());
    return { channel, kill: () => void server.close(0) };
  });
});
