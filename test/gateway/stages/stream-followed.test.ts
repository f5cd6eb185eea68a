// The gateway's guard follows a stream as long as it is open, and no longer.
import t from "tap";
import { EndpointTarget } from "../../../gateway/catalog/target.js";
import { StreamCall, type StreamCallOptions } from "../../../gateway/stages/stream-call.js";
import type { Admission } from "../../../src/call/admission.js";
import { Code, StatusError } from "../../../src/errors.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { RawService, rawService } from "../../rpc/raw-service.js";
import { dispatcherOf } from "../../rpc/serve.js";
import { TableGuard } from "../../rpc/table-guard.js";

const dispatcher = dispatcherOf([
  rawService({
    async *chat(requests) {
      for await (const request of requests) {
        if (String(request) === "fail") throw new StatusError(Code.ABORTED, "as told");
        yield request;
      }
    },
  }),
]);
const { path } = RawService.chat;
const chat = dispatcher.endpoints.find((endpoint) => endpoint.path === path) as Admission["endpoint"];

interface Open {
  readonly guard: TableGuard;
  readonly call: StreamCall;
}

for (const [how, finish, expected] of [
  ["ended", ({ call }) => call.end(), undefined],
  ["failed", ({ call }) => call.send(Buffer.from("fail")), { code: Code.ABORTED }],
  ["was stopped", ({ call }) => call.stop(new Error("stopped")), { message: "stopped" }],
  ["is no longer admitted", ({ guard }) => guard.close(chat.name), { code: Code.UNAUTHENTICATED }],
] as const satisfies [string, (open: Open) => void, object | undefined][]) {
  t.test(`a stream that ${how} is no longer followed`, async (t) => {
    const guard = new TableGuard();
    const admission = { endpoint: chat, caller: undefined, namespace: "default" };
    const begin = async () => ({ path, metadata: [], admission });
    let call!: StreamCall;
    const over = new Promise<Error | undefined>((onClose) => {
      const listener = { onMessage: () => finish({ guard, call }), onDrain() {}, onClose };
      const target = new EndpointTarget(
        {} as EndpointTarget["endpoint"],
        new InProcessChannel(dispatcher),
        {} as EndpointTarget["contract"],
        {
          identity: "none",
        },
      );
      call = new StreamCall(
        {
          target,
          guard,
          admission,
          deadlineMonotonicMs: undefined,
          begin,
          completeDetails() {},
        } as unknown as StreamCallOptions,
        listener,
      );
    });
    t.equal(guard.following, 1);
    call.send(Buffer.from("a"));
    const error = await over;
    if (expected === undefined) t.equal(error, undefined);
    else t.match(error, expected);
    t.equal(guard.following, 0);
  });
}
