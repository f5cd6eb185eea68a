import t from "tap";
import type { Channel } from "../../src/rpc/channel.js";
import { unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { channelContract } from "../contract/channel.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf, stayAlive } from "./serve.js";

stayAlive(t);

channelContract(t, async (t, service) => {
  const channel = new InProcessChannel(dispatcherOf([service]));
  t.teardown(() => channel.close());
  return { channel, kill: () => channel.close() };
});

t.test("signs no caller assertion for an endpoint that reads no metadata", async (t) => {
  const channel = new InProcessChannel(dispatcherOf([rawService({ one: (request) => request })]));
  const callerAssertion = {
    get metadata() {
      return t.fail("it is read") as never;
    },
  };
  const asGateway: Channel = {
    state: "ready",
    open: (start, listener) => channel.open({ ...start, callerAssertion }, listener),
    close() {},
  };
  t.equal(`${await unary(asGateway, RawService.one, Buffer.from("a"))}`, "a");
});
