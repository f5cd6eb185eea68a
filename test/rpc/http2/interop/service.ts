/** The server's side of the interoperability tests. */
import { setTimeout as wait } from "node:timers/promises";
import { StatusError } from "../../../../src/errors.js";
import { type Context, part, type Service } from "../../../../src/rpc/service.js";
import { descriptors, payload, sizeOfPayload, TestService } from "./messages.js";

export const ECHO_HEADER = "x-grpc-test-echo-initial";
export const ECHO_TRAILER = "x-grpc-test-echo-trailing-bin";

function echo(context: Context): void {
  const sent = (wanted: string) => context.metadata.filter(([name]) => name === wanted);
  if (sent(ECHO_HEADER).length > 0) context.sendHeaders(sent(ECHO_HEADER));
  context.setTrailers(sent(ECHO_TRAILER));
}

function check(status?: { code?: number; message?: string }): void {
  if (status?.code) throw new StatusError(status.code, status.message ?? "");
}

// biome-ignore lint/suspicious/noExplicitAny: messages are plain JSON objects here.
async function* responses(request: any, signal: AbortSignal) {
  check(request.responseStatus);
  for (const { size = 0, intervalUs = 0 } of request.responseParameters ?? []) {
    if (intervalUs > 0) await wait(intervalUs / 1000, undefined, { signal });
    yield { payload: payload(size) };
  }
}

export const testService: Service = {
  name: "interop",
  descriptors,
  parts: [
    part(TestService, {
      emptyCall: () => ({}),
      unaryCall(request, context) {
        echo(context);
        check(request.responseStatus);
        return { payload: payload(request.responseSize ?? 0) };
      },
      streamingOutputCall: (request, { signal }) => responses(request, signal),
      async streamingInputCall(requests) {
        let aggregatedPayloadSize = 0;
        for await (const request of requests) aggregatedPayloadSize += sizeOfPayload(request);
        return { aggregatedPayloadSize };
      },
      async *fullDuplexCall(requests, context) {
        echo(context);
        for await (const request of requests) yield* responses(request, context.signal);
      },
    }),
  ],
};
