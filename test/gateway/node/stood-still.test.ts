// A body that arrives while the process is blocked is not late, even if the process is blocked for
// longer than a body may take.
import { once } from "node:events";
import { connect } from "node:net";
import t, { type Test } from "tap";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { Flag, FrameType, PREFACE } from "../../../src/http2/frames.js";
import { frame, headers, SETTINGS } from "../../http2/peer.js";
import { deferred } from "../../support/deferred.js";
import { open, response } from "./dial.js";

const BODY_TIME = 100;

const HTTP2_HEADERS = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/p"],
  [":authority", "x"],
] as const;
const data = (flags: number, text: string): Buffer => frame(FrameType.DATA, flags, 1, Buffer.from(text));

const HTTP1_HEAD = "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

/**
 * The bytes of a request in parts, each with one byte of the body. The last part ends the request.
 */
const PROTOCOLS: Readonly<Record<string, (body: string) => Buffer[]>> = {
  "HTTP/1.1": (body) =>
    [...body].map((byte, at) =>
      Buffer.from(`${at === 0 ? HTTP1_HEAD : ""}1\r\n${byte}\r\n${at === body.length - 1 ? "0\r\n\r\n" : ""}`),
    ),
  "HTTP/2": (body) => {
    const open = [Buffer.from(PREFACE), SETTINGS, headers(1, HTTP2_HEADERS, Flag.END_HEADERS)];
    return [...body].map((byte, at) =>
      Buffer.concat([...(at === 0 ? open : []), data(at === body.length - 1 ? Flag.END_STREAM : 0, byte)]),
    );
  },
};

/** How a body is read. `onFirst` is called when the handler has asked for the first byte. */
const READERS: Readonly<
  Record<string, (request: Parameters<RequestHandler>[0], onFirst: () => void) => Promise<string>>
> = {
  "as a whole": async (request, onFirst) => {
    const body = request.body();
    onFirst();
    return `${Buffer.concat(await body)}`;
  },
  "chunk by chunk": (request, onFirst) =>
    new Promise((resolve, reject) => {
      let text = "";
      const onChunk = (chunk: Uint8Array): boolean => {
        text += Buffer.from(chunk);
        onFirst();
        return true;
      };
      request.chunks({ onChunk, onEnd: () => resolve(text), onError: reject });
    }),
};

function standStill(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/**
 * The text that a handler reads of a body whose second byte arrives while the process is blocked
 * for too long.
 */
async function readWhileStill(
  t: Test,
  read: (typeof READERS)[string],
  parts: readonly Buffer[],
  { alsoBefore = false } = {},
): Promise<string> {
  const { promise: begun, resolve: onFirst } = deferred();
  const { promise: text, resolve: onEnd } = deferred<string>();
  const handler: RequestHandler = async (request) => {
    onEnd(await read(request, onFirst).catch((error: Error) => error.message));
    return response("");
  };
  const { address } = await open(t, handler, { bodyTime: BODY_TIME });
  const socket = connect(address.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  await once(socket, "connect");
  const [first, second, ...others] = parts as [Buffer, Buffer, ...Buffer[]];
  socket.write(first);
  // Then a check of deadlines is due in the turn of the event loop that reads the first part.
  if (alsoBefore) standStill(BODY_TIME);
  await begun;
  // The operating system has these bytes when `write` returns.
  socket.write(second);
  standStill(3 * BODY_TIME);
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  for (const part of others) socket.write(part);
  return text;
}

for (const [protocol, partsOf] of Object.entries(PROTOCOLS)) {
  for (const [how, read] of Object.entries(READERS)) {
    t.test(`over ${protocol}, read ${how}`, async (t) => {
      t.equal(await readWhileStill(t, read, partsOf("ab")), "ab");
    });

    t.test(`over ${protocol}, read ${how}, while deadlines are checked`, async (t) => {
      t.equal(await readWhileStill(t, read, partsOf("ab"), { alsoBefore: true }), "ab");
    });
  }

  t.test(`over ${protocol}, read chunk by chunk, with more to come`, async (t) => {
    t.equal(await readWhileStill(t, READERS["chunk by chunk"] as (typeof READERS)[string], partsOf("abc")), "abc");
  });
}
