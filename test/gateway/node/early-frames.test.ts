// Frames that a client sends after its request for a WebSocket, before it has the response, arrive
// in order.
import t from "tap";
import type { MessageSocket, SocketSession } from "../../../gateway/http/message.js";
import { deferred } from "../../support/deferred.js";
import { dial, open } from "./dial.js";

const REQUEST = [
  "GET /socket HTTP/1.1",
  "Host: x",
  "Connection: keep-alive, Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "",
  "",
].join("\r\n");

/** A text frame as a client sends it, with a mask of zeros (RFC 6455 §5.2). */
function frame(text: string): Buffer {
  return Buffer.concat([Buffer.of(0x81, 0x80 | text.length, 0, 0, 0, 0), Buffer.from(text)]);
}

for (const [title, cuts] of [
  ["with the request", []],
  ["in chunks, some of them with the request", [REQUEST.length + 3, REQUEST.length + 9]],
  ["a byte at a time", Array.from({ length: REQUEST.length + 22 }, (_, index) => index)],
] as const) {
  t.test(`frames ${title}`, async (t) => {
    const { promise: asked, resolve: onAsked } = deferred();
    const { promise: mayAnswer, resolve: letAnswer } = deferred();
    const messages: string[] = [];
    const session: SocketSession = {
      open(socket: MessageSocket) {
        socket.send("hello");
      },
      onMessage: (text) => void messages.push(Buffer.from(text ?? []).toString()),
      onDrain() {},
    };
    const port = await open(t, async () => {
      onAsked();
      await mayAnswer;
      return { status: 101, headers: [], body: "", length: 0, session };
    });
    const { socket, until } = await dial(port);
    t.teardown(() => socket.destroy());
    const bytes = Buffer.concat([Buffer.from(REQUEST), frame("one"), frame("two"), frame("three")]);
    const places = [0, ...cuts, bytes.length];
    for (const [index, place] of places.slice(1).entries()) {
      socket.write(bytes.subarray(places[index], place));
      await new Promise(setImmediate);
    }
    await asked;
    letAnswer();
    await until(/hello/);
    socket.write(frame("four"));
    while (messages.length < 4) await new Promise(setImmediate);
    t.same(messages, ["one", "two", "three", "four"]);
  });
}
