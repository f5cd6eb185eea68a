// While the guard lets no message of a stream pass, the messages of both sides wait in the gateway.
// Afterwards all are passed on in order.
import { setImmediate as turn } from "node:timers/promises";
import t from "tap";
import { EndpointTarget } from "../../../gateway/catalog/target.js";
import { StreamCall, type StreamCallOptions } from "../../../gateway/stages/stream-call.js";
import type { Admission } from "../../../src/call/admission.js";
import { Code, StatusError } from "../../../src/errors.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { RawService, rawService } from "../../rpc/raw-service.js";
import { dispatcherOf } from "../../rpc/serve.js";
import { TableGuard } from "../../rpc/table-guard.js";
import { until } from "../../support/until.js";

/** What the service has received. */
const received: string[] = [];
const dispatcher = dispatcherOf([
  rawService({
    async *chat(requests) {
      for await (const request of requests) {
        received.push(`${request}`);
        if (`${request}` === "fail") throw new StatusError(Code.ABORTED, "as told");
        yield request;
      }
    },
  }),
]);
const { path } = RawService.chat;
const endpoint = dispatcher.endpoints.find((endpoint) => endpoint.path === path) as Admission["endpoint"];

async function turns(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await turn();
}

/** Opens a stream whose first message has been sent and returned. */
async function open() {
  received.length = 0;
  const guard = new TableGuard();
  const admission = { endpoint, caller: undefined, namespace: "default" };
  const target = new EndpointTarget(
    {} as EndpointTarget["endpoint"],
    new InProcessChannel(dispatcher),
    {} as EndpointTarget["contract"],
    {
      identity: "none",
    },
  );
  const begin = async () => ({ path, metadata: [], admission });
  const options = {
    target,
    guard,
    admission,
    deadlineMonotonicMs: undefined,
    begin,
    completeDetails() {},
  } as unknown as StreamCallOptions;
  const got: string[] = [];
  const ends: (Error | undefined)[] = [];
  let drained = 0;
  const call = new StreamCall(options, {
    onMessage: (message) => got.push(`${message}`),
    onDrain: () => drained++,
    onClose: (error) => ends.push(error),
  });
  call.send(Buffer.from("first"));
  await until(() => got.length === 1);
  const before = drained;
  return { guard, call, got, ends, drained: () => drained - before };
}

const ALL = ["first", "a", "b", "c"];

t.test("messages of the client wait, and the client is asked for no more", async (t) => {
  const { guard, call, got, ends, drained } = await open();
  guard.passing = false;
  for (const text of ["a", "b", "c"]) t.equal(call.send(Buffer.from(text)), false);
  call.end();
  await turns();
  t.same([received, drained()], [["first"], 0]);
  guard.resume();
  await until(() => ends.length === 1);
  t.same([received, got, ends, drained()], [ALL, ALL, [undefined], 1]);
});

t.test("messages of the service wait, and its end comes after them", async (t) => {
  const { guard, call, got, ends } = await open();
  for (const text of ["a", "b", "c"]) call.send(Buffer.from(text));
  call.end();
  guard.passing = false;
  await turns();
  t.same([got, ends], [["first"], []]);
  guard.resume();
  await until(() => ends.length === 1);
  t.same([got, ends], [ALL, [undefined]]);
});

t.test("a failure of the service comes after the messages before it", async (t) => {
  const { guard, call, got, ends } = await open();
  for (const text of ["a", "fail"]) call.send(Buffer.from(text));
  guard.passing = false;
  await turns();
  guard.resume();
  await until(() => ends.length === 1);
  t.same(got, ["first", "a"]);
  t.match(ends, [{ code: Code.ABORTED }]);
});

t.test("a client that reads slowly is sent no more because messages may pass again", async (t) => {
  const { guard, call, got } = await open();
  guard.passing = false;
  call.send(Buffer.from("a"));
  guard.resume();
  call.pause();
  call.send(Buffer.from("b"));
  guard.passing = false;
  guard.resume();
  await turns();
  t.same(got, ["first"]);
  call.resume();
  await until(() => got.length === 3);
  t.same(got, ["first", "a", "b"]);
  call.stop(new Error("the end of the test"));
});

t.test("a stream that is refused while messages wait passes none of them", async (t) => {
  const { guard, call, got, ends } = await open();
  call.send(Buffer.from("a"));
  guard.passing = false;
  call.send(Buffer.from("b"));
  await turns();
  guard.close(endpoint.name);
  guard.resume();
  await turns();
  t.same([received, got], [["first", "a"], ["first"]]);
  t.match(ends, [{ code: Code.UNAUTHENTICATED }]);
});
