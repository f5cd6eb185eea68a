/**
 * Reads accepted connections into memory that all of them share: Node would allocate 64 KiB for each read, which is garbage at
 * once but for the bytes that have come. So those of a "data" event are valid only while it is handled.
 *
 * For sockets that we connect, node:net has the option `onread`. A server does not offer it for those that it accepts, so what
 * the option sets is set here. A version of Node that keeps it elsewhere reads as it does without the option.
 */
import { Socket } from "node:net";

const input = Buffer.allocUnsafeSlow(64 * 1024);

/** The beginning of it that was read last: many requests are as long as the one before. */
let lastRead = input;

/** Node calls these with the socket as `this`. */
function emitShared(this: Socket, size: number): boolean {
  if (lastRead.length !== size) lastRead = input.subarray(0, size);
  return this.emit("data", lastRead);
}
function pushCopy(this: Socket, size: number): boolean {
  return this.push(Buffer.from(input.subarray(0, size)));
}

/** The types of Node have the option for `connect` alone. */
const options: object = { onread: { buffer: input, callback: emitShared } };
const connecting = new Socket(options);
const BUFFER = keyOf(connecting, input);
const CALLBACK = keyOf(connecting, emitShared);

/** Under which a socket keeps a value. */
function keyOf(socket: Socket, value: unknown): symbol | undefined {
  return Object.getOwnPropertySymbols(socket).find((key) => Reflect.get(socket, key) === value);
}

/** The connection below a socket: no part of node:net's interface. */
interface Handle {
  useUserBuffer?(buffer: Uint8Array): void;
}

/** From now on the bytes of the socket's "data" events are valid only while they are handled. */
export function shareReads(socket: Socket & { readonly _handle?: Handle | null }): void {
  const { _handle: handle } = socket;
  if (BUFFER === undefined || CALLBACK === undefined || !handle?.useUserBuffer) return;
  handle.useUserBuffer(input);
  Reflect.set(socket, BUFFER, input);
  Reflect.set(socket, CALLBACK, emitShared);
}

/** From now on they may be kept: for what reads the socket next. */
export function unshareReads(socket: Socket): void {
  if (CALLBACK !== undefined && Reflect.get(socket, CALLBACK) === emitShared) Reflect.set(socket, CALLBACK, pushCopy);
}
