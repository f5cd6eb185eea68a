// While the guard lets no message of a stream pass, neither the endpoint nor the caller gets any.
// Afterwards all messages are delivered in order.
import { setImmediate as turn } from "node:timers/promises";
import t from "tap";
import { stream } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { deferred } from "../support/deferred.js";
import { until } from "../support/until.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";
import { TableGuard } from "./table-guard.js";

/**
 * Waits several turns of the event loop, so that everything that can happen at once has happened.
 */
async function turns(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await turn();
}

for (const messages of [1, 100]) {
  t.test(`requests wait for the guard, then the endpoint gets them in order: ${messages} waiting`, async (t) => {
    const guard = new TableGuard();
    const got: string[] = [];
    const began = deferred();
    const service = rawService({
      async upload(requests) {
        began.resolve();
        for await (const request of requests) got.push(`${request}`);
        return Buffer.from(`${got.length}`);
      },
    });
    const opened = stream(new InProcessChannel(dispatcherOf([service], { guard })), RawService.upload);
    opened.send(Buffer.from("first"));
    await began.promise;
    await until(() => got.length === 1);
    guard.passing = false;
    const more = Array.from({ length: messages }, (_, index) => `${index}`);
    for (const text of more) opened.send(Buffer.from(text));
    opened.end();
    await turns();
    t.same(got, ["first"]);
    guard.resume();
    for await (const response of opened.responses) t.equal(`${response}`, `${messages + 1}`);
    t.same(got, ["first", ...more]);
  });
}

t.test("responses wait for the guard, then the caller gets them in order", async (t) => {
  const guard = new TableGuard();
  const service = rawService({
    async *download() {
      for (let index = 0; index < 200; index++) yield Buffer.from(`${index}`);
    },
  });
  const opened = stream(new InProcessChannel(dispatcherOf([service], { guard })), RawService.download);
  guard.passing = false;
  opened.send(Buffer.from("a"));
  opened.end();
  const got: string[] = [];
  const read = (async () => {
    for await (const response of opened.responses) {
      got.push(`${response}`);
      // The stream is paused again and again, also while its caller reads slowly.
      if (got.length % 50 !== 0) continue;
      guard.passing = false;
      void turns().then(() => guard.resume());
    }
  })();
  await turns();
  t.same(got, []);
  guard.resume();
  await read;
  t.same(
    got,
    Array.from({ length: 200 }, (_, index) => `${index}`),
  );
  t.equal(guard.following, 0);
});

t.test("a stream that is refused while messages wait delivers none of them", async (t) => {
  const guard = new TableGuard();
  const got: string[] = [];
  const service = rawService({
    async *chat(requests) {
      for await (const request of requests) {
        got.push(`${request}`);
        yield request;
      }
    },
  });
  const opened = stream(new InProcessChannel(dispatcherOf([service], { guard })), RawService.chat);
  opened.send(Buffer.from("first"));
  const responses = opened.responses[Symbol.asyncIterator]();
  t.equal(`${(await responses.next()).value}`, "first");
  guard.passing = false;
  opened.send(Buffer.from("second"));
  guard.close("raw:Raw.Chat");
  await t.rejects(responses.next(), { message: "Unauthorized call made to raw:Raw.Chat" });
  guard.resume();
  await turns();
  t.same(got, ["first"]);
});
