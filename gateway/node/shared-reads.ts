/**
 * Reads accepted connections into a buffer that all of them share. Without that, Node allocates 64
 * KiB for each read. All of it except the received bytes becomes garbage at once. In exchange, the
 * bytes of a "data" event are valid only while the event is handled.
 *
 * For sockets that connect, node:net has the option `onread`. A server has no such option for
 * accepted sockets, so this file sets the same internal fields itself. With a version of Node that
 * names these fields otherwise, sockets read as they do without the option.
 */
import { Socket } from "node:net";

const input = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * The part of the buffer that was read last. Many requests are as long as the one before, so it is
 * reused.
 */
let lastRead = input;

/** Node calls these functions with the socket as `this`. */
function emitShared(this: Socket, size: number): boolean {
  if (lastRead.length !== size) lastRead = input.subarray(0, size);
  return this.emit("data", lastRead);
}
function pushCopy(this: Socket, size: number): boolean {
  return this.push(Buffer.from(input.subarray(0, size)));
}

/** In the types of Node only `connect` has this option. */
const options: object = { onread: { buffer: input, callback: emitShared } };
const connecting = new Socket(options);
const BUFFER = keyOf(connecting, input);
const CALLBACK = keyOf(connecting, emitShared);

/** The symbol under which a socket stores a value. */
function keyOf(socket: Socket, value: unknown): symbol | undefined {
  return Object.getOwnPropertySymbols(socket).find((key) => Reflect.get(socket, key) === value);
}

/** The handle below a socket: not a part of node:net's public interface. */
interface Handle {
  useUserBuffer?(buffer: Uint8Array): void;
}

/**
 * From now on the bytes of the socket's "data" events are valid only while the events are handled.
 */
export function shareReads(socket: Socket & { readonly _handle?: Handle | null }): void {
  const { _handle: handle } = socket;
  if (BUFFER === undefined || CALLBACK === undefined || !handle?.useUserBuffer) return;
  handle.useUserBuffer(input);
  Reflect.set(socket, BUFFER, input);
  Reflect.set(socket, CALLBACK, emitShared);
}

/** From now on the bytes may be stored. Called before other code reads the socket. */
export function unshareReads(socket: Socket): void {
  if (CALLBACK !== undefined && Reflect.get(socket, CALLBACK) === emitShared) Reflect.set(socket, CALLBACK, pushCopy);
}
