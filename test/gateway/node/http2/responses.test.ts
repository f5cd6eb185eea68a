// What HTTP/2 has in addition to HTTP/1.1: trailers, both directions at once, a single stream that
// is reset, and no headers of the connection.
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import type { BodySink } from "../../../../gateway/http/body.js";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { deferred } from "../../../support/deferred.js";
import { echo, type HttpPort, response, open as serve } from "../dial.js";

function open(t: Test, { address }: HttpPort): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${address.port}`);
  t.teardown(() => session.destroy());
  return session;
}

function request(t: Test, served: HttpPort, path = "/", body = false): ClientHttp2Stream {
  return open(t, served).request({ ":path": path, ":method": body ? "POST" : "GET" });
}

const trailersOf = async (stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> =>
  (await once(stream, "trailers"))[0];

t.test("a body may be followed by trailers", async (t) => {
  const withTrailers = { ...response("body"), trailers: ["Grpc-Status", "0", "x-a", "b"] };
  const stream = request(t, await serve(t, () => withTrailers));
  const trailers = trailersOf(stream);
  t.equal(await text(stream), "body");
  t.match(await trailers, { "grpc-status": "0", "x-a": "b" });
});

t.test("trailers may follow an empty body", async (t) => {
  const stream = request(t, await serve(t, () => ({ ...response(""), headers: [], trailers: ["a", "b"] })));
  const trailers = trailersOf(stream);
  t.equal(await text(stream), "");
  t.match(await trailers, { a: "b" });
});

t.test("a response without body and trailers is one frame", async (t) => {
  const stream = request(t, await serve(t, () => ({ ...response(""), headers: ["Grpc-Status", "12"] })));
  const [headers, flags] = await once(stream, "response");
  t.equal(headers["grpc-status"], "12");
  t.ok(flags & constants.NGHTTP2_FLAG_END_STREAM);
});

t.test("a stream may end with trailers, and the request may continue meanwhile", async (t) => {
  const handler: RequestHandler = (request) => {
    const open = (sink: BodySink): void => {
      request.chunks({
        allowsSilence: true,
        onChunk: (chunk) => sink.write(Buffer.from(`${chunk}`.toUpperCase())),
        onEnd: () => sink.end(["x-end", "reached"]),
        onError: (error) => t.fail(error.message),
      });
    };
    return { status: 200, headers: [], body: { open, onDrain() {} }, length: 0 };
  };
  // Each pause is longer than `bodyTime`, the silence that other requests may have.
  const stream = request(t, await serve(t, handler, { bodyTime: 50 }), "/", true);
  const trailers = trailersOf(stream);
  for (const word of ["one", "two"]) {
    stream.write(word);
    t.equal(`${(await once(stream, "data"))[0]}`, word.toUpperCase());
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  stream.end();
  stream.resume();
  t.match(await trailers, { "x-end": "reached" });
});

t.test("a stream that ends before its request is closed without an error", async (t) => {
  const served = await serve(t, (request) => {
    request.chunks({ onChunk: () => true, onEnd() {}, onError() {} });
    return { status: 200, headers: [], body: { open: (sink) => sink.end(), onDrain() {} }, length: 0 };
  });
  const stream = request(t, served, "/", true);
  stream.write("x");
  t.equal(await text(stream), "");
  await once(stream, "close");
  t.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
});

t.test("an aborted stream does not affect the others", async (t) => {
  const { promise: sink, resolve: opened } = deferred<BodySink>();
  const served = await serve(t, (request) =>
    request.target === "/cut"
      ? { status: 200, headers: [], body: { open: opened, onDrain() {} }, length: 0 }
      : echo(request),
  );
  const session = open(t, served);
  const cut = session.request({ ":path": "/cut" });
  await once(cut, "response");
  (await sink).abort();
  const [error] = await once(cut, "error");
  t.match(error.message, /INTERNAL_ERROR/);
  t.equal(await text(session.request({ ":path": "/other" })), "/other 0");
});

t.test("the request's trailers are read and dropped", async (t) => {
  const stream = open(t, await serve(t, echo)).request({ ":method": "POST", ":path": "/p" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ a: "b" }));
  stream.end("12345");
  t.equal(await text(stream), "/p 5");
});

t.test("headers of an HTTP/1.1 connection are left out", async (t) => {
  const headers = ["Connection", "Upgrade", "Upgrade", "websocket", "Keep-Alive", "timeout=5", "X-A", "b"];
  const stream = request(t, await serve(t, () => ({ ...response("", 426), headers })));
  const [received] = await once(stream, "response");
  t.match(received, { ":status": 426, "x-a": "b", connection: undefined, upgrade: undefined, "keep-alive": undefined });
});
