// The channel passes the contract with grpc-js at the other end, its messages compressed.
import t from "tap";
import { channelContract } from "../../contract/channel.js";
import { channelTo } from "../../http2/serve.js";
import { dispatcherOf, listen } from "../serve.js";

t.test("ours to grpc-js, gzip", async (t) => {
  channelContract(t, async (t, service) => {
    const server = await listen(t, dispatcherOf([service]));
    return { channel: channelTo(t, server.address, { encoding: "gzip" }), kill: () => void server.close(0) };
  });
});
