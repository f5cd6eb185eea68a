// While the guard lets no message of a stream pass, the messages of both sides wait in the gateway.
// Afterwards all are passed on in order. A message that a limit counts waits, too.
import { setImmediate as turn } from "node:timers/promises";
import t from "tap";
import { EndpointTarget } from "../../../gateway/catalog/target.js";
import { StreamCall, type StreamCallOptions } from "../../../gateway/stages/stream-call.js";
import type { Admission } from "../../../src/call/admission.js";
import type { LimitedCall } from "../../../src/call/limited-call.js";
import { Code, StatusError } from "../../../src/errors.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { RawService, rawService } from "../../rpc/raw-service.js";
import { dispatcherOf } from "../../rpc/serve.js";
import { TableGuard } from "../../rpc/table-guard.js";
import { type Deferred, deferred } from "../../support/deferred.js";
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

/** A stream without a message. */
function opened(limited?: LimitedCall) {
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
    limited,
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
  return { guard, call, got, ends, drained: () => drained };
}

/** Opens a stream whose first message has been sent and returned. */
async function open(limited?: LimitedCall) {
  const { drained, ...stream } = opened(limited);
  stream.call.send(Buffer.from("first"));
  await until(() => stream.got.length === 1);
  const before = drained();
  return { ...stream, drained: () => drained() - before };
}

/** Grants at once, except the messages whose numbers are in `later`. */
function counting(...later: number[]) {
  const held: Deferred<void>[] = [];
  let messages = 0;
  const message = (): void | Promise<void> => {
    if (!later.includes(++messages)) return undefined;
    const waiting = deferred();
    held.push(waiting);
    return waiting.promise;
  };
  return { limited: { state: undefined, message, end() {} }, held };
}

t.test("a stream does not end before the message that is being counted", async (t) => {
  const { limited, held } = counting(2);
  const { call, got, ends } = await open(limited);
  t.equal(call.send(Buffer.from("a")), false);
  call.end();
  await turns();
  t.same([received, ends], [["first"], []]);
  held[0]?.resolve();
  await until(() => ends.length === 1);
  t.same([received, got, ends], [["first", "a"], ["first", "a"], [undefined]]);
});

t.test("a stream that opens while a message is being counted does not end before it", async (t) => {
  const { limited, held } = counting(2);
  const { call, got, ends } = opened(limited);
  for (const text of ["a", "b"]) t.equal(call.send(Buffer.from(text)), false);
  call.end();
  await until(() => got.length === 1);
  await turns();
  t.same([received, ends], [["a"], []]);
  held[0]?.resolve();
  await until(() => ends.length === 1);
  t.same([received, ends], [["a", "b"], [undefined]]);
});

t.test("a message that has been counted waits until the guard lets it pass", async (t) => {
  const { limited, held } = counting(2);
  const { guard, call, got } = await open(limited);
  call.send(Buffer.from("a"));
  guard.passing = false;
  held[0]?.resolve();
  await turns();
  t.same(received, ["first"]);
  guard.resume();
  await until(() => got.length === 2);
});

t.test("a refusal ends the stream after the method that sends has returned", async (t) => {
  const refused = new StatusError(Code.RESOURCE_EXHAUSTED, "used up");
  let messages = 0;
  const message = (): void => {
    if (++messages > 1) throw refused;
  };
  const { call, ends } = await open({ state: undefined, message, end() {} });
  t.equal(call.send(Buffer.from("a")), false);
  t.equal(call.send(Buffer.from("b")), false);
  t.same(ends, []);
  await until(() => ends.length === 1);
  t.same([ends, received, messages], [[refused], ["first"], 2]);
});

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
