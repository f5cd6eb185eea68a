/**
 * The client's side of the interoperability tests, over any channel. The cases have the names that
 * gRPC uses in all languages.
 */
import type { Test } from "tap";
import type { Metadata } from "../../../../src/call/metadata.js";
import { Code } from "../../../../src/errors.js";
import type { Channel, Status } from "../../../../src/rpc/channel.js";
import { stream, unary } from "../../../../src/rpc/client.js";
import { payload, sizeOfPayload, TestService } from "./messages.js";
import { ECHO_HEADER, ECHO_TRAILER } from "./service.js";

const SIZES = { request: 271_828, response: 314_159 };
const UPLOADS = [27_182, 8, 1_828, 45_904];
const DOWNLOADS = [31_415, 9, 2_653, 58_979];

const SPECIAL = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";

const duplex = (size: number, upload: number) => ({
  responseParameters: [{ size }],
  payload: payload(upload),
});

async function rejection(promise: Promise<unknown>): Promise<{ code: Code; message: string }> {
  const error = await promise.then(
    () => undefined,
    (error) => error,
  );
  if (error === undefined) throw new Error("the call did not fail");
  return error;
}

async function collect<T>(responses: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const response of responses) all.push(response);
  return all;
}

/** A call with its response headers and its status. */
function whole(channel: Channel, path: string, metadata: Metadata, request: Buffer) {
  return new Promise<{ headers: Metadata; status: Status }>((resolve) => {
    let headers: Metadata = [];
    const call = channel.open(
      { path, metadata, deadlineMonotonicMs: performance.now() + 10_000 },
      {
        onHeaders(sent) {
          headers = sent;
        },
        onMessage() {},
        onEnd: (status) => resolve({ headers, status }),
      },
    );
    call.send(request);
    call.end();
  });
}

export const CASES: Record<string, (t: Test, channel: Channel) => Promise<void>> = {
  async empty_unary(t, channel) {
    t.same(await unary(channel, TestService.emptyCall, {}), {});
  },

  async large_unary(t, channel) {
    const request = { responseSize: SIZES.response, payload: payload(SIZES.request) };
    t.equal(sizeOfPayload(await unary(channel, TestService.unaryCall, request)), SIZES.response);
  },

  async client_streaming(t, channel) {
    const { send, end, responses } = stream(channel, TestService.streamingInputCall);
    for (const size of UPLOADS) send({ payload: payload(size) });
    end();
    t.same(await collect(responses), [{ aggregatedPayloadSize: 74_922 }]);
  },

  async server_streaming(t, channel) {
    const { send, end, responses } = stream(channel, TestService.streamingOutputCall);
    send({ responseParameters: DOWNLOADS.map((size) => ({ size })) });
    end();
    t.same((await collect(responses)).map(sizeOfPayload), DOWNLOADS);
  },

  async ping_pong(t, channel) {
    const { send, end, responses } = stream(channel, TestService.fullDuplexCall);
    const sizes: number[] = [];
    send(duplex(DOWNLOADS[0] as number, UPLOADS[0] as number));
    for await (const response of responses) {
      sizes.push(sizeOfPayload(response));
      const [size, upload] = [DOWNLOADS[sizes.length], UPLOADS[sizes.length]];
      if (size === undefined || upload === undefined) end();
      else send(duplex(size, upload));
    }
    t.same(sizes, DOWNLOADS);
  },

  async empty_stream(t, channel) {
    const { end, responses } = stream(channel, TestService.fullDuplexCall);
    end();
    t.same(await collect(responses), []);
  },

  async custom_metadata(t, channel) {
    const metadata: Metadata = [
      [ECHO_HEADER, "test_initial_metadata_value"],
      [ECHO_TRAILER, Uint8Array.of(0xab, 0xab, 0xab)],
    ];
    const request = { responseSize: SIZES.response, payload: payload(SIZES.request) };
    for (const [method, message] of [
      [TestService.unaryCall, request],
      [TestService.fullDuplexCall, duplex(SIZES.response, SIZES.request)],
    ] as const) {
      const { headers, status } = await whole(channel, method.path, metadata, method.requestSerialize(message));
      t.equal(status.code, Code.OK);
      t.match(
        headers.find(([name]) => name === ECHO_HEADER),
        [ECHO_HEADER, "test_initial_metadata_value"],
      );
      t.same([...(status.trailers.find(([name]) => name === ECHO_TRAILER)?.[1] ?? [])], [0xab, 0xab, 0xab]);
    }
  },

  async status_code_and_message(t, channel) {
    const responseStatus = { code: 2, message: "test status message" };
    const told = { code: Code.UNKNOWN, message: "test status message" };
    t.match(await rejection(unary(channel, TestService.unaryCall, { responseStatus })), told);
    const { send, end, responses } = stream(channel, TestService.fullDuplexCall);
    send({ responseStatus });
    end();
    t.match(await rejection(collect(responses)), told);
  },

  async special_status_message(t, channel) {
    const responseStatus = { code: 2, message: SPECIAL };
    const told = await rejection(unary(channel, TestService.unaryCall, { responseStatus }));
    t.match(told, { code: Code.UNKNOWN, message: SPECIAL });
  },

  async unimplemented_method(t, channel) {
    const method = { ...TestService.emptyCall, path: "/grpc.testing.TestService/UnimplementedCall" };
    t.equal((await rejection(unary(channel, method, {}))).code, Code.UNIMPLEMENTED);
  },

  async unimplemented_service(t, channel) {
    const method = { ...TestService.emptyCall, path: "/grpc.testing.UnimplementedService/UnimplementedCall" };
    t.equal((await rejection(unary(channel, method, {}))).code, Code.UNIMPLEMENTED);
  },

  async cancel_after_begin(t, channel) {
    const { cancel, responses } = stream(channel, TestService.streamingInputCall);
    cancel();
    t.equal((await rejection(collect(responses))).code, Code.CANCELLED);
  },

  async cancel_after_first_response(t, channel) {
    const { send, cancel, responses } = stream(channel, TestService.fullDuplexCall);
    send(duplex(31_415, 27_182));
    const reading = (async () => {
      for await (const response of responses) {
        t.equal(sizeOfPayload(response), 31_415);
        cancel();
      }
    })();
    t.equal((await rejection(reading)).code, Code.CANCELLED);
  },

  async timeout_on_sleeping_server(t, channel) {
    const { send, responses } = stream(channel, TestService.fullDuplexCall, {
      deadlineMonotonicMs: performance.now() + 1,
    });
    send({ payload: payload(27_182) });
    t.equal((await rejection(collect(responses))).code, Code.DEADLINE_EXCEEDED);
  },
};
