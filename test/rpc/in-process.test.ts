import t from "tap";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { channelContract } from "../contract/channel.js";
import { dispatcherOf, stayAlive } from "./serve.js";

stayAlive(t);

channelContract(t, async (t, service) => {
  const channel = new InProcessChannel(dispatcherOf([service]));
  t.teardown(() => channel.close());
  return { channel, kill: () => channel.close() };
});
