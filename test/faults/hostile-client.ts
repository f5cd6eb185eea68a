// The hostile clients of hostile.ts, in their own process. Arguments: ATTACK HOST PORT COUNT.
// Prints the number of connections that are open.
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { CallRequest } from "../../src/gen/helloworld/helloworld.js";
import { LoginRequest } from "../../src/gen/portico/auth/v1/auth.js";
import { FrameType, PREFACE } from "../../src/http2/frames.js";
import { frame, message, SETTINGS } from "../http2/peer.js";

const [attack = "", host = "", port = "", count = "0"] = process.argv.slice(2);

const json = (name: string, more: object = {}): string => JSON.stringify({ name, ...more });

function post(path: string, body: string, length = body.length): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  return Buffer.from(head + body);
}

const CALL = post("/helloworld/call", json("a".repeat(2 ** 20)));
const DOCUMENTS = Buffer.from("GET /openapi/auth.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(1_000));
const UPLOAD = post("/helloworld/call", json("a".repeat(4 * 2 ** 20 - 100)), 4 * 2 ** 20);
const STREAM = post("/helloworld/stream", json("a".repeat(2 ** 20), { messages: 1_000 }));
const UPGRADE = Buffer.from(
  "GET /helloworld/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
);
/** A text frame of 4 MiB, masked with zeros, whose last byte is missing. */
const FRAME = Buffer.concat([
  Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0]),
  Buffer.alloc(4 * 2 ** 20 - 1, "a"),
]);
const GREETING = message(CallRequest.encode(CallRequest.fromPartial({ name: "a".repeat(2_000_000) })).finish());
const LOGIN = message(LoginRequest.encode(LoginRequest.fromPartial({ account: "a".repeat(2_700_000) })).finish());
const BLOCK = Buffer.concat([
  PREFACE,
  SETTINGS,
  frame(FrameType.HEADERS, 0, 1, Buffer.alloc(15_000)),
  ...Array.from({ length: 3 }, () => frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(15_000))),
]);

/** Writes the bytes, and reads nothing. */
const write =
  (...bytes: Buffer[]) =>
  (socket: Socket) => {
    socket.pause();
    for (const some of bytes) socket.write(some);
  };

/** Makes `streams` calls at once over one connection. */
const calls =
  (path: string, streams: number, bytes: Buffer, end: boolean) =>
  (session: ClientHttp2Session): void => {
    for (let index = 0; index < streams; index++) {
      const headers = { ":method": "POST", ":path": path, te: "trailers", "content-type": "application/grpc" };
      const stream = session.request(headers).on("error", () => {});
      if (end) stream.end(bytes);
      else stream.write(bytes);
    }
  };

const SOCKETS: Record<string, (socket: Socket) => void> = {
  "HTTP idle": write(),
  "HTTP answers not read": write(CALL),
  "HTTP pipelined": write(DOCUMENTS),
  "HTTP uploads not finished": write(UPLOAD),
  "HTTP streams not read": write(STREAM),
  "HTTP half a WebSocket message": write(UPGRADE, FRAME),
  "gRPC idle": write(PREFACE, SETTINGS),
  "gRPC half a header block": write(BLOCK),
};

const SESSIONS: Record<string, (session: ClientHttp2Session) => void> = {
  "gRPC window 0": calls("/helloworld.Helloworld/Call", 100, GREETING, true),
  "gRPC unfinished logins": calls("/portico.auth.v1.Auth/Login", 90, LOGIN, false),
};

let connected = 0;
let printed = 0;

/**
 * Opens each connection from its own address, with pauses: the system refuses some of too many at
 * once.
 */
async function open(): Promise<void> {
  const attackBy = SOCKETS[attack];
  const callBy = SESSIONS[attack];
  for (let index = 0; index < Number(count); index++) {
    const localAddress = `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
    const socket = connect({ port: Number(port), host, localAddress }).on("error", () => {});
    socket.once("connect", () => {
      connected++;
      if (attackBy !== undefined) attackBy(socket);
      else if (callBy !== undefined) {
        const settings = { initialWindowSize: 0 };
        callBy(
          connectHttp2(`http://${host}:${port}`, { createConnection: () => socket, settings }).on("error", () => {}),
        );
      } else throw new Error(`no attack is called ${attack}`);
    });
    if (index % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

setInterval(() => {
  if (connected > printed) console.log(connected);
  printed = connected;
}, 100);
void open();
