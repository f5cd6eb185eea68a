// The channel with servers that use the protocol in ways that Portico's server never does, both
// allowed and forbidden.
import { deflateSync, gzipSync } from "node:zlib";
import t, { type Test } from "tap";
import type { Metadata } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { ErrorCode } from "../../../src/http2/errors.js";
import { Flag, FrameType } from "../../../src/http2/frames.js";
import type { Status } from "../../../src/rpc/channel.js";
import type { Http2Channel } from "../../../src/rpc/http2/channel.js";
import {
  block,
  frame,
  goaway,
  headers,
  isType,
  message,
  type RawPeer,
  RESPONSE,
  rawServer,
  reset,
  SETTINGS,
  uint32,
} from "../../http2/peer.js";
import { channelTo } from "../../http2/serve.js";

const END = Flag.END_HEADERS | Flag.END_STREAM;
const OK = headers(1, [["grpc-status", "0"]], END);
const RESPONSE_DATA = frame(FrameType.DATA, 0, 1, message(Buffer.from("b")));

interface Outcome {
  readonly headers: Metadata | undefined;
  readonly messages: string[];
  readonly status: Status;
}

function call(
  channel: Http2Channel,
  extra: { metadata?: Metadata; time?: number; end?: boolean } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const messages: string[] = [];
    let received: Metadata | undefined;
    const { metadata = [], time = 10_000 } = extra;
    const opened = channel.open(
      { path: "/raw.Raw/One", metadata, deadlineMonotonicMs: performance.now() + time },
      {
        onHeaders: (sent) => {
          received = sent;
        },
        onMessage: (bytes) => messages.push(Buffer.from(bytes).toString()),
        onEnd: (status) => resolve({ headers: received, messages, status }),
      },
    );
    opened.send(Buffer.from("a"));
    if (extra.end !== false) opened.end();
  });
}

/** Connects a channel to a raw server whose settings the channel has acknowledged. */
async function connect(t: Test, settings = SETTINGS) {
  const server = await rawServer(t);
  const channel = channelTo(t, server.address);
  const peer = await server.next();
  await introduce(peer, settings);
  return { server, channel, peer };
}

async function introduce(peer: RawPeer, settings = SETTINGS): Promise<void> {
  peer.send(settings);
  await peer.next(({ type, flags }) => type === FrameType.SETTINGS && flags === Flag.ACK);
}

const requested = (peer: RawPeer) => peer.next(isType(FrameType.HEADERS));

const large = block([...RESPONSE, ["x-large", "v".repeat(200)]]);

/** Responses of one message and the status OK. */
const PROPER: [what: string, response: Buffer[]][] = [
  ["headers, a message, trailers", [headers(1, RESPONSE), RESPONSE_DATA, OK]],
  [
    "padding everywhere",
    [
      frame(
        FrameType.HEADERS,
        Flag.END_HEADERS | Flag.PADDED,
        1,
        Buffer.concat([uint8(9), block(RESPONSE), Buffer.alloc(9)]),
      ),
      frame(FrameType.DATA, Flag.PADDED, 1, Buffer.concat([uint8(5), message(Buffer.from("b")), Buffer.alloc(5)])),
      OK,
    ],
  ],
  [
    "priorities",
    [
      frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.PRIORITY, 1, Buffer.concat([Buffer.alloc(5), block(RESPONSE)])),
      frame(FrameType.PRIORITY, 0, 1, Buffer.alloc(5)),
      RESPONSE_DATA,
      OK,
    ],
  ],
  [
    "CONTINUATION",
    [
      frame(FrameType.HEADERS, 0, 1, large.subarray(0, 10)),
      frame(FrameType.CONTINUATION, 0, 1, large.subarray(10, 100)),
      frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, large.subarray(100)),
      RESPONSE_DATA,
      OK,
    ],
  ],
  [
    "interim responses",
    [headers(1, [[":status", "103"]]), headers(1, [[":status", "100"]]), headers(1, RESPONSE), RESPONSE_DATA, OK],
  ],
  [
    "a message in many frames",
    [
      headers(1, RESPONSE),
      ...[...message(Buffer.from("b"))].map((byte) => frame(FrameType.DATA, 0, 1, uint8(byte))),
      OK,
    ],
  ],
  [
    "frames of unknown types between the others",
    [frame(0x42, 0, 1), headers(1, RESPONSE), frame(0x42, 0, 0), RESPONSE_DATA, OK],
  ],
  ["trailers, then a reset with NO_ERROR", [headers(1, RESPONSE), RESPONSE_DATA, OK, reset(1, ErrorCode.NO_ERROR)]],
  [
    "SETTINGS with an unknown setting between the others",
    [headers(1, RESPONSE), frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(6)), RESPONSE_DATA, OK],
  ],
];

function uint8(value: number): Buffer {
  return Buffer.from([value]);
}

for (const [what, response] of PROPER) {
  t.test(`a call succeeds with this response: ${what}`, async (t) => {
    const { channel, peer } = await connect(t);
    const outcome = call(channel);
    await requested(peer);
    peer.send(...response);
    t.match(await outcome, { messages: ["b"], status: { code: Code.OK } });
  });
}

/** Responses that end a call with an error, and its status. */
const IMPROPER: [what: string, response: Buffer[], status: Partial<Status>][] = [
  ["REFUSED_STREAM", [reset(1, ErrorCode.REFUSED_STREAM)], { code: Code.UNAVAILABLE, neverSent: true }],
  ["CANCEL", [reset(1, ErrorCode.CANCEL)], { code: Code.CANCELLED }],
  ["ENHANCE_YOUR_CALM", [reset(1, ErrorCode.ENHANCE_YOUR_CALM)], { code: Code.RESOURCE_EXHAUSTED }],
  ["INADEQUATE_SECURITY", [reset(1, ErrorCode.INADEQUATE_SECURITY)], { code: Code.PERMISSION_DENIED }],
  ["INTERNAL_ERROR", [reset(1, ErrorCode.INTERNAL_ERROR)], { code: Code.INTERNAL }],
  ["NO_ERROR before the end", [reset(1, ErrorCode.NO_ERROR)], { code: Code.INTERNAL }],
  [
    "HTTP status 503 from a proxy",
    [
      headers(1, [
        [":status", "503"],
        ["content-type", "text/html"],
      ]),
    ],
    { code: Code.UNAVAILABLE },
  ],
  ["HTTP status 404 without a body", [headers(1, [[":status", "404"]], END)], { code: Code.UNIMPLEMENTED }],
  [
    "another content type",
    [
      headers(1, [
        [":status", "200"],
        ["content-type", "text/html"],
      ]),
    ],
    { code: Code.UNKNOWN },
  ],
  ["trailers without a status", [headers(1, RESPONSE), headers(1, [["x-a", "b"]], END)], { code: Code.UNKNOWN }],
  ["no trailers", [headers(1, RESPONSE), frame(FrameType.DATA, Flag.END_STREAM, 1)], { code: Code.UNKNOWN }],
  [
    "trailers only",
    [headers(1, [...RESPONSE, ["grpc-status", "5"], ["grpc-message", "%C3%A4"]], END)],
    { code: Code.NOT_FOUND, message: "ä" },
  ],
  [
    "half a message",
    [headers(1, RESPONSE), frame(FrameType.DATA, 0, 1, message(Buffer.from("b")).subarray(0, 5)), OK],
    { code: Code.INTERNAL },
  ],
  [
    "a message that is too large",
    [headers(1, RESPONSE), frame(FrameType.DATA, 0, 1, Buffer.from([0, 0xff, 0, 0, 0]))],
    { code: Code.RESOURCE_EXHAUSTED },
  ],
  [
    "an unknown flag",
    [headers(1, RESPONSE), frame(FrameType.DATA, 0, 1, message(Buffer.from("b"), 2))],
    { code: Code.INTERNAL },
  ],
  ["an unknown encoding", [headers(1, [...RESPONSE, ["grpc-encoding", "snappy"]])], { code: Code.INTERNAL }],
  [
    "headers that are too large",
    [headers(1, [...RESPONSE, ["x-a", "v".repeat(16_000)], ["x-b", "v".repeat(300)]])],
    { code: Code.RESOURCE_EXHAUSTED },
  ],
  [
    "headers with too many binary values",
    [headers(1, [...RESPONSE, ["x-a-bin", ",".repeat(256)]])],
    { code: Code.RESOURCE_EXHAUSTED },
  ],
  [
    "trailers with too many binary values",
    [
      headers(1, RESPONSE),
      headers(
        1,
        [
          ["grpc-status", "0"],
          ["x-a-bin", ",".repeat(256)],
        ],
        END,
      ),
    ],
    { code: Code.RESOURCE_EXHAUSTED },
  ],
  ["malformed headers", [headers(1, [...RESPONSE, ["Upper", "x"]])], { code: Code.INTERNAL }],
  ["headers without a status", [headers(1, [["content-type", "application/grpc"]])], { code: Code.INTERNAL }],
  ["an interim response with END_STREAM", [headers(1, [[":status", "103"]], END)], { code: Code.INTERNAL }],
  ["a second list of headers", [headers(1, RESPONSE), headers(1, RESPONSE)], { code: Code.INTERNAL }],
];

for (const [what, response, status] of IMPROPER) {
  t.test(`a call fails with this response, and the connection stays open: ${what}`, async (t) => {
    const { channel, peer } = await connect(t);
    const outcome = call(channel);
    await requested(peer);
    peer.send(...response);
    t.match((await outcome).status, status);
    const next = call(channel);
    const request = await requested(peer);
    t.equal(request?.streamId, 3);
    peer.send(headers(3, [...RESPONSE, ["grpc-status", "0"]], END));
    t.match(await next, { status: { code: Code.OK } });
  });
}

t.test("reads a message that is large when decompressed, after its trailers have arrived", async (t) => {
  const { channel, peer } = await connect(t);
  const outcome = call(channel);
  await requested(peer);
  const text = "b".repeat(1_000_000);
  const response = frame(FrameType.DATA, 0, 1, message(gzipSync(text), 1));
  peer.send(headers(1, [...RESPONSE, ["grpc-encoding", "gzip"]]), response, OK);
  t.same((await outcome).messages, [text]);
  t.match(await outcome, { status: { code: Code.OK } });
});

for (const [encoding, compressed] of [
  ["gzip", gzipSync("b")],
  ["deflate", deflateSync("b")],
] as const) {
  t.test(`reads messages that the service compressed with ${encoding}`, async (t) => {
    const { channel, peer } = await connect(t);
    const outcome = call(channel);
    await requested(peer);
    peer.send(headers(1, [...RESPONSE, ["grpc-encoding", encoding]]));
    peer.send(frame(FrameType.DATA, 0, 1, message(compressed, 1)), OK);
    t.match(await outcome, { messages: ["b"], status: { code: Code.OK } });
  });
}

/** Frames that end the connection, and the error code of its GOAWAY. */
const BROKEN: [what: string, bytes: Buffer, errorCode: number][] = [
  ["PUSH_PROMISE", frame(FrameType.PUSH_PROMISE, Flag.END_HEADERS, 1, uint32(2)), ErrorCode.PROTOCOL_ERROR],
  ["HEADERS on an idle stream", headers(5, RESPONSE), ErrorCode.PROTOCOL_ERROR],
  ["HEADERS on a stream with an even ID", headers(2, RESPONSE), ErrorCode.PROTOCOL_ERROR],
  ["DATA on an idle stream", frame(FrameType.DATA, 0, 5), ErrorCode.PROTOCOL_ERROR],
  ["DATA on stream 0", frame(FrameType.DATA, 0, 0), ErrorCode.PROTOCOL_ERROR],
  ["padding longer than the frame", frame(FrameType.DATA, Flag.PADDED, 1, uint8(1)), ErrorCode.PROTOCOL_ERROR],
  ["CONTINUATION without HEADERS", frame(FrameType.CONTINUATION, 0, 1), ErrorCode.PROTOCOL_ERROR],
  [
    "a frame within a header block",
    Buffer.concat([headers(1, RESPONSE, 0), frame(FrameType.PING, 0, 0, Buffer.alloc(8))]),
    ErrorCode.PROTOCOL_ERROR,
  ],
  [
    "an HPACK index that does not exist",
    frame(FrameType.HEADERS, Flag.END_HEADERS, 1, uint8(0xff)),
    ErrorCode.COMPRESSION_ERROR,
  ],
  ["SETTINGS of 5 bytes", frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(5)), ErrorCode.FRAME_SIZE_ERROR],
  [
    "a setting that allows pushes",
    frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 2, 0, 0, 0, 1])),
    ErrorCode.PROTOCOL_ERROR,
  ],
  [
    "a window that is too large",
    frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0xff, 0, 0, 0])),
    ErrorCode.FLOW_CONTROL_ERROR,
  ],
  [
    "a maximum frame size that is too small",
    frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 5, 0, 0, 0, 1])),
    ErrorCode.PROTOCOL_ERROR,
  ],
  ["a frame that is too large", frame(FrameType.DATA, 0, 1, Buffer.alloc(16_385)), ErrorCode.FRAME_SIZE_ERROR],
];

for (const [what, bytes, errorCode] of BROKEN) {
  t.test(`${what} ends the connection, and the channel opens a new one`, async (t) => {
    const { server, channel, peer } = await connect(t);
    const outcome = call(channel);
    await requested(peer);
    peer.send(bytes);
    t.equal((await peer.next(isType(FrameType.GOAWAY)))?.payload.readUInt32BE(4), errorCode);
    t.match((await outcome).status, { code: Code.UNAVAILABLE, neverSent: undefined });
    await introduce(await server.next());
  });
}

t.test(
  "GOAWAY: calls that the server has seen continue, others count as never sent, new ones use a new connection",
  async (t) => {
    const { server, channel, peer } = await connect(t);
    const seen = call(channel);
    const unseen = call(channel);
    await peer.next(({ streamId }) => streamId === 3);
    peer.send(headers(1, RESPONSE), goaway(1, ErrorCode.NO_ERROR));
    t.match((await unseen).status, { code: Code.UNAVAILABLE, neverSent: true });
    const later = call(channel);
    const replacement = await server.next();
    await introduce(replacement);
    t.equal((await requested(replacement))?.streamId, 1);
    replacement.send(headers(1, RESPONSE), RESPONSE_DATA, OK);
    t.match((await later).status, { code: Code.OK });
    peer.send(RESPONSE_DATA, OK);
    t.match(await seen, { messages: ["b"], status: { code: Code.OK } });
    await peer.ended();
  },
);

t.test("calls above the server's limit wait for their turn", async (t) => {
  const { channel, peer } = await connect(t, frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 1])));
  const [first, second] = [call(channel), call(channel)];
  const cancelled = call(channel, { time: 50 });
  await requested(peer);
  t.equal((await cancelled).status.code, Code.DEADLINE_EXCEEDED, "waiting has a deadline too");
  t.notOk(peer.frames.some(({ streamId }) => streamId > 1));
  peer.send(headers(1, RESPONSE), RESPONSE_DATA, OK);
  t.equal((await first).status.code, Code.OK);
  t.equal((await requested(peer))?.streamId, 3);
  peer.send(headers(3, [...RESPONSE, ["grpc-status", "0"]], END));
  t.equal((await second).status.code, Code.OK);
});

t.test("a call fails when too many calls wait", async (t) => {
  const { channel } = await connect(t, frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 0])));
  const calls = Array.from({ length: 4_097 }, () => call(channel));
  t.match((await calls.at(-1))?.status, { code: Code.UNAVAILABLE, neverSent: true });
});

t.test("a request has the headers that gRPC over HTTP/2 prescribes", async (t) => {
  const { channel, peer } = await connect(t);
  const metadata: Metadata = [
    ["x-text", "a"],
    ["x-bytes-bin", Uint8Array.of(0, 1)],
  ];
  void call(channel, { metadata, time: 5_000_000 });
  const request = await requested(peer);
  const {
    "grpc-timeout": timeout,
    "user-agent": agent,
    ":authority": authority,
    ...rest
  } = peer.fields(request as never);
  t.match(timeout, /^(49\d{5}|5000000)m$/);
  t.match(agent, /^grpc-node-portico/);
  t.match(authority, /^127\.0\.0\.1:\d+$/);
  t.same(rest, {
    ":method": "POST",
    ":scheme": "http",
    ":path": "/raw.Raw/One",
    te: "trailers",
    "content-type": "application/grpc",
    "grpc-accept-encoding": "identity,deflate,gzip",
    "x-text": "a",
    "x-bytes-bin": "AAE",
  });
  t.equal(request?.flags, Flag.END_HEADERS);
  const data = await peer.next(isType(FrameType.DATA));
  t.same(data?.payload, message(Buffer.from("a")));
  t.equal(data?.flags, Flag.END_STREAM, "on the message itself");
});

t.test("a cancelled call resets its stream; a call that was never written sends no frame", async (t) => {
  const { channel, peer } = await connect(t);
  const outcome = call(channel, { time: 30 });
  t.equal((await outcome).status.code, Code.DEADLINE_EXCEEDED);
  t.equal((await peer.next(isType(FrameType.RST_STREAM)))?.payload.readUInt32BE(), ErrorCode.CANCEL);
  const silent = channel.open(
    { path: "/raw.Raw/One", metadata: [], deadlineMonotonicMs: performance.now() + 5_000 },
    { onMessage() {}, onEnd() {} },
  );
  silent.cancel();
  void call(channel);
  t.equal((await requested(peer))?.streamId, 5, "its ID is skipped");
});

t.test("the channel obeys the flow-control windows of connection and stream", async (t) => {
  const { channel, peer } = await connect(t, frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 3])));
  void call(channel);
  t.equal((await peer.next(isType(FrameType.DATA)))?.payload.length, 3, "of 6 bytes");
  t.ok(await peer.answersPing());
  t.notOk(peer.frames.some(isType(FrameType.DATA)), "no more than that");
  peer.send(frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(2)));
  t.equal((await peer.next(isType(FrameType.DATA)))?.payload.length, 2);
  peer.send(frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 4])));
  const last = await peer.next(isType(FrameType.DATA));
  t.equal(last?.payload.length, 1);
  t.equal(last?.flags, Flag.END_STREAM);
});
