/**
 * Serves a dispatcher over @grpc/grpc-js. Every endpoint is registered there as a stream of bytes, and an interceptor
 * takes each call over before grpc-js's own handling of streams begins: what is left of it is the protocol, and each
 * message is asked for and answered without a stream object in between.
 */
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type StatusObject,
} from "@grpc/grpc-js";
import { type Address, type Config, formatAddress } from "../config.js";
import type { Status } from "./channel.js";
import type { Dispatcher } from "./dispatch.js";
import { asBuffer, fromGrpc, toGrpc, toGrpcStatus } from "./grpc-metadata.js";
import { type Metadata, NO_METADATA } from "./metadata.js";
import type { IncomingListener, Reply } from "./server-call.js";

export type GrpcServerLimits = Pick<Config, "maxBody" | "maxHeaders">;

export interface GrpcServer {
  /** Where it listens; the port is the one that was free when 0 was asked for. */
  readonly address: Address;
  /** Takes no more calls, lets those in flight finish for `drainMs`, then ends them. Resolves when all is closed. */
  close(drainMs: number): Promise<void>;
}

/** Calls at once on one connection. */
const MAX_STREAMS = 100;

/** More bytes than this that the connection has not taken yet make an endpoint wait. */
const MOST_UNSENT = 65_536;

/** grpc-js clients look up names anew only when a connection ends; in milliseconds. */
const MAX_CONNECTION_AGE_MS = 30 * 60_000;
const MAX_CONNECTION_AGE_GRACE_MS = 60_000;

/** A connection silent for this long is tested, and closed when it stays silent; in milliseconds. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

/**
 * Listens.
 * @throws {Error} when the address cannot be had; the message names it.
 */
export async function serveGrpc(
  dispatcher: Dispatcher,
  address: Address,
  limits: GrpcServerLimits,
): Promise<GrpcServer> {
  const server = new Server({
    interceptors: [
      ({ path }, call) => new ServerInterceptingCall(call, { start: () => answer(dispatcher, path, call) }),
    ],
    "grpc.max_receive_message_length": limits.maxBody,
    "grpc.max_metadata_size": limits.maxHeaders,
    "grpc.max_concurrent_streams": MAX_STREAMS,
    "grpc.max_connection_age_ms": MAX_CONNECTION_AGE_MS,
    "grpc.max_connection_age_grace_ms": MAX_CONNECTION_AGE_GRACE_MS,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    "grpc.enable_channelz": 0,
  });
  const same = (bytes: Buffer): Buffer => bytes;
  for (const path of dispatcher.paths) server.register(path, unreachable, same, same, "bidi");
  const port = await bind(server, address);
  let closing: Promise<void> | undefined;
  return {
    address: { host: address.host, port },
    close(drainMs) {
      closing ??= drain(server, dispatcher, drainMs);
      return closing;
    },
  };
}

function bind(server: Server, address: Address): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(formatAddress(address), ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(new Error(`cannot listen on ${formatAddress(address)}: ${error.message}`, { cause: error }));
    });
  });
}

async function drain(server: Server, dispatcher: Dispatcher, drainMs: number): Promise<void> {
  dispatcher.health.close();
  const force = setTimeout(() => server.forceShutdown(), drainMs);
  await new Promise((resolve) => server.tryShutdown(resolve));
  clearTimeout(force);
}

/** The handler behind the interceptor, which never calls it. */
function unreachable(): never {
  throw new Error("a call went past the interceptor");
}

function answer(dispatcher: Dispatcher, path: string, call: ServerInterceptingCallInterface): void {
  const reply = new GrpcReply(call);
  call.start({
    onReceiveMetadata(received) {
      const asked = Number(call.getDeadline());
      const deadline = Number.isFinite(asked) ? asked : undefined;
      const start = { path, metadata: fromGrpc(received), deadline };
      reply.endpoint = dispatcher.open(start, hostOf(call.getPeer()), reply);
      reply.resume();
    },
    onReceiveMessage: (message: Buffer) => reply.received(message),
    onReceiveHalfClose: () => reply.endpoint?.onEnd(),
    onCancel: () => reply.endpoint?.onCancel(),
  });
}

/** `127.0.0.1` of `127.0.0.1:4711`. */
function hostOf(peer: string): string {
  return peer.replace(/:\d+$/, "");
}

class GrpcReply implements Reply {
  endpoint: IncomingListener | undefined;
  readonly #call: ServerInterceptingCallInterface;
  /** Bytes that the connection has not taken yet. */
  #unsent = 0;
  #full = false;
  #paused = false;
  /** A message has been asked for. */
  #reading = false;
  #ended = false;

  constructor(call: ServerInterceptingCallInterface) {
    this.#call = call;
  }

  sendHeaders(metadata: Metadata): void {
    if (!this.#ended) this.#call.sendMetadata(toGrpc(metadata));
  }

  send(message: Uint8Array): boolean {
    if (this.#ended) return true;
    this.#unsent += message.length;
    this.#call.sendMessage(asBuffer(message), () => this.#sent(message.length));
    this.#full = this.#unsent >= MOST_UNSENT;
    return !this.#full;
  }

  end(how: Status): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#call.sendStatus(sendable(how));
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    if (this.#reading) return;
    this.#reading = true;
    this.#call.startRead();
  }

  received(message: Buffer): void {
    this.#reading = false;
    this.endpoint?.onMessage(message);
    if (!this.#paused) this.resume();
  }

  #sent(bytes: number): void {
    this.#unsent -= bytes;
    if (!this.#full || this.#unsent > 0) return;
    this.#full = false;
    this.endpoint?.onDrain();
  }
}

function sendable(how: Status): StatusObject {
  try {
    return toGrpcStatus(how);
  } catch {
    return toGrpcStatus({ ...how, trailers: NO_METADATA });
  }
}
