/** What every kind of channel must do, together with the server at its other end. */
import type { Test } from "tap";
import { Code } from "../../src/errors.js";
import type { Channel } from "../../src/rpc/channel.js";
import type { Service } from "../../src/rpc/service.js";
import { RawService, rawService } from "../rpc/raw-service.js";
import { deferred } from "../support/deferred.js";
import { never, Recorded, start } from "./channel/calls.js";
import { endings } from "./channel/endings.js";
import { flow } from "./channel/flow.js";
import { messages } from "./channel/messages.js";
import { metadata } from "./channel/metadata.js";

export { MAX_BODY } from "./channel/calls.js";

export interface Opened {
  readonly channel: Channel;
  /** Stops the server at once, as in a crash. */
  kill(): void;
}

/** Starts a server with the service, and opens a channel to it. `t.teardown` closes both. */
export type OpenChannel = (t: Test, service: Service) => Promise<Opened>;

export function channelContract(t: Test, open: OpenChannel): void {
  for (const [behaviour, check] of Object.entries({ ...messages, ...metadata, ...endings, ...flow })) {
    t.test(behaviour, (t) => check(t, async (endpoints) => (await open(t, rawService(endpoints))).channel));
  }
  t.test("ends a call when the server is killed", (t) => serverGone(t, open));
}

async function serverGone(t: Test, open: OpenChannel): Promise<void> {
  const reached = deferred();
  const service = rawService({
    one: () => {
      reached.resolve();
      return never();
    },
    async *chat() {
      yield Buffer.from("open");
      await never();
    },
  });
  const { channel, kill } = await open(t, service);
  const [one, chat] = [new Recorded(), new Recorded()];
  const chatting = deferred();
  chat.react = () => chatting.resolve();
  channel.open(start(RawService.chat), chat);
  const call = channel.open(start(RawService.one), one);
  call.send(Buffer.from("a"));
  call.end();
  await Promise.all([reached.promise, chatting.promise]);
  kill();
  for (const recorded of [one, chat]) {
    const { code, neverSent, message } = await recorded.ended;
    t.equal(code, Code.UNAVAILABLE, message);
    t.notOk(neverSent, "it was sent");
    t.notMatch(message, /127\.0\.0\.1/, "no address of the inside");
    t.equal(recorded.ends.length, 1);
  }
}
