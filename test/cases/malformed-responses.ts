/**
 * Malformed responses of a service, or of a program in its place, as the frames of one HTTP/2
 * stream, and the HTTP status that the gateway responds with. The gateway treats a status as one of
 * the service only if the service sent it.
 */
import { deflateSync, gzipSync } from "node:zlib";
import { CallResponse } from "../../src/gen/helloworld/helloworld.js";
import { ErrorCode } from "../../src/http2/errors.js";
import { Flag, FrameType } from "../../src/http2/frames.js";
import { block, frame, goaway, headers, message, RESPONSE, reset } from "../http2/peer.js";

export interface BrokenAnswer {
  readonly title: string;
  readonly frames: (streamId: number) => Buffer[];
  /** The status of the gateway's response. */
  readonly status: number;
  /** The status if the gateway calls through grpc-js, and why it differs. */
  readonly grpcJs?: readonly [status: number, because: string];
  /** The detail of the error. */
  readonly detail?: RegExp;
  /** Whether the server closes the connection after the frames. */
  readonly closes?: true;
}

const LAST = Flag.END_HEADERS | Flag.END_STREAM;
const HTML = [["content-type", "text/html"]] as const;
const greeting = Buffer.from(CallResponse.encode(CallResponse.fromPartial({ message: "Hello Ada" })).finish());
const MAX_MESSAGE = 4 * 2 ** 20;

const data = (id: number, bytes: Uint8Array, flags = 0): Buffer => frame(FrameType.DATA, flags, id, bytes);
const ok = (id: number): Buffer => headers(id, [["grpc-status", "0"]], LAST);
const began = (id: number, ...more: (readonly [string, string])[]): Buffer => headers(id, [...RESPONSE, ...more]);
const page = (status: number) => (id: number) => [
  headers(id, [[":status", `${status}`], ...HTML]),
  data(id, Buffer.from("<html><body>no</body></html>"), Flag.END_STREAM),
];
const bare = (status: number) => (id: number) => [headers(id, [[":status", `${status}`]], LAST)];
const trailers =
  (...fields: (readonly [string, string])[]) =>
  (id: number) => [began(id), data(id, message(greeting)), headers(id, fields, LAST)];
const body =
  (bytes: Uint8Array, ...more: (readonly [string, string])[]) =>
  (id: number) => [began(id, ...more), data(id, bytes), ok(id)];
const ended = (errorCode: number) => (id: number) => [began(id), reset(id, errorCode)];

const LARGE = block([...RESPONSE, ["x-a", "v".repeat(15_000)], ["x-b", "v".repeat(15_000)]]);
const largeHeaders = (id: number) => [
  frame(FrameType.HEADERS, 0, id, LARGE.subarray(0, 16_000)),
  frame(FrameType.CONTINUATION, Flag.END_HEADERS, id, LARGE.subarray(16_000)),
];

const gzip = ["grpc-encoding", "gzip"] as const;

const TOO_MUCH = /^odd responded with too much: a message is larger than 4194304 bytes$/;

export const BROKEN_ANSWERS: readonly BrokenAnswer[] = [
  { title: "no grpc-status", frames: trailers(["x-a", "b"]), status: 502 },
  { title: "a grpc-status that is no number", frames: trailers(["grpc-status", "fine"]), status: 502 },
  ...["", "-1", "2147483648", "99999999999", "1.5", "1e3", "0x10", "+5", "5 "].map((grpcStatus) => ({
    title: `the grpc-status "${grpcStatus}"`,
    frames: trailers(["grpc-status", grpcStatus]),
    status: 502,
  })),
  {
    title: "no trailers",
    frames: (id) => [began(id), data(id, message(greeting), Flag.END_STREAM)],
    status: 502,
  },
  { title: "headers and nothing else", frames: (id) => [headers(id, RESPONSE, LAST)], status: 502 },
  { title: "HTML with 200", frames: page(200), status: 502 },
  {
    title: "no content type",
    frames: (id) => [headers(id, [[":status", "200"]]), data(id, message(greeting)), ok(id)],
    status: 502,
  },
  { title: "bytes that are not gzip", frames: body(message(greeting, 1), gzip), status: 502 },
  { title: "gzip cut short", frames: body(message(gzipSync(greeting).subarray(0, -9), 1), gzip), status: 502 },
  {
    title: "gzip of a message over the limit",
    frames: body(message(gzipSync(Buffer.alloc(MAX_MESSAGE + 1)), 1), gzip),
    status: 502,
    detail: TOO_MUCH,
  },
  {
    title: "an encoding that was not offered",
    frames: body(message(greeting, 1), ["grpc-encoding", "snappy"]),
    status: 502,
  },
  { title: "a compressed message without an encoding", frames: body(message(deflateSync(greeting), 1)), status: 502 },
  {
    title: "an unknown flag",
    frames: body(message(greeting, 2)),
    status: 502,
    detail: /^The call to odd broke the protocol of gRPC: a message has the unknown flag 2$/,
  },
  { title: "a message cut short", frames: body(message(greeting).subarray(0, -3)), status: 502 },
  { title: "a prefix cut short", frames: body(message(greeting).subarray(0, 3)), status: 502 },
  { title: "a message over 4 MiB", frames: body(Buffer.from([0, 0, 0x40, 0, 1, 0])), status: 502, detail: TOO_MUCH },
  {
    title: "headers of 30 kB",
    frames: (id) => [...largeHeaders(id), data(id, message(greeting)), ok(id)],
    status: 502,
    detail: /^odd responded with too much: its metadata is larger than 16384 bytes/,
    grpcJs: [200, "Node's HTTP/2 takes header lists of 64 KiB"],
  },
  { title: "CANCEL", frames: ended(ErrorCode.CANCEL), status: 502 },
  { title: "ENHANCE_YOUR_CALM", frames: ended(ErrorCode.ENHANCE_YOUR_CALM), status: 502 },
  { title: "INADEQUATE_SECURITY", frames: ended(ErrorCode.INADEQUATE_SECURITY), status: 502 },
  { title: "INTERNAL_ERROR", frames: ended(ErrorCode.INTERNAL_ERROR), status: 502 },
  { title: "PROTOCOL_ERROR", frames: ended(ErrorCode.PROTOCOL_ERROR), status: 502 },
  ...[400, 401, 403, 404, 429, 500].map((status) => ({
    title: `a proxy's page with ${status}`,
    frames: page(status),
    status: 502,
  })),
  ...[401, 404, 429].map((status) => ({ title: `a bare ${status}`, frames: bare(status), status: 502 })),
  // A proxy that cannot reach the service, or is overloaded: the same status as if this gateway
  // could not reach it.
  ...[502, 503, 504].map((status) => ({ title: `a proxy's page with ${status}`, frames: page(status), status: 503 })),
  { title: "a bare 503", frames: bare(503), status: 503 },
  { title: "REFUSED_STREAM", frames: (id) => [reset(id, ErrorCode.REFUSED_STREAM)], status: 503 },
  { title: "a lost connection", frames: (id) => [began(id)], closes: true, status: 503 },
  {
    title: "GOAWAY with ENHANCE_YOUR_CALM, and a lost connection",
    frames: (id) => [began(id), goaway(id, ErrorCode.ENHANCE_YOUR_CALM)],
    closes: true,
    status: 503,
  },
  ...(
    [
      [3, 400],
      [5, 404],
      [7, 403],
      [8, 429],
      [13, 500],
      [14, 503],
      [16, 401],
      [17, 500],
      [2_027, 500],
      [2_147_483_647, 500],
    ] as const
  ).map(([code, status]) => ({
    title: `the service's own grpc-status ${code}`,
    frames: (id: number) => [headers(id, [...RESPONSE, ["grpc-status", `${code}`]], LAST)],
    status,
  })),
];
