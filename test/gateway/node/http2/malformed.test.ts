// Malformed HTTP/2 requests (RFC 9113 §8) are rejected: most by a reset, some by a response that a
// person can read. Each is recorded, and the connection stays open.
import t from "tap";
import { ErrorCode } from "../../../../src/http2/errors.js";
import { Flag, FrameType } from "../../../../src/http2/frames.js";
import { frame, headers, isType, type RawPeer, rawClient } from "../../../http2/peer.js";
import { echo, open } from "../dial.js";

type Fields = readonly (readonly [name: string, value: string])[];

const METHOD = [":method", "GET"] as const;
const SCHEME = [":scheme", "http"] as const;
const PATH = [":path", "/p"] as const;
const AUTHORITY = [":authority", "x"] as const;
const GET: Fields = [METHOD, SCHEME, PATH, AUTHORITY];
const POST: Fields = [[":method", "POST"], SCHEME, PATH, AUTHORITY];

const END = Flag.END_HEADERS | Flag.END_STREAM;
const request = (fields: Fields): Buffer => headers(1, fields, END);
const withBody = (fields: Fields, body: string): Buffer =>
  Buffer.concat([
    headers(1, [...POST, ...fields], Flag.END_HEADERS),
    frame(FrameType.DATA, Flag.END_STREAM, 1, Buffer.from(body)),
  ]);

const RESET: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["no :method", request([SCHEME, PATH, AUTHORITY])],
  ["no :scheme", request([METHOD, PATH, AUTHORITY])],
  ["no :path", request([METHOD, SCHEME, AUTHORITY])],
  ["an empty :path", request([METHOD, SCHEME, [":path", ""], AUTHORITY])],
  ["a :path in absolute form", request([METHOD, SCHEME, [":path", "http://x/p"], AUTHORITY])],
  ["a :path without a slash", request([METHOD, SCHEME, [":path", "p"], AUTHORITY])],
  ["a :path with a space", request([METHOD, SCHEME, [":path", "/p HTTP/1.1"], AUTHORITY])],
  ["the path * with another method than OPTIONS", request([METHOD, SCHEME, [":path", "*"], AUTHORITY])],
  ["a scheme of another protocol", request([METHOD, [":scheme", "ftp"], PATH, AUTHORITY])],
  ["a :method that is no token", request([[":method", "GET /p"], SCHEME, PATH, AUTHORITY])],
  ["an empty :method", request([[":method", ""], SCHEME, PATH, AUTHORITY])],
  ["a pseudo-header twice", request([...GET, PATH])],
  ["a pseudo-header behind a header", request([METHOD, SCHEME, ["a", "b"], PATH, AUTHORITY])],
  ["a pseudo-header of responses", request([...GET, [":status", "200"]])],
  ["an unknown pseudo-header", request([...GET, [":other", "a"]])],
  [
    "extended CONNECT, which is not offered (RFC 8441)",
    request([[":method", "CONNECT"], [":protocol", "websocket"], SCHEME, PATH, AUTHORITY]),
  ],
  ["CONNECT with a path", request([[":method", "CONNECT"], SCHEME, PATH, AUTHORITY])],
  ["a name in upper case", request([...GET, ["A", "b"]])],
  ["a name with a space", request([...GET, ["a b", "c"]])],
  ["an empty name", request([...GET, ["", "c"]])],
  ["a value with a line break", request([...GET, ["a", "b\r\nc: d"]])],
  ["a value that begins with a space", request([...GET, ["a", " b"]])],
  ["connection", request([...GET, ["connection", "close"]])],
  ["keep-alive", request([...GET, ["keep-alive", "5"]])],
  ["proxy-connection", request([...GET, ["proxy-connection", "close"]])],
  ["transfer-encoding", request([...GET, ["transfer-encoding", "chunked"]])],
  ["upgrade", request([...GET, ["upgrade", "websocket"]])],
  ["te other than trailers", request([...GET, ["te", "gzip"]])],
  ["a host that is not :authority", request([...GET, ["host", "y"]])],
  ["an :authority with user information", request([METHOD, SCHEME, PATH, [":authority", "u@x"]])],
  ["a content-length without a body", request([...POST, ["content-length", "5"]])],
  ["a content-length that is no number", withBody([["content-length", "+5"]], "12345")],
  [
    "two content-lengths",
    withBody(
      [
        ["content-length", "5"],
        ["content-length", "5"],
      ],
      "12345",
    ),
  ],
  ["a body shorter than its content-length", withBody([["content-length", "6"]], "12345")],
  ["a body longer than its content-length", withBody([["content-length", "4"]], "12345")],
  [
    "a body shorter than its content-length, with trailers",
    Buffer.concat([
      headers(1, [...POST, ["content-length", "6"]], Flag.END_HEADERS),
      frame(FrameType.DATA, 0, 1, Buffer.from("12345")),
      headers(1, [["a", "b"]], END),
    ]),
  ],
  ["trailers with a pseudo-header", Buffer.concat([headers(1, POST, Flag.END_HEADERS), headers(1, [PATH], END)])],
];

/** The response on stream 1. */
async function answered(peer: RawPeer): Promise<Record<string, string> & { body: string }> {
  const head = await peer.next(isType(FrameType.HEADERS));
  if (head === undefined) throw new Error("the connection ended without a response");
  const body = head.flags & Flag.END_STREAM ? undefined : await peer.next(isType(FrameType.DATA));
  return { ...peer.fields(head), body: `${body?.payload ?? ""}` };
}

t.test("a malformed request is reset", async (t) => {
  for (const [what, bytes] of RESET) {
    const statuses: (number | undefined)[] = [];
    const { address } = await open(t, async (request) => {
      const response = await echo(request);
      statuses.push(response.status);
      return response;
    });
    const peer = await rawClient(t, address);
    peer.send(bytes);
    const reset = await peer.next(isType(FrameType.RST_STREAM));
    t.equal(reset?.payload.readUInt32BE(), ErrorCode.PROTOCOL_ERROR, what);
    t.ok(await peer.answersPing(), "the connection goes on");
    t.same(statuses, [400], "it is recorded");
  }
});

const REFUSED: readonly (readonly [what: string, status: string, fields: Fields])[] = [
  ["neither :authority nor host", "400", [METHOD, SCHEME, PATH]],
  ["CONNECT", "405", [[":method", "CONNECT"], AUTHORITY]],
  ["an expectation other than 100-continue", "417", [...GET, ["expect", "tea"]]],
  ["headers that are too large", "431", [...GET, ["a", "b".repeat(16_384)]]],
];

t.test("a request that is well-formed HTTP/2 but not acceptable gets a response", async (t) => {
  const { address } = await open(t, echo);
  for (const [what, status, fields] of REFUSED) {
    const peer = await rawClient(t, address);
    const bytes = headers(1, fields, END);
    // A header block that is larger than a frame needs CONTINUATION.
    if (bytes.length > 16_393) {
      const block = bytes.subarray(9);
      peer.send(
        frame(FrameType.HEADERS, Flag.END_STREAM, 1, block.subarray(0, 16_384)),
        frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, block.subarray(16_384)),
      );
    } else peer.send(bytes);
    t.match(await answered(peer), { ":status": status, body: "fault" }, what);
    t.ok(await peer.answersPing());
  }
});

t.test("requests that only HTTP/2 allows reach the handler in the form of HTTP/1.1", async (t) => {
  let seen: readonly string[] = [];
  const { address } = await open(t, (request) => {
    seen = [request.method, request.target, ...request.rawHeaders, `${request.headers.host}`];
    return echo(request);
  });
  const peer = await rawClient(t, address);
  peer.send(
    headers(
      1,
      [
        METHOD,
        [":scheme", "https"],
        [":path", "/a?b=c%20d"],
        AUTHORITY,
        ["cookie", "a=1"],
        ["te", "trailers"],
        ["cookie", "b=2"],
      ],
      END,
    ),
  );
  t.match(await answered(peer), { ":status": "200", body: "/a?b=c%20d 0" });
  t.same(seen, ["GET", "/a?b=c%20d", "te", "trailers", "cookie", "a=1; b=2", "host", "x", "x"]);
  peer.send(headers(3, [[":method", "OPTIONS"], SCHEME, [":path", "*"], ["host", "y"]], END));
  t.match(await answered(peer), { ":status": "200", body: "* 0" });
  t.same(seen, ["OPTIONS", "*", "host", "y", "y"]);
});

t.test("a violation of HTTP/2 ends the connection with the reason, and is recorded", async (t) => {
  const faults: (string | undefined)[] = [];
  const { address } = await open(t, (request) => {
    faults.push(request.error?.message);
    return echo(request);
  });
  const peer = await rawClient(t, address);
  peer.send(frame(FrameType.DATA, 0, 1, Buffer.from("a")));
  const goaway = await peer.next(isType(FrameType.GOAWAY));
  t.equal(goaway?.payload.readUInt32BE(4), ErrorCode.PROTOCOL_ERROR);
  await peer.ended();
  t.match(faults, [/DATA on stream 1, which is idle/]);
});
