/** A peer that sends single frames, for situations that a well-behaved peer never causes. */
import { connect, createServer, type Socket } from "node:net";
import type { Test } from "tap";
import type { Address } from "../../src/address/address.js";
import { Flag, FrameReader, FrameType, PREFACE, writeFrameHeader } from "../../src/http2/frames.js";
import { HpackDecoder } from "../../src/http2/hpack-decoder.js";
import { HEADER_NAMES } from "../../src/rpc/http2/headers.js";

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  writeFrameHeader(bytes, 0, payload.length, type, flags, streamId);
  bytes.set(payload, 9);
  return bytes;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A header block of plain literals (RFC 7541, section 6.2.2). */
export function block(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string) => {
    const length = value.length < 127 ? [value.length] : [127, ...rest(value.length - 127)];
    return Buffer.concat([Buffer.from(length), Buffer.from(value, "latin1")]);
  };
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

const rest = (value: number): number[] => (value < 128 ? [value] : [(value % 128) + 128, ...rest(value >> 7)]);

/** A length-prefixed message. */
export function message(bytes: Uint8Array, flag = 0): Buffer {
  return Buffer.concat([Buffer.from([flag]), uint32(bytes.length), bytes]);
}

export const REQUEST = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/raw.Raw/One"],
  [":authority", "test"],
  ["te", "trailers"],
  ["content-type", "application/grpc"],
] as const;

export const RESPONSE = [
  [":status", "200"],
  ["content-type", "application/grpc"],
] as const;

export const SETTINGS = frame(FrameType.SETTINGS, 0, 0);

export function headers(
  streamId: number,
  fields: readonly (readonly [string, string])[],
  flags: number = Flag.END_HEADERS,
): Buffer {
  return frame(FrameType.HEADERS, flags, streamId, block(fields));
}

export function reset(streamId: number, errorCode: number): Buffer {
  return frame(FrameType.RST_STREAM, 0, streamId, uint32(errorCode));
}

export function goaway(lastStreamId: number, errorCode: number, debug = ""): Buffer {
  return frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(lastStreamId), uint32(errorCode), Buffer.from(debug)]));
}

export class RawPeer {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  closed = false;
  readonly #decoder = new HpackDecoder(1_000_000, HEADER_NAMES);
  #waiting: (() => void)[] = [];
  #pings = 0;

  constructor(socket: Socket, skip = 0) {
    this.socket = socket;
    const reader = new FrameReader({
      onFrame: (type, flags, streamId, buffer, start, end) => {
        this.frames.push({ type, flags, streamId, payload: Buffer.from(buffer.subarray(start, end)) });
      },
    });
    let skipped = 0;
    socket.on("data", (chunk: Buffer) => {
      const skipping = Math.min(skip - skipped, chunk.length);
      skipped += skipping;
      reader.read(chunk.subarray(skipping));
      this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.closed = true;
      this.#wake();
    });
  }

  send(...bytes: Uint8Array[]): void {
    this.socket.write(Buffer.concat(bytes));
  }

  /**
   * The next frame that satisfies `wanted`, received before or later; undefined when the connection
   * ends without one.
   */
  async next(wanted: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const index = this.frames.findIndex(wanted);
      if (index >= 0) return this.frames.splice(0, index + 1).at(-1);
      if (this.closed) return undefined;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async ended(): Promise<void> {
    while (!this.closed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The fields of a HEADERS frame. HEADERS frames must be read in order. */
  fields({ payload }: Frame): Record<string, string> {
    const { fields } = this.#decoder.decode(payload, 0, payload.length);
    return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
  }

  /** Whether the peer is connected and responds to a PING. */
  async answersPing(): Promise<boolean> {
    const mark = Buffer.alloc(8, ++this.#pings);
    this.send(frame(FrameType.PING, 0, 0, mark));
    const responses = ({ type, flags, payload }: Frame) =>
      type === FrameType.PING && flags === Flag.ACK && payload.equals(mark);
    return (await this.next(responses)) !== undefined;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

/** A raw client that is connected and has exchanged SETTINGS. */
export async function rawClient(t: Test, { host, port }: Address): Promise<RawPeer> {
  const socket = connect(port, host);
  t.teardown(() => socket.destroy());
  const peer = new RawPeer(socket);
  await new Promise((resolve) => socket.once("connect", resolve));
  peer.send(PREFACE, SETTINGS);
  await peer.next(({ type, flags }) => type === FrameType.SETTINGS && flags === Flag.ACK);
  return peer;
}

/** A raw server. `next` returns its connections one after another; the test sends their frames. */
export async function rawServer(t: Test): Promise<{ address: Address; next(): Promise<RawPeer> }> {
  const arrived: RawPeer[] = [];
  let waiting: (() => void) | undefined;
  const server = createServer((socket) => {
    t.teardown(() => socket.destroy());
    arrived.push(new RawPeer(socket, PREFACE.length));
    waiting?.();
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    address: { host: "127.0.0.1", port: (server.address() as { port: number }).port },
    async next() {
      while (arrived.length === 0) {
        await new Promise<void>((resolve) => {
          waiting = resolve;
        });
      }
      return arrived.shift() as RawPeer;
    },
  };
}

export const isType =
  (wanted: number) =>
  ({ type }: Frame): boolean =>
    type === wanted;
